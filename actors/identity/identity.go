package identity

import (
	"context"
	"fmt"
	"time"

	"svc/actors/grain"
	"svc/domain"
)

// Identity is the client of the organization, user and token actors: it decides about access and membership.
type Identity struct {
	Actors grain.Caller
	Random grain.Random
	Now    func() time.Time
}

// Authorize judges a secret for one request of a class, and for an organization if org is not empty. It fails with
// unauthorized if the secret is not valid. It fails with rate_limited if the limit is used up, and with not_found if
// the token cannot address the organization; grant and state are also valid for these two errors.
func (i *Identity) Authorize(ctx context.Context, secret string, class domain.RateClass, org string) (domain.Grant, domain.RateState, error) {
	unknown := domain.Errorf(domain.CodeUnauthorized, "The token is unknown, revoked or expired.")
	if !domain.WellFormedSecret(secret) {
		return domain.Grant{}, domain.RateState{}, unknown
	}
	now, err := tokenUse.Ask(ctx, i.Actors, domain.HashSecretHex(secret), useToken{Class: class})
	if err != nil {
		return domain.Grant{}, domain.RateState{}, err
	}
	grant := domain.Grant{Token: now.Token.token(), Permissions: []domain.Permission{}}
	if grant.Token.Kind == domain.TokenLink {
		return domain.Grant{}, domain.RateState{}, unknown
	}
	if now.Wait > 0 {
		return grant, now.Rate, &domain.Error{
			Code: domain.CodeRateLimited, RetryAfter: now.Wait,
			Message: fmt.Sprintf("The token's limit of %d requests a minute is used up.", now.Rate.Quota),
		}
	}
	if now.Note {
		i.noteUse(ctx, &grant.Token)
	}
	memberships, err := i.seats(ctx, &grant.Token, org)
	switch {
	case domain.CodeOf(err) == domain.CodeUnauthorized:
		return domain.Grant{}, domain.RateState{}, unknown
	case err != nil:
		return grant, now.Rate, err
	case org == "":
		grant.Permissions = everywhere(memberships, grant.Token.Scopes)
		return grant, now.Rate, nil
	}
	grant.Role = memberships[0].Role
	grant.Permissions = domain.EffectivePermissions(grant.Role, grant.Token.Scopes)
	return grant, now.Rate, nil
}

// everywhere returns the permissions that a token with some scopes has in every one of the organizations. It leaves out
// permissions that hold in only some of them.
func everywhere(memberships []domain.Membership, scopes []domain.Scope) []domain.Permission {
	if len(memberships) == 0 {
		return []domain.Permission{}
	}
	least := memberships[0].Role
	for _, membership := range memberships {
		if least.AtLeast(membership.Role) {
			least = membership.Role
		}
	}
	return domain.EffectivePermissions(least, scopes)
}

// seats returns the current seats of a token: the one in org, or all if org is empty. An organization token acts as the
// user that its organization names; seats stores this user in the token. It fails with unauthorized if that user has
// left.
func (i *Identity) seats(ctx context.Context, token *domain.Token, org string) ([]domain.Membership, error) {
	if token.Kind == domain.TokenOrganization {
		seat, err := organizationUseToken.Ask(ctx, i.Actors, token.Org, findToken{ID: token.ID})
		if err != nil {
			return nil, err
		}
		token.User, token.LastUsedAt = seat.Token.User, seat.Token.LastUsedAt
		if org != "" && org != token.Org {
			return nil, domain.NotFound("organization")
		}
		return []domain.Membership{seat.Membership}, nil
	}
	if token.User == nil || org != "" && token.Org != "" && token.Org != org {
		return nil, domain.NotFound("organization")
	}
	slugs := []string{org}
	if org == "" {
		var err error
		if slugs, err = i.joined(ctx, token); err != nil {
			return nil, err
		}
	}
	memberships := []domain.Membership{}
	for _, slug := range slugs {
		membership, err := organizationRole.Ask(ctx, i.Actors, slug, findRole{UserID: token.User.ID})
		if org == "" && domain.CodeOf(err) == domain.CodeNotFound {
			continue // the user's own list may be ahead
		}
		if err != nil {
			return nil, err
		}
		memberships = append(memberships, membership)
	}
	return memberships, nil
}

// joined lists the organizations that a user's token may address, by slug.
func (i *Identity) joined(ctx context.Context, token *domain.Token) ([]string, error) {
	if token.Org != "" {
		return []string{token.Org}, nil
	}
	return userMemberships.Ask(ctx, i.Actors, userIdentity(token.User.Email), grain.None{})
}

// Memberships returns the organizations that a grant may address, by slug.
func (i *Identity) Memberships(ctx context.Context, grant domain.Grant) ([]domain.Membership, error) {
	memberships, err := i.seats(ctx, &grant.Token, "")
	if code := domain.CodeOf(err); err != nil && (code == domain.CodeNotFound || code == domain.CodeUnauthorized) {
		return []domain.Membership{}, nil
	}
	return memberships, err
}

