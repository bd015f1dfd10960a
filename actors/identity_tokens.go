package actors

import (
	"context"
	"time"

	"svc"
)

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

// AdoptToken has an organization token whose person has left act as an owner of the
// organization from now on. It fails with forbidden for others, and with conflict where the
// token still acts as a member.
func (i *Identity) AdoptToken(ctx context.Context, owner svc.TokenOwner, id string) (svc.Token, error) {
	record, err := ask[tokenRecord](ctx, i.Actors, kindOrganization, owner.Org, "token.adopt", adoptToken{ID: id, UserID: owner.User.ID})
	return record.token(), err
}

// noteTime bounds the noting of a token's use.
const noteTime = time.Second

// noteUse notes in the list that a token is on that it is used. No request fails because
// that cannot be noted: the next one that asks for it, a UseGrain later, notes it.
func (i *Identity) noteUse(ctx context.Context, token *svc.Token) {
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	holder, identity := kindUser, ""
	switch {
	case token.Kind == svc.TokenOrganization:
		holder, identity = kindOrganization, token.Org
	case token.User != nil:
		identity = userIdentity(token.User.Email)
	default:
		return
	}
	_, _ = ask[none](ctx, i.Actors, holder, identity, "token.used", findToken{ID: token.ID}) // a hint
}
