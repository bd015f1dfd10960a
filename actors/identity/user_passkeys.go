package identity

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
)

// openCeremonies bounds the open ceremonies of a user; the oldest is dropped.
const openCeremonies = 8

type (
	putPasskey struct {
		Passkey conversation.Passkey `json:"passkey"`
		// Use changes a passkey only if it exists.
		Use bool `json:"use"`
		// Session is the console session that adds a passkey.
		Session string `json:"session,omitempty"`
	}
	namePasskey struct {
		ID string `json:"id"`
	}
	openCeremony struct {
		Ceremony conversation.Ceremony `json:"ceremony"`
	}
)

// The methods of the user actor.
var (
	userPasskeys      = grain.On(userKind, "passkeys", (*user).onPasskeys)
	userPutPasskey    = grain.On(userKind, "passkey.put", (*user).onPutPasskey)
	userRemovePasskey = grain.On(userKind, "passkey.remove", (*user).onRemovePasskey)
	userOpenCeremony  = grain.On(userKind, "ceremony.open", (*user).onOpenCeremony)
	userTakeCeremony  = grain.On(userKind, "ceremony.take", (*user).onTakeCeremony)
	userSpendCeremony = grain.On(userKind, "ceremony.spend", (*user).onSpendCeremony)
)

func (u *user) onPasskeys(time.Time, grain.None) (grain.Outcome[[]conversation.Passkey], error) {
	keys := slices.SortedFunc(maps.Values(u.passkeys), func(a, b conversation.Passkey) int { return strings.Compare(a.ID, b.ID) })
	return grain.Answer(append([]conversation.Passkey{}, keys...)), nil
}

// onPutPasskey stores a new passkey, or the changes of a known one.
func (u *user) onPutPasskey(now time.Time, m putPasskey) (grain.Outcome[conversation.Passkey], error) {
	key := m.Passkey
	switch _, known := u.passkeys[key.ID]; {
	case !m.Use && (m.Session == "" || u.live(now, m.Session) != nil):
		return grain.Outcome[conversation.Passkey]{}, conversation.PasskeyRequired("session_over", "The session has ended. Sign in again.")
	case m.Use && !known:
		return grain.Outcome[conversation.Passkey]{}, domain.NotFound("passkey")
	case !known && len(u.passkeys) >= conversation.MaxPasskeys:
		return grain.Outcome[conversation.Passkey]{}, domain.Errorf(domain.CodeConflict, "A person has at most %d passkeys; remove one first.", conversation.MaxPasskeys)
	}
	u.passkeys[key.ID] = key
	return grain.Answer(key, grain.Put("passkey", key.ID, key)), nil
}

// onRemovePasskey removes a passkey and ends the sessions that it opened.
func (u *user) onRemovePasskey(_ time.Time, m namePasskey) (grain.Outcome[entered], error) {
	if _, known := u.passkeys[m.ID]; !known {
		return grain.Outcome[entered]{}, domain.NotFound("passkey")
	}
	delete(u.passkeys, m.ID)
	writes := []grain.Write{grain.Delete("passkey", m.ID)}
	for _, session := range u.sortedSessions() {
		if session.Passkey == m.ID {
			writes = append(writes, u.endSession(session.ID)...)
		}
	}
	return u.answerEntered(writes), nil
}

// onOpenCeremony remembers a challenge. It is not stored: a client asks again if its challenge is lost.
func (u *user) onOpenCeremony(now time.Time, m openCeremony) (grain.Outcome[grain.None], error) {
	u.ceremonies = slices.DeleteFunc(u.ceremonies, func(c conversation.Ceremony) bool { return !now.Before(c.EndsAt) })
	u.ceremonies = append(u.ceremonies, m.Ceremony)
	u.ceremonies = u.ceremonies[max(0, len(u.ceremonies)-openCeremonies):]
	return grain.Answer(grain.None{}), nil
}