// KnownUser returns the user of an e-mail address, or not_found.
func (i *Identity) KnownUser(ctx context.Context, email string) (domain.User, error) {
	return userGet.Ask(ctx, i.Actors, userIdentity(email), grain.None{})
}

// CreateOrganization makes an organization with its first owner.
func (i *Identity) CreateOrganization(ctx context.Context, owner domain.User, spec domain.OrgSpec) (domain.Organization, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return domain.Organization{}, domain.Invalid(problems...)
	}
	org := domain.Organization{ID: i.Random.NewID(ctx, "org_"), Slug: spec.Slug, Name: spec.Name}
	if org.Slug == "" {
		org.Slug = domain.Slugify(spec.Name)
	}
	if !domain.ValidSlug(org.Slug) {
		return domain.Organization{}, domain.Invalid(domain.FieldError{Field: "slug", Code: "invalid_slug", Message: "The name yields no slug; give one."})
	}
	created, err := organizationCreate.Ask(ctx, i.Actors, org.Slug, createOrganization{Organization: org, Owner: owner})
	if err != nil {
		return created, err
	}
	return created, i.join(ctx, owner.Email, created.Slug)
}

func (i *Identity) join(ctx context.Context, email, org string) error {
	_, err := userJoin.Ask(ctx, i.Actors, userIdentity(email), joinOrganization{Org: org})
	return err
}

// Organization returns an organization by slug.
func (i *Identity) Organization(ctx context.Context, org string) (domain.Organization, error) {
	return organizationGet.Ask(ctx, i.Actors, org, grain.None{})
}

// RenameOrganization changes an organization's name.
func (i *Identity) RenameOrganization(ctx context.Context, org, name string) (domain.Organization, error) {
	return organizationRename.Ask(ctx, i.Actors, org, renameOrganization{Name: name})
}

// DeleteOrganization deletes an organization with its applications, and returns their records; the caller notifies the
// actors of the applications. Members lose their seats at once, and the tokens become invalid. It may be repeated.
func (i *Identity) DeleteOrganization(ctx context.Context, org string) ([]AppRecord, error) {
	had, err := organizationDelete.Ask(ctx, i.Actors, org, grain.None{})
	if err != nil {
		return nil, err
	}
	for _, member := range had.Members {
		if _, err := userLeave.Ask(domain.WithCarrier(ctx, nil), i.Actors, userIdentity(member.User.Email), joinOrganization{Org: org}); err != nil {
			return had.Apps, err
		}
	}
	return had.Apps, nil
}

// Members lists the members of an organization, the longest seated first.
func (i *Identity) Members(ctx context.Context, org string) ([]domain.Member, error) {
	return organizationMembers.Ask(ctx, i.Actors, org, grain.None{})
}

// PutMember seats a user or changes a seat, on behalf of a member with a role. The organization's list decides. The
// user's own list is a hint that may be ahead, so it is written first. A caller without the right to seat the user
// learns nothing and changes nothing.
func (i *Identity) PutMember(ctx context.Context, org string, actor domain.Role, spec domain.MemberSpec) (domain.Member, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return domain.Member{}, domain.Invalid(problems...)
	}
	if err := i.mayPut(ctx, org, actor, spec); err != nil {
		return domain.Member{}, err
	}
	preparing := domain.WithCarrier(ctx, nil)
	person, err := i.User(preparing, spec.Email, spec.Name)
	if err != nil {
		return domain.Member{}, err
	}
	if err := i.join(preparing, person.Email, org); err != nil {
		return domain.Member{}, err
	}
	return organizationPutMember.Ask(ctx, i.Actors, org, putMember{Actor: actor, User: person, Role: spec.Role})
}

// mayPut judges a seating before anything is written; the organization judges again when it seats the user.
func (i *Identity) mayPut(ctx context.Context, org string, actor domain.Role, spec domain.MemberSpec) error {
	if !actor.AtLeast(domain.RoleAdmin) {
		return &domain.Error{Code: domain.CodeForbidden, Reason: "role_required", Message: "Only an administrator changes members."}
	}
	members, err := i.Members(ctx, org)
	if err != nil {
		return err
	}
	email, _ := domain.NormaliseEmail(spec.Email)
	return domain.CheckMemberChange(members, actor, email, spec.Role)
}

// RemoveMember removes a user's seat. From the next request on, no token of the user opens the organization.
func (i *Identity) RemoveMember(ctx context.Context, org string, actor domain.Role, email string) error {
	normal, ok := domain.NormaliseEmail(email)
	if !ok {
		return domain.NotFound("member")
	}
	if _, err := organizationRemoveMember.Ask(ctx, i.Actors, org, removeMember{Actor: actor, Email: normal}); err != nil {
		return err
	}
	_, err := userLeave.Ask(ctx, i.Actors, userIdentity(normal), joinOrganization{Org: org})
	return err
}
