package actors

import (
	"context"
	"fmt"
	"time"

	"svc"
)

// Chance is where ids and secrets come from.
type Chance struct {
	// ID returns a new sortable id with a prefix, for example app_.
	ID func(prefix string) string
	// Bytes returns n random bytes.
	Bytes func(n int) []byte
}

// Identity is the client of the organization, user and token actors: who may
// call, and who belongs where.
type Identity struct {
	Actors caller
	Chance Chance
	Now    func() time.Time
}

// Authorize judges the bearer of a secret for one request of a class, in an
// organization where org is not empty. It fails with unauthorized where the
// secret opens nothing; with rate_limited where the limit is used up; with
// not_found where the token cannot address the organization. Grant and state
// are valid with the latter two as well.
func (i *Identity) Authorize(ctx context.Context, secret string, class svc.RateClass, org string) (svc.Grant, svc.RateState, error) {
	unknown := svc.Errorf(svc.CodeUnauthorized, "The token is unknown, revoked or expired.")
	if !svc.WellFormedSecret(secret) {
		return svc.Grant{}, svc.RateState{}, unknown
	}
	now, err := ask[standing](ctx, i.Actors, kindToken, svc.HashSecretHex(secret), "use", useToken{Class: class})
	if err != nil {
		return svc.Grant{}, svc.RateState{}, err
	}
	grant := svc.Grant{Token: now.Token.token(), Permissions: []svc.Permission{}}
	if now.Wait > 0 {
		return grant, now.Rate, &svc.Error{
			Code: svc.CodeRateLimited, RetryAfter: now.Wait,
			Message: fmt.Sprintf("The token's limit of %d requests a minute is used up.", now.Rate.Quota),
		}
	}
	if org == "" {
		return i.widest(ctx, grant, now.Rate)
	}
	membership, err := i.membership(ctx, &grant.Token, org)
	if err != nil {
		return grant, now.Rate, err
	}
	grant.Role = membership.Role
	grant.Permissions = svc.EffectivePermissions(membership.Role, grant.Token.Scopes)
	return grant, now.Rate, nil
}

// widest gives a grant that addresses no organization the permissions of the
// mightiest role that its owner holds anywhere.
func (i *Identity) widest(ctx context.Context, grant svc.Grant, rate svc.RateState) (svc.Grant, svc.RateState, error) {
	memberships, err := i.Memberships(ctx, grant)
	if err != nil {
		return grant, rate, err
	}
	var best svc.Role
	for _, membership := range memberships {
		if best == "" || membership.Role.AtLeast(best) {
			best = membership.Role
		}
	}
	if best != "" {
		grant.Permissions = svc.EffectivePermissions(best, grant.Token.Scopes)
	}
	return grant, rate, nil
}

// membership returns the token owner's seat in an organization, read now. An
// organization token whose maker has left keeps reading as a viewer without a
// person.
func (i *Identity) membership(ctx context.Context, token *svc.Token, org string) (svc.Membership, error) {
	if token.Org != "" && token.Org != org || token.User == nil {
		return svc.Membership{}, svc.NotFound("organization")
	}
	membership, err := ask[svc.Membership](ctx, i.Actors, kindOrganization, org, "role", findRole{UserID: token.User.ID})
	if svc.CodeOf(err) == svc.CodeNotFound && token.Kind == svc.TokenOrganization {
		organization, err := ask[svc.Organization](ctx, i.Actors, kindOrganization, org, "get", none{})
		token.User = nil
		return svc.Membership{Organization: organization, Role: svc.RoleViewer}, err
	}
	return membership, err
}

// Memberships returns the organizations that a grant may address, by slug.
func (i *Identity) Memberships(ctx context.Context, grant svc.Grant) ([]svc.Membership, error) {
	var slugs []string
	switch {
	case grant.Token.Org != "":
		slugs = []string{grant.Token.Org}
	case grant.Token.User != nil:
		var err error
		slugs, err = ask[[]string](ctx, i.Actors, kindUser, userIdentity(grant.Token.User.Email), "memberships", none{})
		if err != nil {
			return nil, err
		}
	}
	memberships := []svc.Membership{}
	for _, slug := range slugs {
		membership, err := i.membership(ctx, &grant.Token, slug)
		if svc.CodeOf(err) == svc.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		memberships = append(memberships, membership)
	}
	return memberships, nil
}

