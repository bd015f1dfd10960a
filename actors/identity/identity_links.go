package identity

import (
	"context"
	"encoding/hex"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/signin"
)

// NewLink makes a link and returns its secret, once. A link is stored as a token that opens no route: it has no scopes,
// expires, and can be revoked once, which spends it.
func (i *Identity) NewLink(ctx context.Context, link signin.Link) (domain.Secret, error) {
	token, secret := i.newToken(ctx, domain.TokenLink, domain.TokenOwner{User: link.User, Org: link.Org}, domain.TokenSpec{Name: link.Invitation, ExpiresAt: &link.EndsAt})
	record := recordToken(token)
	record.Mailed = link.Mailed
	return secret, i.activate(ctx, record)
}

// Link returns the link of a secret. It fails with unauthorized if the link is over, spent or unknown.
func (i *Identity) Link(ctx context.Context, secret domain.Secret) (signin.Link, error) {
	if !domain.WellFormedSecret(secret.Reveal()) {
		return signin.Link{}, noLink(nil)
	}
	now, err := tokenUse.Ask(ctx, i.Actors, domain.HashSecretHex(secret.Reveal()), useToken{Class: domain.RateDefault})
	if err != nil {
		return signin.Link{}, noLink(err)
	}
	token := now.Token
	if token.Kind != domain.TokenLink || token.User == nil || token.ExpiresAt == nil {
		return signin.Link{}, noLink(nil)
	}
	return signin.Link{User: *token.User, Invitation: token.Name, Org: token.Org, EndsAt: *token.ExpiresAt, Mailed: token.Mailed}, nil
}

// SpendLink uses a link up. It fails with unauthorized for all callers but the first.
func (i *Identity) SpendLink(ctx context.Context, secret domain.Secret) error {
	if _, err := i.Link(ctx, secret); err != nil {
		return err
	}
	_, err := tokenRevoke.Ask(ctx, i.Actors, domain.HashSecretHex(secret.Reveal()), grain.None{})
	if err != nil {
		return noLink(err)
	}
	return nil
}

// noLink gives all invalid links the same answer.
func noLink(err error) error {
	if code := domain.CodeOf(err); err != nil && code != domain.CodeUnauthorized && code != domain.CodeNotFound {
		return err
	}
	return domain.Errorf(domain.CodeUnauthorized, "The link is over, or was used before. Ask for another one; the operator makes one with: svc admin link --email …")
}

// AddressOf returns the identity of a user's actor as bytes.
func (i *Identity) AddressOf(person domain.User) []byte {
	address, _ := hex.DecodeString(userIdentity(person.Email)) // an identity is hex
	return address
}

// PersonAt returns the user of an address, or not_found.
func (i *Identity) PersonAt(ctx context.Context, address []byte) (domain.User, error) {
	return userGet.Ask(ctx, i.Actors, hex.EncodeToString(address), grain.None{})
}

// SpendCeremony records that a challenge was answered. The second time it fails with passkey_required.
func (i *Identity) SpendCeremony(ctx context.Context, person domain.User, ceremony *conversation.Ceremony) error {
	_, err := userSpendCeremony.Ask(ctx, i.Actors, userIdentity(person.Email), openCeremony{Ceremony: conversation.Ceremony{ID: ceremony.ID, EndsAt: ceremony.EndsAt}})
	return err
}
