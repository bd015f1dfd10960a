package actors

import (
	"maps"
	"slices"
	"time"

	"svc"
)

// The organization actor.
//
//	identity   the organization's slug
//	rank       2
//	owns       its name, members and roles, the seats that it offers, the slugs of
//	           its applications, the list of its organization tokens
//	persists   entities organization, member, invitation, app, token
//	woken by   calls only
//	limits     none of its own; every write is one small insert
//	stops      after ten minutes without a message
const kindOrganization = "organization"

type organization struct {
	org     *svc.Organization
	members map[string]svc.Member
	// apps holds what each application was created from, by slug: the slug is
	// taken here before the application exists, so a creation that was cut short
	// is completed by the next read.
	apps   map[string]appRecord
	tokens map[string]tokenRecord
	// invitations has the seats that are offered, by the identity of the person's actor.
	invitations map[string]svc.Invitation
}

type (
	createOrganization struct {
		Organization svc.Organization `json:"organization"`
		Owner        svc.User         `json:"owner"`
	}
	renameOrganization struct {
		Name string `json:"name"`
	}
	findRole struct {
		UserID string `json:"userId"`
	}
	putMember struct {
		Actor svc.Role `json:"actor"`
		User  svc.User `json:"user"`
		Role  svc.Role `json:"role"`
	}
	removeMember struct {
		Actor svc.Role `json:"actor"`
		Email string   `json:"email"`
	}
	listApps struct {
		After string `json:"after"`
		Limit int    `json:"limit"`
	}
	appList struct {
		Apps []appRecord `json:"apps"`
		More bool        `json:"more"`
	}
	reserveApp struct {
		Spec svc.AppSpec `json:"spec"`
		IDs  svc.AppIDs  `json:"ids"`
	}
	findApp struct {
		Slug string `json:"slug"`
	}
)

func organizationHandlers() map[string]handler[*organization] {
	handlers := map[string]handler[*organization]{
		"create":        on((*organization).onCreate),
		"get":           on((*organization).onGet),
		"rename":        on((*organization).onRename),
		"role":          on((*organization).onRole),
		"members":       on((*organization).onMembers),
		"member.put":    on((*organization).onPutMember),
		"member.remove": on((*organization).onRemoveMember),
		"app.reserve":   on((*organization).onReserveApp),
		"app.find":      on((*organization).onFindApp),
		"apps":          on((*organization).onApps),
	}
	maps.Copy(handlers, orgTokenHandlers())
	maps.Copy(handlers, invitationHandlers())
	return handlers
}

func (o *organization) apply(now time.Time, method string, payload []byte) (outcome, error) {
	if o.org == nil && method != "create" {
		return outcome{}, svc.NotFound("organization")
	}
	return dispatch(organizationHandlers(), o, now, method, payload)
}

func (o *organization) restore(entities []svc.Entity) error {
	*o = organization{members: map[string]svc.Member{}, apps: map[string]appRecord{}, tokens: map[string]tokenRecord{}, invitations: map[string]svc.Invitation{}}
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case "organization":
			var org svc.Organization
			org, err = decode[svc.Organization](entity)
			o.org = &org
		case "member":
			o.members[entity.ID], err = decode[svc.Member](entity)
		case "invitation":
			o.invitations[entity.ID], err = decode[svc.Invitation](entity)
		case "app":
			o.apps[entity.ID], err = decode[appRecord](entity)
		case "token":
			o.tokens[entity.ID], err = decode[tokenRecord](entity)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *organization) onCreate(now time.Time, m createOrganization) (outcome, error) {
	if o.org != nil {
		if o.org.ID == m.Organization.ID {
			return outcome{answer: *o.org}, nil
		}
		return outcome{}, svc.Errorf(svc.CodeConflict, "The slug %q is already used.", m.Organization.Slug)
	}
	owner := svc.Member{User: m.Owner, Role: svc.RoleOwner, JoinedAt: now}
	org := m.Organization
	o.org = &org
	o.members[m.Owner.ID] = owner
	return outcome{answer: org, writes: []write{
		{"organization", org.ID, org}, {"member", m.Owner.ID, owner},
	}}, nil
}