// User returns the person of an e-mail address, made with a name if there is
// none; a known person keeps the present name.
func (i *Identity) User(ctx context.Context, email, name string) (svc.User, error) {
	normal, ok := svc.NormaliseEmail(email)
	if !ok {
		return svc.User{}, svc.Invalid(svc.FieldError{Field: "email", Code: "invalid_email", Message: "The e-mail address does not parse."})
	}
	person := svc.User{ID: i.Chance.ID("usr_"), Email: normal, Name: name}
	return ask[svc.User](ctx, i.Actors, kindUser, userIdentity(normal), "ensure", ensureUser{User: person})
}

// KnownUser returns the person of an e-mail address, or not_found.
func (i *Identity) KnownUser(ctx context.Context, email string) (svc.User, error) {
	return ask[svc.User](ctx, i.Actors, kindUser, userIdentity(email), "get", none{})
}

// CreateOrganization makes an organization with its first owner.
func (i *Identity) CreateOrganization(ctx context.Context, owner svc.User, spec svc.OrgSpec) (svc.Organization, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return svc.Organization{}, svc.Invalid(problems...)
	}
	org := svc.Organization{ID: i.Chance.ID("org_"), Slug: spec.Slug, Name: spec.Name}
	if org.Slug == "" {
		org.Slug = svc.Slugify(spec.Name)
	}
	if !svc.ValidSlug(org.Slug) {
		return svc.Organization{}, svc.Invalid(svc.FieldError{Field: "slug", Code: "invalid_slug", Message: "The name yields no slug; give one."})
	}
	created, err := ask[svc.Organization](ctx, i.Actors, kindOrganization, org.Slug, "create", createOrganization{Organization: org, Owner: owner})
	if err != nil {
		return created, err
	}
	return created, i.join(ctx, owner.Email, created.Slug)
}

func (i *Identity) join(ctx context.Context, email, org string) error {
	_, err := ask[none](ctx, i.Actors, kindUser, userIdentity(email), "join", joinOrganization{Org: org})
	return err
}

// Organization returns an organization by slug.
func (i *Identity) Organization(ctx context.Context, org string) (svc.Organization, error) {
	return ask[svc.Organization](ctx, i.Actors, kindOrganization, org, "get", none{})
}

// RenameOrganization changes an organization's name.
func (i *Identity) RenameOrganization(ctx context.Context, org, name string) (svc.Organization, error) {
	return ask[svc.Organization](ctx, i.Actors, kindOrganization, org, "rename", renameOrganization{Name: name})
}

// Members lists the members of an organization, the longest seated first.
func (i *Identity) Members(ctx context.Context, org string) ([]svc.Member, error) {
	return ask[[]svc.Member](ctx, i.Actors, kindOrganization, org, "members", none{})
}

// PutMember seats a person or changes a seat, on behalf of a member of a role.
// The person's own list is a hint that may be ahead of the organization's, which
// decides, so the hint is written first; but who may not seat the person learns
// nothing and changes nothing.
func (i *Identity) PutMember(ctx context.Context, org string, actor svc.Role, spec svc.MemberSpec) (svc.Member, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return svc.Member{}, svc.Invalid(problems...)
	}
	if err := i.mayPut(ctx, org, actor, spec); err != nil {
		return svc.Member{}, err
	}
	person, err := i.User(ctx, spec.Email, spec.Name)
	if err != nil {
		return svc.Member{}, err
	}
	if err := i.join(ctx, person.Email, org); err != nil {
		return svc.Member{}, err
	}
	return ask[svc.Member](ctx, i.Actors, kindOrganization, org, "member.put", putMember{Actor: actor, User: person, Role: spec.Role})
}

// mayPut judges a seating before anything is written; the organization judges
// again when it seats.
func (i *Identity) mayPut(ctx context.Context, org string, actor svc.Role, spec svc.MemberSpec) error {
	if !actor.AtLeast(svc.RoleAdmin) {
		return &svc.Error{Code: svc.CodeForbidden, Reason: "role_required", Message: "Only an administrator changes members."}
	}
	members, err := i.Members(ctx, org)
	if err != nil {
		return err
	}
	email, _ := svc.NormaliseEmail(spec.Email)
	return svc.CheckMemberChange(members, actor, email, spec.Role)
}

