package accounts

import (
	"context"
	"time"

	"svc/domain"
	"svc/http/api"
	"svc/http/route"
)

// consoleTokens serves the console's routes of personal and organization tokens; a path with an organization means the
// latter.
type consoleTokens struct {
	tokens        Tokens
	organizations Organizations
}

func consoleTokenRoutes(ports Ports) []route.Route {
	tokens := consoleTokens{tokens: ports.Tokens, organizations: ports.Organizations}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/me/tokens", Operation: "console.tokens.list", Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List personal tokens", Handler: route.Typed(tokens.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/me/tokens", Operation: "console.tokens.create", Scope: domain.ScopeAdmin, Effect: route.Write, Ledger: "token.created", Rate: domain.RateDefault,
			Summary: "Issue a personal token; the answer shows it once", Status: 201, Handler: route.Typed(tokens.create),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/me/tokens/{id}", Operation: "console.tokens.revoke", Scope: domain.ScopeAdmin, Effect: route.Destructive, Ledger: "token.revoked", Rate: domain.RateDefault,
			Summary: "Revoke a personal token", Status: 204, Handler: route.Typed(tokens.revoke),
		},
		{
			Surface: route.Console, Method: "GET", Path: "/orgs/{org}/tokens", Operation: "console.orgTokens.list", Scope: domain.ScopeRead, Permission: domain.PermOrgRead, Role: domain.RoleAdmin, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List organization tokens", Handler: route.Typed(tokens.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/orgs/{org}/tokens", Operation: "console.orgTokens.create", Scope: domain.ScopeAdmin, Permission: domain.PermOrgRead, Role: domain.RoleAdmin, Effect: route.Write, Ledger: "token.created", Rate: domain.RateDefault,
			Summary: "Issue an organization token; the answer shows it once", Status: 201, Handler: route.Typed(tokens.create),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/orgs/{org}/tokens/{id}", Operation: "console.orgTokens.revoke", Scope: domain.ScopeAdmin, Permission: domain.PermOrgRead, Role: domain.RoleAdmin, Effect: route.Destructive, Ledger: "token.revoked", Rate: domain.RateDefault,
			Summary: "Revoke an organization token", Status: 204, Handler: route.Typed(tokens.revoke),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/orgs/{org}/tokens/{id}/adopt", Operation: "console.orgTokens.adopt", Addition: true, Scope: domain.ScopeAdmin, Permission: domain.PermOrgRead, Role: domain.RoleOwner, Effect: route.Write, Ledger: "token.adopted", Rate: domain.RateDefault,
			Summary: "Act as the person of an organization token whose own person has left", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(tokens.adopt),
		},
	}
}

// token is an access token as lists show it.
type token struct {
	ID         string           `json:"id"`
	Kind       domain.TokenKind `json:"kind"`
	Name       string           `json:"name"`
	Scopes     []domain.Scope   `json:"scopes"`
	Prefix     string           `json:"prefix"`
	Last4      string           `json:"last4"`
	User       *domain.User     `json:"user" doc:"The person whom the token acts as."`
	CreatedAt  route.Time       `json:"createdAt"`
	ExpiresAt  *route.Time      `json:"expiresAt"`
	LastUsedAt *route.Time      `json:"lastUsedAt"`
	RevokedAt  *route.Time      `json:"revokedAt"`
	Orphaned   bool             `json:"orphaned" doc:"The person has left the organization: the token opens nothing until an owner adopts it."`
}

// newToken is the only answer that shows a token in plain text.
type newToken struct {
	token
	Token string `json:"token" doc:"The token itself; it is never shown again."`
}

func tokenOf(t *domain.Token) token {
	return token{
		ID: t.ID, Kind: t.Kind, Name: t.Name, Scopes: append([]domain.Scope{}, t.Scopes...), Prefix: t.Kind.Prefix(), Last4: t.Last4, User: t.User,
		CreatedAt: route.Time(t.CreatedAt), ExpiresAt: route.TimeOf(t.ExpiresAt), LastUsedAt: route.TimeOf(t.LastUsedAt), RevokedAt: route.TimeOf(t.RevokedAt), Orphaned: t.Orphaned,
	}
}

