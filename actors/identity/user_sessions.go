package identity

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/signin"
)

// sessionRecord is a console session as its person's actor lists it. The token's own actor knows whether the session
// lives.
type sessionRecord struct {
	signin.ConsoleSession
	Hash string `json:"hash"`
}

type addSession struct {
	Session sessionRecord `json:"session"`
}

// These are the methods of the user actor.
var (
	userAddSession  = grain.On(userKind, "session.add", (*user).onAddSession)
	userSessions    = grain.On(userKind, "sessions", (*user).onSessions, grain.Repeatable)
	userEndSession  = grain.On(userKind, "session.end", (*user).onEndSession)
	userEndOthers   = grain.On(userKind, "session.end_others", (*user).onEndOthers)
	userSessionUsed = grain.On(userKind, "session.used", (*user).onSessionUsed, grain.Repeatable)
)

// onAddSession lists a session. A session of a passkey needs that passkey: it may have been removed meanwhile. The
// oldest sessions end if there are too many.
func (u *user) onAddSession(now time.Time, m addSession) (grain.Outcome[entered], error) {
	session := m.Session
	if _, known := u.passkeys[session.Passkey]; session.Passkey != "" && !known {
		return grain.Outcome[entered]{}, domain.NotFound("passkey")
	}
	var writes []grain.Write
	for _, old := range u.sortedSessions() {
		if !now.Before(old.ExpiresAt) {
			delete(u.sessions, old.ID)
			writes = append(writes, grain.Delete("session", old.ID))
		}
	}
	u.sessions[session.ID] = session
	writes = append(writes, grain.Put("session", session.ID, session))
	listed := u.sortedSessions()
	for _, old := range listed[min(len(listed), signin.MaxSessions):] {
		writes = append(writes, u.endSession(old.ID)...)
	}
	return u.answerEntered(writes), nil
}

// sortedSessions returns the sessions, the newest first.
func (u *user) sortedSessions() []sessionRecord {
	return slices.SortedFunc(maps.Values(u.sessions), func(a, b sessionRecord) int {
		if order := b.CreatedAt.Compare(a.CreatedAt); order != 0 {
			return order
		}
		return strings.Compare(b.ID, a.ID)
	})
}

// endSession removes a session from the list and marks its token for revocation.
func (u *user) endSession(id string) []grain.Write {
	hash := u.sessions[id].Hash
	delete(u.sessions, id)
	return append([]grain.Write{grain.Delete("session", id)}, u.end(hash)...)
}

func (u *user) onSessions(now time.Time, _ grain.None) (grain.Outcome[[]signin.ConsoleSession], error) {
	sessions := []signin.ConsoleSession{}
	for _, session := range u.sortedSessions() {
		if now.Before(session.ExpiresAt) {
			sessions = append(sessions, session.ConsoleSession)
		}
	}
	return grain.Answer(sessions), nil
}

func (u *user) onEndSession(_ time.Time, m findToken) (grain.Outcome[entered], error) {
	if _, listed := u.sessions[m.ID]; !listed {
		return grain.Outcome[entered]{}, domain.NotFound("session")
	}
	return u.answerEntered(u.endSession(m.ID)), nil
}

// onEndOthers ends all sessions but one.
func (u *user) onEndOthers(_ time.Time, m findToken) (grain.Outcome[entered], error) {
	var writes []grain.Write
	for _, session := range u.sortedSessions() {
		if session.ID != m.ID {
			writes = append(writes, u.endSession(session.ID)...)
		}
	}
	return u.answerEntered(writes), nil
}

func (u *user) onSessionUsed(now time.Time, m findToken) (grain.Outcome[grain.None], error) {
	session, listed := u.sessions[m.ID]
	if !listed {
		return grain.Outcome[grain.None]{}, domain.NotFound("session")
	}
	if now.Sub(session.LastUsedAt) < domain.UseGrain {
		return grain.Answer(grain.None{}), nil
	}
	session.LastUsedAt = now.UTC().Truncate(time.Minute)
	u.sessions[m.ID] = session
	return grain.Answer(grain.None{}, grain.Put("session", m.ID, session)), nil
}

