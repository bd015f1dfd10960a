package identity

import (
	"maps"
	"slices"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/signin"
)

// The organization actor.
//
//	identity   the organization's slug
//	rank       2
//	owns       its name, members and roles, the seats that it offers, the slugs of
//	           its applications, the list of its organization tokens
//	persists   entities organization, member, invitation, app, token; of a deleted organization
//	           the first and the applications stay, so that no slug is given to another
//	woken by   calls only
//	limits     none of its own; every write is one small insert
//	stops      after ten minutes without a message
const kindOrganization = "organization"

type organization struct {
	org     *orgRecord
	members map[string]domain.Member
	// apps holds the record from which each application was created, by slug. The slug is reserved here before the
	// application exists, so an interrupted creation is completed by the next read.
	apps   map[string]AppRecord
	tokens map[string]tokenRecord
	// invitations holds the offered seats, by the identity of the user's actor.
	invitations map[string]signin.Invitation
}

type (
	createOrganization struct {
		Organization domain.Organization `json:"organization"`
		Owner        domain.User         `json:"owner"`
	}
	renameOrganization struct {
		Name string `json:"name"`
	}
	findRole struct {
		UserID string `json:"userId"`
	}
	putMember struct {
		Actor domain.Role `json:"actor"`
		User  domain.User `json:"user"`
		Role  domain.Role `json:"role"`
	}
	removeMember struct {
		Actor domain.Role `json:"actor"`
		Email string      `json:"email"`
	}
	listApps struct {
		After string `json:"after"`
		Limit int    `json:"limit"`
	}
	appList struct {
		Apps []AppRecord `json:"apps"`
		More bool        `json:"more"`
	}
	reserveApp struct {
		Spec domain.AppSpec `json:"spec"`
		IDs  domain.AppIDs  `json:"ids"`
	}
	findApp struct {
		Slug string `json:"slug"`
	}
)

var organizationKind = grain.NewKind[*organization](kindOrganization, 2, 10*time.Minute)

// The methods of the organization actor.
var (
	organizationCreate       = grain.On(organizationKind, "create", (*organization).onCreate)
	organizationGet          = grain.On(organizationKind, "get", (*organization).onGet, grain.Repeatable)
	organizationRename       = grain.On(organizationKind, "rename", (*organization).onRename)
	organizationRole         = grain.On(organizationKind, "role", (*organization).onRole, grain.Repeatable)
	organizationMembers      = grain.On(organizationKind, "members", (*organization).onMembers, grain.Repeatable)
	organizationPutMember    = grain.On(organizationKind, "member.put", (*organization).onPutMember)
	organizationRemoveMember = grain.On(organizationKind, "member.remove", (*organization).onRemoveMember)
	organizationReserveApp   = grain.On(organizationKind, "app.reserve", (*organization).onReserveApp)
	organizationFindApp      = grain.On(organizationKind, "app.find", (*organization).onFindApp, grain.Repeatable)
	organizationApps         = grain.On(organizationKind, "apps", (*organization).onApps, grain.Repeatable)
)

// Admit refuses everything but the creation of an organization that does not exist. A deleted one retains the methods
// of afterDeletion.
func (o *organization) Admit(_ time.Time, method string) error {
	switch {
	case method == "create" || o.org != nil && o.org.DeletedAt == nil:
		return nil
	case o.org != nil && slices.Contains(afterDeletion(), method):
		return nil
	case method == "token.use":
		return domain.Errorf(domain.CodeUnauthorized, "The token is unknown, revoked or expired.")
	}
	return domain.NotFound("organization")
}

func (o *organization) Restore(entities []domain.Entity) error {
	*o = organization{members: map[string]domain.Member{}, apps: map[string]AppRecord{}, tokens: map[string]tokenRecord{}, invitations: map[string]signin.Invitation{}}
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case "organization":
			var org orgRecord
			org, err = grain.Decode[orgRecord](entity)
			o.org = &org
		case "member":
			o.members[entity.ID], err = grain.Decode[domain.Member](entity)
		case "invitation":
			o.invitations[entity.ID], err = grain.Decode[signin.Invitation](entity)
		case "app":
			o.apps[entity.ID], err = grain.Decode[AppRecord](entity)
		case "token":
			o.tokens[entity.ID], err = grain.Decode[tokenRecord](entity)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *organization) onCreate(now time.Time, m createOrganization) (grain.Outcome[domain.Organization], error) {
	if o.org != nil {
		if o.org.ID == m.Organization.ID {
			return grain.Again(o.org.Organization), nil
		}
		return grain.Outcome[domain.Organization]{}, domain.Errorf(domain.CodeConflict, "The slug %q is already used.", m.Organization.Slug)
	}
	owner := domain.Member{User: m.Owner, Role: domain.RoleOwner, JoinedAt: now}
	org := m.Organization
	o.org = &orgRecord{Organization: org}
	o.members[m.Owner.ID] = owner
	return grain.Answer(org, grain.Put("organization", org.ID, *o.org), grain.Put("member", m.Owner.ID, owner)), nil
}