func tokenID(row token) string { return row.ID }

// owner returns the owner of the path's tokens.
func (c consoleTokens) owner(call *route.Call) (domain.TokenOwner, error) {
	person, err := api.SignedIn(call)
	return domain.TokenOwner{User: person, Org: call.Param("org"), Session: call.Grant.Token.ID}, err
}

func (c consoleTokens) list(ctx context.Context, call *route.Call, in api.Paging) (domain.Page[token], error) {
	owner, err := c.owner(call)
	if err != nil {
		return domain.Page[token]{}, err
	}
	rows, err := c.tokens.Tokens(ctx, owner)
	if err != nil {
		return domain.Page[token]{}, err
	}
	return api.PageOfAll(call, api.Convert(rows, tokenOf), in, tokenID)
}

type createToken struct {
	Body tokenSpec `body:"json"`
}

// tokenSpec is the body of POST …/tokens.
type tokenSpec struct {
	Name      string                     `json:"name" required:"true" doc:"What people call the token."`
	Scopes    []domain.Scope             `json:"scopes" required:"true"`
	ExpiresAt route.Nullable[route.Time] `json:"expiresAt" doc:"When the token ends: null for never, 90 days from now where it is absent."`
}

func (c *createToken) spec(now time.Time) domain.TokenSpec {
	spec := domain.TokenSpec{Name: c.Body.Name, Scopes: c.Body.Scopes}
	switch expires := c.Body.ExpiresAt; {
	case !expires.Set:
		end := now.Add(domain.DefaultTokenLifetime)
		spec.ExpiresAt = &end
	case expires.Value != nil:
		end := time.Time(*expires.Value)
		spec.ExpiresAt = &end
	}
	return spec
}

// Check applies the rules of tokens.
func (c *createToken) Check(call *route.Call) []domain.FieldError {
	return c.spec(call.Now).Validate(call.Now)
}

func (c consoleTokens) create(ctx context.Context, call *route.Call, in createToken) (newToken, error) {
	owner, err := c.owner(call)
	if err != nil {
		return newToken{}, err
	}
	if err := concernHomes(ctx, call, c.organizations); err != nil {
		return newToken{}, err
	}
	call.Answer(201)
	minted, secret, err := c.tokens.MintToken(ctx, owner, in.spec(call.Now))
	if err != nil {
		return newToken{}, err
	}
	call.About(minted.ID)
	return newToken{token: tokenOf(&minted), Token: secret.Reveal()}, nil
}

func (c consoleTokens) revoke(ctx context.Context, call *route.Call, in tokenPath) (route.Empty, error) {
	owner, err := c.owner(call)
	if err != nil {
		return route.Empty{}, err
	}
	if err := concernHomes(ctx, call, c.organizations); err != nil {
		return route.Empty{}, err
	}
	return route.Empty{}, c.tokens.RevokeToken(ctx, owner, in.ID)
}

// concernHomes records the call in the ledgers of all organizations that the caller's token addresses, if its path
// names none: a personal token opens each of them.
func concernHomes(ctx context.Context, call *route.Call, organizations Organizations) error {
	if call.Param("org") != "" {
		return nil
	}
	seats, err := organizations.Memberships(ctx, call.Grant)
	if err == nil {
		call.Concerns(api.Convert(seats, func(seat *domain.Membership) string { return seat.Slug })...)
	}
	return err
}

func (c consoleTokens) adopt(ctx context.Context, call *route.Call, in orgTokenPath) (token, error) {
	owner, err := c.owner(call)
	if err != nil {
		return token{}, err
	}
	adopted, err := c.tokens.AdoptToken(ctx, owner, in.ID)
	if err != nil {
		return token{}, err
	}
	call.About(adopted.ID)
	return tokenOf(&adopted), nil
}

type orgTokenPath struct {
	api.OrgPath
	tokenPath
}
