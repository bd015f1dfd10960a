package identity

import (
	"context"
	"time"

	"svc/actors/grain"
	"svc/domain"
)

// MintAssistant makes the token of one turn. It acts as a user in one organization with the given scopes, is not
// listed, and expires.
func (i *Identity) MintAssistant(ctx context.Context, person domain.User, org string, scopes []domain.Scope, lifetime time.Duration) (domain.Token, domain.Secret, error) {
	ends := i.Now().Add(lifetime)
	token, secret := i.newToken(ctx, domain.TokenAssistant, domain.TokenOwner{User: person, Org: org}, domain.TokenSpec{Name: "assistant", Scopes: scopes, ExpiresAt: &ends})
	return token, secret, i.activate(ctx, recordToken(token))
}

// EndAssistant revokes the token of a turn. It succeeds if the token has already ended.
func (i *Identity) EndAssistant(ctx context.Context, token domain.Token) error {
	_, err := tokenRevoke.Ask(ctx, i.Actors, token.Hash, grain.None{})
	if code := domain.CodeOf(err); err != nil && code != domain.CodeNotFound && code != domain.CodeUnauthorized {
		return err
	}
	return nil
}

// Role returns the current role of a user in an organization. It fails with not_found if the user has no seat there.
func (i *Identity) Role(ctx context.Context, org, user string) (domain.Role, error) {
	membership, err := organizationRole.Ask(ctx, i.Actors, org, findRole{UserID: user})
	return membership.Role, err
}