func (o *organization) onGet(time.Time, grain.None) (grain.Outcome[domain.Organization], error) {
	return grain.Answer(o.org.Organization), nil
}

func (o *organization) onRename(_ time.Time, m renameOrganization) (grain.Outcome[domain.Organization], error) {
	o.org.Name = m.Name
	return grain.Answer(o.org.Organization, grain.Put("organization", o.org.ID, *o.org)), nil
}

func (o *organization) onRole(_ time.Time, m findRole) (grain.Outcome[domain.Membership], error) {
	member, seated := o.members[m.UserID]
	if !seated {
		return grain.Outcome[domain.Membership]{}, domain.NotFound("organization")
	}
	return grain.Answer(domain.Membership{Organization: o.org.Organization, Role: member.Role}), nil
}

// seats returns the members, the longest seated first.
func (o *organization) seats() []domain.Member {
	return slices.SortedFunc(maps.Values(o.members), func(a, b domain.Member) int {
		if order := a.JoinedAt.Compare(b.JoinedAt); order != 0 {
			return order
		}
		return strings.Compare(a.User.ID, b.User.ID)
	})
}

func (o *organization) onMembers(time.Time, grain.None) (grain.Outcome[[]domain.Member], error) {
	return grain.Answer(o.seats()), nil
}

func (o *organization) onPutMember(now time.Time, m putMember) (grain.Outcome[domain.Member], error) {
	email, _ := domain.NormaliseEmail(m.User.Email)
	if err := domain.CheckMemberChange(o.seats(), m.Actor, email, m.Role); err != nil {
		return grain.Outcome[domain.Member]{}, err
	}
	member, seated := o.members[m.User.ID]
	if !seated {
		member.JoinedAt = now
	}
	member.User, member.Role = m.User, m.Role
	o.members[m.User.ID] = member
	return grain.Answer(member, append([]grain.Write{grain.Put("member", m.User.ID, member)}, o.forget(userIdentity(email))...)...), nil
}

func (o *organization) onRemoveMember(_ time.Time, m removeMember) (grain.Outcome[domain.Member], error) {
	if err := domain.CheckMemberChange(o.seats(), m.Actor, m.Email, ""); err != nil {
		return grain.Outcome[domain.Member]{}, err
	}
	for id, member := range o.members {
		if email, _ := domain.NormaliseEmail(member.User.Email); email == m.Email {
			delete(o.members, id)
			return grain.Answer(member, append([]grain.Write{grain.Delete("member", id)}, o.orphan(id)...)...), nil
		}
	}
	return grain.Outcome[domain.Member]{}, domain.NotFound("member")
}

func (o *organization) onReserveApp(now time.Time, m reserveApp) (grain.Outcome[AppRecord], error) {
	for _, record := range o.apps {
		if record.ID == m.IDs.App {
			return grain.Again(record), nil
		}
	}
	slug := m.Spec.Slug
	if slug == "" {
		slug = domain.DeriveSlug(m.Spec.Name, func(s string) bool { _, taken := o.apps[s]; return taken })
	} else if _, taken := o.apps[slug]; taken {
		return grain.Outcome[AppRecord]{}, domain.Errorf(domain.CodeConflict, "The slug %q is already used in this organization.", slug)
	}
	record := RecordApp(domain.NewApplication(m.Spec, slug, o.org.Organization, m.IDs, now))
	o.apps[slug] = record
	return grain.Answer(record, grain.Put("app", slug, record)), nil
}

func (o *organization) onFindApp(_ time.Time, m findApp) (grain.Outcome[AppRecord], error) {
	record, found := o.apps[m.Slug]
	if !found || record.DeletedAt != nil {
		return grain.Outcome[AppRecord]{}, domain.NotFound("application")
	}
	return grain.Answer(record), nil
}

func (o *organization) onApps(_ time.Time, m listApps) (grain.Outcome[appList], error) {
	var list appList
	for _, slug := range slices.Sorted(maps.Keys(o.apps)) {
		if slug <= m.After || o.apps[slug].DeletedAt != nil {
			continue
		}
		if len(list.Apps) == m.Limit {
			list.More = true
			break
		}
		list.Apps = append(list.Apps, o.apps[slug])
	}
	return grain.Answer(list), nil
}
