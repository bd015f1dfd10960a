package identity

import (
	"context"
	"time"

	"svc/actors/grain"
	"svc/domain"
)

// Tokens lists the live tokens of an owner, the newest first.
func (i *Identity) Tokens(ctx context.Context, owner domain.TokenOwner) ([]domain.Token, error) {
	holder, identity := tokenHolder(owner)
	records, err := holder.list.Ask(ctx, i.Actors, identity, grain.None{})
	if err != nil {
		return nil, err
	}
	tokens := []domain.Token{}
	for _, record := range records {
		if token := record.token(); token.Live(i.Now()) {
			tokens = append(tokens, token)
		}
	}
	return tokens, nil
}

// tokenList holds the methods of an actor that lists tokens.
type tokenList struct {
	list   grain.Method[grain.None, []tokenRecord]
	add    grain.Method[addToken, grain.None]
	find   grain.Method[findToken, tokenRecord]
	remove grain.Method[findToken, grain.None]
	used   grain.Method[findToken, grain.None]
}

func organizationTokenList() tokenList {
	return tokenList{organizationTokens, organizationAddToken, organizationFindToken, organizationRemoveToken, organizationTokenUsed}
}

func userTokenList() tokenList {
	return tokenList{userTokens, userAddToken, userFindToken, userRemoveToken, userTokenUsed}
}

// tokenHolder returns the methods and the identity of the actor that lists an owner's tokens.
func tokenHolder(owner domain.TokenOwner) (holder tokenList, identity string) {
	if owner.Org != "" {
		return organizationTokenList(), owner.Org
	}
	return userTokenList(), userIdentity(owner.User.Email)
}

// MintToken makes a token of an owner; the secret is returned only this time. The token is listed before it works, so
// every working token can be revoked.
func (i *Identity) MintToken(ctx context.Context, owner domain.TokenOwner, spec domain.TokenSpec) (domain.Token, domain.Secret, error) {
	if problems := spec.Validate(i.Now()); len(problems) > 0 {
		return domain.Token{}, "", domain.Invalid(problems...)
	}
	kind := domain.TokenPersonal
	if owner.Org != "" {
		kind = domain.TokenOrganization
	}
	token, secret := i.newToken(ctx, kind, owner, spec)
	holder, identity := tokenHolder(owner)
	if _, err := holder.add.Ask(domain.WithCarrier(ctx, nil), i.Actors, identity, addToken{Token: recordToken(token), Session: owner.Session}); err != nil {
		return domain.Token{}, "", err
	}
	return token, secret, i.activate(ctx, recordToken(token))
}

func (i *Identity) newToken(ctx context.Context, kind domain.TokenKind, owner domain.TokenOwner, spec domain.TokenSpec) (domain.Token, domain.Secret) {
	secret := domain.MintSecret(kind.Prefix(), i.Random.NewBytes(ctx, 32))
	clear := secret.Reveal()
	user := owner.User
	return domain.Token{
		ID: i.Random.NewID(ctx, "tok_"), Kind: kind, Name: spec.Name, Scopes: spec.Scopes, User: &user, Org: owner.Org,
		Last4: clear[len(clear)-4:], CreatedAt: i.Now(), ExpiresAt: spec.ExpiresAt, Hash: domain.HashSecretHex(clear),
	}, secret
}

func (i *Identity) activate(ctx context.Context, token tokenRecord) error {
	_, err := tokenCreate.Ask(ctx, i.Actors, token.Hash, createToken{Token: token})
	return err
}

// RevokeToken ends a token of an owner. It stops working before it leaves the
// list.
func (i *Identity) RevokeToken(ctx context.Context, owner domain.TokenOwner, id string) error {
	holder, identity := tokenHolder(owner)
	record, err := holder.find.Ask(ctx, i.Actors, identity, findToken{ID: id})
	if err != nil {
		return err
	}
	_, err = tokenRevoke.Ask(ctx, i.Actors, record.Hash, grain.None{})
	if code := domain.CodeOf(err); err != nil && code != domain.CodeNotFound && code != domain.CodeUnauthorized {
		return err
	}
	_, err = holder.remove.Ask(ctx, i.Actors, identity, findToken{ID: id})
	return err
}

// AdoptToken makes an organization token act as an owner of the organization from now on, after its user has left. It
// fails with forbidden for other members, and with conflict if the token still acts as a member.
func (i *Identity) AdoptToken(ctx context.Context, owner domain.TokenOwner, id string) (domain.Token, error) {
	record, err := organizationAdoptToken.Ask(ctx, i.Actors, owner.Org, adoptToken{ID: id, UserID: owner.User.ID})
	return record.token(), err
}

// noteTime bounds the recording of a token's use.
const noteTime = time.Second

// noteUse records the use of a token in its owner's list. No request fails if that cannot be recorded: the next request
// that asks for it, a UseGrain later, records it.
func (i *Identity) noteUse(ctx context.Context, token *domain.Token) {
	ctx, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	owner := domain.TokenOwner{}
	switch {
	case token.Kind == domain.TokenConsole && token.User != nil:
		_, _ = userSessionUsed.Ask(ctx, i.Actors, userIdentity(token.User.Email), findToken{ID: token.ID}) // a hint
		return
	case token.Kind == domain.TokenOrganization:
		owner.Org = token.Org
	case token.User != nil:
		owner.User = *token.User
	default:
		return
	}
	holder, identity := tokenHolder(owner)
	_, _ = holder.used.Ask(ctx, i.Actors, identity, findToken{ID: token.ID}) // a hint
}