// onTakeCeremony returns a challenge for verification and drops it.
func (u *user) onTakeCeremony(now time.Time, m namePasskey) (grain.Outcome[conversation.Ceremony], error) {
	at := slices.IndexFunc(u.ceremonies, func(c conversation.Ceremony) bool { return c.ID == m.ID })
	if at < 0 || !now.Before(u.ceremonies[at].EndsAt) {
		return grain.Outcome[conversation.Ceremony]{}, conversation.PasskeyRequired("challenge_over", "The challenge is over or was answered before; begin again.")
	}
	taken := u.ceremonies[at]
	u.ceremonies = slices.Delete(u.ceremonies, at, at+1)
	return grain.Answer(taken), nil
}

// onSpendCeremony records the answer to a challenge that was not opened here. The record lasts as long as the challenge
// would have; it is lost with the activation.
func (u *user) onSpendCeremony(now time.Time, m openCeremony) (grain.Outcome[grain.None], error) {
	u.spent = slices.DeleteFunc(u.spent, func(c conversation.Ceremony) bool { return !now.Before(c.EndsAt) })
	if !now.Before(m.Ceremony.EndsAt) || slices.ContainsFunc(u.spent, func(c conversation.Ceremony) bool { return c.ID == m.Ceremony.ID }) {
		return grain.Outcome[grain.None]{}, conversation.PasskeyRequired("challenge_over", "The challenge is over or was answered before; begin again.")
	}
	u.spent = append(u.spent, m.Ceremony)
	return grain.Answer(grain.None{}), nil
}

// Passkeys returns a user's passkeys, the oldest first.
func (i *Identity) Passkeys(ctx context.Context, person domain.User) ([]conversation.Passkey, error) {
	return userPasskeys.Ask(ctx, i.Actors, userIdentity(person.Email), grain.None{})
}

// AddPasskey stores a new passkey of a user under a new id, on behalf of a console session of the user. It fails with
// conflict if there are too many, and with passkey_required if the session has ended.
func (i *Identity) AddPasskey(ctx context.Context, person domain.User, session string, key conversation.Passkey) (conversation.Passkey, error) {
	key.ID = i.Random.NewID(ctx, "key_")
	return userPutPasskey.Ask(ctx, i.Actors, userIdentity(person.Email), putPasskey{Passkey: key, Session: session})
}

// UsePasskey stores the changes of a passkey after its use. It fails with not_found if the passkey was removed
// meanwhile.
func (i *Identity) UsePasskey(ctx context.Context, person domain.User, key conversation.Passkey) error {
	_, err := userPutPasskey.Ask(ctx, i.Actors, userIdentity(person.Email), putPasskey{Passkey: key, Use: true})
	return err
}

// RemovePasskey removes a passkey of a user and ends the sessions that it opened.
func (i *Identity) RemovePasskey(ctx context.Context, person domain.User, id string) error {
	identity := userIdentity(person.Email)
	removed, err := userRemovePasskey.Ask(ctx, i.Actors, identity, namePasskey{ID: id})
	if err != nil {
		return err
	}
	return i.revokeAll(ctx, identity, removed.Ending)
}

// OpenCeremony remembers a challenge to a user's authenticator.
func (i *Identity) OpenCeremony(ctx context.Context, person domain.User, ceremony conversation.Ceremony) error {
	_, err := userOpenCeremony.Ask(ctx, i.Actors, userIdentity(person.Email), openCeremony{Ceremony: ceremony})
	return err
}

// TakeCeremony returns an open challenge once. It fails with passkey_required for any other challenge, and the second
// time.
func (i *Identity) TakeCeremony(ctx context.Context, person domain.User, id string) (conversation.Ceremony, error) {
	return userTakeCeremony.Ask(ctx, i.Actors, userIdentity(person.Email), namePasskey{ID: id})
}

// NewCeremonyID returns a new id for a ceremony.
func (i *Identity) NewCeremonyID() string { return i.Random.ID("cer_") }