// RemoveMember takes a person's seat away: from the next request on, none of
// the person's tokens opens the organization.
func (i *Identity) RemoveMember(ctx context.Context, org string, actor svc.Role, email string) error {
	normal, ok := svc.NormaliseEmail(email)
	if !ok {
		return svc.NotFound("member")
	}
	if _, err := ask[svc.Member](ctx, i.Actors, kindOrganization, org, "member.remove", removeMember{Actor: actor, Email: normal}); err != nil {
		return err
	}
	_, err := ask[none](ctx, i.Actors, kindUser, userIdentity(normal), "leave", joinOrganization{Org: org})
	return err
}

// Tokens lists the live tokens of an owner, the newest first.
func (i *Identity) Tokens(ctx context.Context, owner svc.TokenOwner) ([]svc.Token, error) {
	kind, identity := tokenHolder(owner)
	records, err := ask[[]tokenRecord](ctx, i.Actors, kind, identity, "tokens", none{})
	if err != nil {
		return nil, err
	}
	tokens := []svc.Token{}
	for _, record := range records {
		if token := record.token(); token.Live(i.Now()) {
			tokens = append(tokens, token)
		}
	}
	return tokens, nil
}

// tokenHolder returns the actor that lists an owner's tokens.
func tokenHolder(owner svc.TokenOwner) (kind, identity string) {
	if owner.Org != "" {
		return kindOrganization, owner.Org
	}
	return kindUser, userIdentity(owner.User.Email)
}

// MintToken makes a token of an owner; the secret is returned this once. The
// token is listed before it works, so there is never one that cannot be revoked.
func (i *Identity) MintToken(ctx context.Context, owner svc.TokenOwner, spec svc.TokenSpec) (svc.Token, svc.Secret, error) {
	if problems := spec.Validate(i.Now()); len(problems) > 0 {
		return svc.Token{}, "", svc.Invalid(problems...)
	}
	kind := svc.TokenPersonal
	if owner.Org != "" {
		kind = svc.TokenOrganization
	}
	token, secret := i.newToken(kind, owner, spec)
	holder, identity := tokenHolder(owner)
	if _, err := ask[none](ctx, i.Actors, holder, identity, "token.add", addToken{Token: recordToken(token)}); err != nil {
		return svc.Token{}, "", err
	}
	return token, secret, i.activate(ctx, token)
}

// OpenSession makes a console session of a person for a time.
func (i *Identity) OpenSession(ctx context.Context, person svc.User, lifetime time.Duration) (svc.Token, svc.Secret, error) {
	ends := i.Now().Add(lifetime)
	token, secret := i.newToken(svc.TokenConsole, svc.TokenOwner{User: person}, svc.TokenSpec{Name: "console", Scopes: svc.Scopes(), ExpiresAt: &ends})
	return token, secret, i.activate(ctx, token)
}

func (i *Identity) newToken(kind svc.TokenKind, owner svc.TokenOwner, spec svc.TokenSpec) (svc.Token, svc.Secret) {
	secret := svc.MintSecret(kind.Prefix(), i.Chance.Bytes(32))
	clear := secret.Reveal()
	user := owner.User
	return svc.Token{
		ID: i.Chance.ID("tok_"), Kind: kind, Name: spec.Name, Scopes: spec.Scopes, User: &user, Org: owner.Org,
		Last4: clear[len(clear)-4:], CreatedAt: i.Now(), ExpiresAt: spec.ExpiresAt, Hash: svc.HashSecretHex(clear),
	}, secret
}

func (i *Identity) activate(ctx context.Context, token svc.Token) error {
	_, err := ask[none](ctx, i.Actors, kindToken, token.Hash, "create", createToken{Token: recordToken(token)})
	return err
}

// RevokeToken ends a token of an owner. It stops working before it leaves the
// list.
func (i *Identity) RevokeToken(ctx context.Context, owner svc.TokenOwner, id string) error {
	holder, identity := tokenHolder(owner)
	record, err := ask[tokenRecord](ctx, i.Actors, holder, identity, "token.find", findToken{ID: id})
	if err != nil {
		return err
	}
	_, err = ask[none](ctx, i.Actors, kindToken, record.Hash, "revoke", none{})
	if code := svc.CodeOf(err); err != nil && code != svc.CodeNotFound && code != svc.CodeUnauthorized {
		return err
	}
	_, err = ask[none](ctx, i.Actors, holder, identity, "token.remove", findToken{ID: id})
	return err
}