// live refuses a request of a session that has ended meanwhile. The operator has no session.
func (u *user) live(now time.Time, session string) error {
	if listed, found := u.sessions[session]; session == "" || found && now.Before(listed.ExpiresAt) {
		return nil
	}
	return domain.Errorf(domain.CodeUnauthorized, "The token is unknown, revoked or expired.")
}

// OpenSession makes a console session. It lists the session before the session works. Thus every working session can be
// ended.
func (i *Identity) OpenSession(ctx context.Context, spec signin.SessionSpec) (domain.Token, domain.Secret, error) {
	ends := i.Now().Add(signin.SessionTime)
	token, secret := i.newToken(ctx, domain.TokenConsole, domain.TokenOwner{User: spec.Person}, domain.TokenSpec{Name: spec.By, Scopes: domain.Scopes(), ExpiresAt: &ends})
	session := signin.ConsoleSession{
		ID: token.ID, By: spec.By, Passkey: spec.Passkey, Device: spec.Device, Place: spec.Place, CreatedAt: token.CreatedAt, LastUsedAt: token.CreatedAt, ExpiresAt: ends,
	}
	person := userIdentity(spec.Person.Email)
	listed, err := userAddSession.Ask(domain.WithCarrier(ctx, nil), i.Actors, person, addSession{sessionRecord{session, token.Hash}})
	if err == nil {
		err = i.revokeAll(ctx, person, listed.Ending)
	}
	if err == nil {
		err = i.NoteSignIn(ctx, spec.Person, signin.SignIn{Method: spec.Method, Device: spec.Device, Place: spec.Place})
	}
	if err != nil {
		return domain.Token{}, "", err
	}
	return token, secret, i.activate(ctx, recordToken(token))
}

// Sessions lists the console sessions of a person, the newest first.
func (i *Identity) Sessions(ctx context.Context, person domain.User) ([]signin.ConsoleSession, error) {
	return userSessions.Ask(ctx, i.Actors, userIdentity(person.Email), grain.None{})
}

// EndSessionOf ends a console session of a person. It fails with not_found if no session has the id.
func (i *Identity) EndSessionOf(ctx context.Context, person domain.User, id string) error {
	return i.endThem(ctx, person, userEndSession, findToken{ID: id})
}

// EndOtherSessions ends all console sessions of a person but one.
func (i *Identity) EndOtherSessions(ctx context.Context, person domain.User, except string) error {
	return i.endThem(ctx, person, userEndOthers, findToken{ID: except})
}

func (i *Identity) endThem(ctx context.Context, person domain.User, how grain.Method[findToken, entered], which findToken) error {
	identity := userIdentity(person.Email)
	ended, err := how.Ask(ctx, i.Actors, identity, which)
	if err != nil {
		return err
	}
	return i.revokeAll(ctx, identity, ended.Ending)
}

// EndSession ends the console session of a secret. It succeeds if the session is over or unknown.
func (i *Identity) EndSession(ctx context.Context, secret domain.Secret) error {
	found, err := tokenUse.Ask(ctx, i.Actors, domain.HashSecretHex(secret.Reveal()), useToken{Class: domain.RateNone})
	switch {
	case domain.CodeOf(err) == domain.CodeUnauthorized:
		return nil
	case err != nil:
		return err
	}
	if found.Token.Kind == domain.TokenConsole && found.Token.User != nil {
		err := i.EndSessionOf(ctx, *found.Token.User, found.Token.ID)
		if code := domain.CodeOf(err); err == nil || code != domain.CodeNotFound {
			return err
		}
	}
	_, err = tokenRevoke.Ask(ctx, i.Actors, found.Token.Hash, grain.None{})
	if code := domain.CodeOf(err); err != nil && code != domain.CodeNotFound && code != domain.CodeUnauthorized {
		return err
	}
	return nil
}