func (o *organization) onGet(time.Time, none) (outcome, error) { return outcome{answer: *o.org}, nil }

func (o *organization) onRename(_ time.Time, m renameOrganization) (outcome, error) {
	o.org.Name = m.Name
	return outcome{answer: *o.org, writes: []write{{"organization", o.org.ID, *o.org}}}, nil
}

func (o *organization) onRole(_ time.Time, m findRole) (outcome, error) {
	member, seated := o.members[m.UserID]
	if !seated {
		return outcome{}, svc.NotFound("organization")
	}
	return outcome{answer: svc.Membership{Organization: *o.org, Role: member.Role}}, nil
}

// seats returns the members, the longest seated first.
func (o *organization) seats() []svc.Member {
	return slices.SortedFunc(maps.Values(o.members), func(a, b svc.Member) int {
		if order := a.JoinedAt.Compare(b.JoinedAt); order != 0 {
			return order
		}
		return compareStrings(a.User.ID, b.User.ID)
	})
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (o *organization) onMembers(time.Time, none) (outcome, error) {
	return outcome{answer: o.seats()}, nil
}

func (o *organization) onPutMember(now time.Time, m putMember) (outcome, error) {
	email, _ := svc.NormaliseEmail(m.User.Email)
	if err := svc.CheckMemberChange(o.seats(), m.Actor, email, m.Role); err != nil {
		return outcome{}, err
	}
	member, seated := o.members[m.User.ID]
	if !seated {
		member.JoinedAt = now
	}
	member.User, member.Role = m.User, m.Role
	o.members[m.User.ID] = member
	return outcome{answer: member, writes: append([]write{{"member", m.User.ID, member}}, o.forget(userIdentity(email))...)}, nil
}

func (o *organization) onRemoveMember(_ time.Time, m removeMember) (outcome, error) {
	if err := svc.CheckMemberChange(o.seats(), m.Actor, m.Email, ""); err != nil {
		return outcome{}, err
	}
	for id, member := range o.members {
		if email, _ := svc.NormaliseEmail(member.User.Email); email == m.Email {
			delete(o.members, id)
			return outcome{answer: member, writes: append([]write{{"member", id, nil}}, o.orphan(id)...)}, nil
		}
	}
	return outcome{}, svc.NotFound("member")
}

func (o *organization) onReserveApp(now time.Time, m reserveApp) (outcome, error) {
	slug := m.Spec.Slug
	if slug == "" {
		slug = svc.DeriveSlug(m.Spec.Name, func(s string) bool { _, taken := o.apps[s]; return taken })
	} else if _, taken := o.apps[slug]; taken {
		return outcome{}, svc.Errorf(svc.CodeConflict, "The slug %q is already used in this organization.", slug)
	}
	record := recordApp(svc.NewApplication(m.Spec, slug, *o.org, m.IDs, now))
	o.apps[slug] = record
	return outcome{answer: record, writes: []write{{"app", slug, record}}}, nil
}

func (o *organization) onFindApp(_ time.Time, m findApp) (outcome, error) {
	record, found := o.apps[m.Slug]
	if !found {
		return outcome{}, svc.NotFound("application")
	}
	return outcome{answer: record}, nil
}

func (o *organization) onApps(_ time.Time, m listApps) (outcome, error) {
	var list appList
	for _, slug := range slices.Sorted(maps.Keys(o.apps)) {
		if slug <= m.After {
			continue
		}
		if len(list.Apps) == m.Limit {
			list.More = true
			break
		}
		list.Apps = append(list.Apps, o.apps[slug])
	}
	return outcome{answer: list}, nil
}
