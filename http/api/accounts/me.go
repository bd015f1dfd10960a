package accounts

import (
	"context"

	"svc/domain"
	"svc/http/api"
	"svc/http/route"
)

// Organizations stores organizations and their members.
type Organizations interface {
	// Memberships returns the organizations that a grant's token may address, with the role in each. For an
	// organization token it returns exactly one.
	Memberships(ctx context.Context, grant domain.Grant) ([]domain.Membership, error)
	// CreateOrganization makes an organization with one owner; an empty slug is derived from the name. It fails with
	// conflict if an explicit slug is taken.
	CreateOrganization(ctx context.Context, owner domain.User, spec domain.OrgSpec) (domain.Organization, error)
	// RenameOrganization changes an organization's name.
	RenameOrganization(ctx context.Context, org, name string) (domain.Organization, error)
	// DeleteOrganization deletes an organization with all of its data. When it returns, none of its keys and tokens is
	// accepted, it has no members, and its data is no longer shown. It may be repeated.
	DeleteOrganization(ctx context.Context, org string) error
}

// Tokens issues and revokes access tokens.
type Tokens interface {
	// Tokens returns an owner's tokens; it may omit ended ones.
	Tokens(ctx context.Context, owner domain.TokenOwner) ([]domain.Token, error)
	// MintToken makes a token and returns it in plain text, once.
	MintToken(ctx context.Context, owner domain.TokenOwner, spec domain.TokenSpec) (domain.Token, domain.Secret, error)
	// RevokeToken ends a token at once. It fails with not_found if the owner has no such token or it is revoked
	// already.
	RevokeToken(ctx context.Context, owner domain.TokenOwner, id string) error
	// AdoptToken changes a token of an organization that belonged to a departed member: it then acts as the owner's
	// user. It fails with conflict if the token still acts as a member.
	AdoptToken(ctx context.Context, owner domain.TokenOwner, id string) (domain.Token, error)
}

// Limits are the limits of one token.
type Limits struct {
	PerMinute          int `json:"perMinute"`
	AnalyticsPerMinute int `json:"analyticsPerMinute"`
	ConcurrentQueries  int `json:"concurrentQueries"`
}

// me serves the routes about the caller.
type me struct {
	organizations Organizations
	tokens        Tokens
	limits        Limits
}

func meRoutes(ports Ports) []route.Route {
	me := me{organizations: ports.Organizations, tokens: ports.Tokens, limits: ports.Limits}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/me", Operation: "me.get", Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Describe the token and who it acts as", Handler: route.Typed(me.get),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/me/tokens", Operation: "me.listTokens", Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List the caller's own tokens", Handler: route.Typed(me.listTokens),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/me/tokens/{id}", Operation: "me.revokeToken", Scope: domain.ScopeAdmin, Effect: route.Destructive, Ledger: "token.revoked", Rate: domain.RateDefault,
			Summary: "Revoke one of the caller's own tokens", Status: 204, Handler: route.Typed(me.revokeToken),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/orgs", Operation: "orgs.list", Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List the organizations that the token may address", Handler: route.Typed(me.listOrganizations),
		},
	}
}

// identity is the answer of GET /me.
type identity struct {
	Token         identityToken       `json:"token"`
	User          *domain.User        `json:"user" doc:"The person whom the token acts as; null where none is bound."`
	Organizations []reached           `json:"organizations"`
	Permissions   []domain.Permission `json:"permissions" doc:"What this token may do in every one of the organizations; each of them says what it may do there."`
	RateLimit     Limits              `json:"rateLimit"`
}

// reached is an organization that a token addresses.
type reached struct {
	domain.Membership
	Permissions []domain.Permission `json:"permissions" doc:"Exactly what this token may do in this organization."`
}

type identityToken struct {
	ID        string           `json:"id"`
	Kind      domain.TokenKind `json:"kind"`
	Name      string           `json:"name"`
	Scopes    []domain.Scope   `json:"scopes"`
	ExpiresAt *route.Time      `json:"expiresAt"`
}

func (m me) get(ctx context.Context, call *route.Call, _ struct{}) (identity, error) {
	memberships, err := m.organizations.Memberships(ctx, call.Grant)
	if err != nil {
		return identity{}, err
	}
	token := &call.Grant.Token
	organizations := []reached{}
	for _, membership := range memberships {
		organizations = append(organizations, reached{membership, domain.EffectivePermissions(membership.Role, token.Scopes)})
	}
	return identity{
		Token:         identityToken{ID: token.ID, Kind: token.Kind, Name: token.Name, Scopes: token.Scopes, ExpiresAt: route.TimeOf(token.ExpiresAt)},
		User:          token.User,
		Organizations: organizations,
		Permissions:   append([]domain.Permission{}, call.Grant.Permissions...),
		RateLimit:     m.limits,
	}, nil
}

func (m me) listOrganizations(ctx context.Context, call *route.Call, in api.Paging) (domain.Page[domain.Membership], error) {
	memberships, err := m.organizations.Memberships(ctx, call.Grant)
	if err != nil {
		return domain.Page[domain.Membership]{}, err
	}
	return api.PageOfAll(call, memberships, in, func(row domain.Membership) string { return row.Slug })
}

// listTokens lists a person's personal tokens; an organization token sees only itself.
func (m me) listTokens(ctx context.Context, call *route.Call, in api.Paging) (domain.Page[token], error) {
	own := &call.Grant.Token
	if own.Kind == domain.TokenOrganization {
		return api.PageOfAll(call, []token{tokenOf(own)}, in, tokenID)
	}
	if own.User == nil {
		return api.PageOfAll(call, nil, in, tokenID)
	}
	rows, err := m.tokens.Tokens(ctx, domain.TokenOwner{User: *own.User})
	if err != nil {
		return domain.Page[token]{}, err
	}
	return api.PageOfAll(call, api.Convert(rows, tokenOf), in, tokenID)
}

type tokenPath struct {
	ID string `path:"id" doc:"The token's id."`
}

// revokeToken revokes a personal token of the caller's person; an organization token can revoke
// only itself.
func (m me) revokeToken(ctx context.Context, call *route.Call, in tokenPath) (route.Empty, error) {
	own := &call.Grant.Token
	isOrganization := own.Kind == domain.TokenOrganization
	if isOrganization && in.ID != own.ID || !isOrganization && own.User == nil {
		return route.Empty{}, domain.NotFound("token")
	}
	if err := concernHomes(ctx, call, m.organizations); err != nil {
		return route.Empty{}, err
	}
	var owner domain.TokenOwner
	if own.User != nil {
		owner.User = *own.User
	}
	if isOrganization {
		owner.Org = own.Org
	}
	return route.Empty{}, m.tokens.RevokeToken(ctx, owner, in.ID)
}
