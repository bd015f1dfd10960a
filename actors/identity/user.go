package identity

import (
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/signin"
)

// The user actor.
//
//	identity   SHA-256 of the normalised e-mail address, in hex
//	rank       2
//	owns       the user's name and the proof of the address, the organizations that may
//	           seat the user (each organization's own list decides), the offered seats,
//	           the personal tokens, the passkeys, the list of console sessions, the last sign-ins
//	persists   entities user, membership, offer, token, passkey, session, ending,
//	           signins; open ceremonies are in memory only
//	woken by   calls only
//	limits     none of its own
//	stops      after ten minutes without a message
const kindUser = "user"

type user struct {
	user        *userRecord
	memberships map[string]grain.None
	offers      map[string]noteOffer
	tokens      map[string]tokenRecord
	passkeys    map[string]conversation.Passkey
	// sessions holds the console sessions; ending holds the hashes of tokens that are to be revoked.
	sessions   map[string]sessionRecord
	ending     map[string]grain.None
	signIns    []signin.SignIn
	ceremonies []conversation.Ceremony
	// spent holds the ceremonies that were opened elsewhere and answered.
	spent []conversation.Ceremony
}

type joinOrganization struct {
	Org string `json:"org"`
}

var userKind = grain.NewKind[*user](kindUser, 2, 10*time.Minute)

// The methods of the user actor.
var (
	userGet         = grain.On(userKind, "get", (*user).onGet, grain.Repeatable)
	userJoin        = grain.On(userKind, "join", (*user).onJoin)
	userLeave       = grain.On(userKind, "leave", (*user).onLeave)
	userMemberships = grain.On(userKind, "memberships", (*user).onMemberships, grain.Repeatable)
	userAddToken    = grain.On(userKind, "token.add", (*user).onAddToken)
	userFindToken   = grain.On(userKind, "token.find", (*user).onFindToken, grain.Repeatable)
	userRemoveToken = grain.On(userKind, "token.remove", (*user).onRemoveToken)
	userTokenUsed   = grain.On(userKind, "token.used", (*user).onTokenUsed, grain.Repeatable)
	userTokens      = grain.On(userKind, "tokens", (*user).onTokens, grain.Repeatable)
)

// userIdentity returns the identity of the user of an e-mail address.
func userIdentity(email string) string {
	normal, _ := domain.NormaliseEmail(email)
	return domain.HashSecretHex("user:" + normal)
}

// Admit refuses methods that need a user if the user is unknown.
func (u *user) Admit(_ time.Time, method string) error {
	if u.user == nil && !slices.Contains(strangers(), method) {
		return domain.NotFound("user")
	}
	return nil
}

func (u *user) Restore(entities []domain.Entity) error {
	*u = user{memberships: map[string]grain.None{}, offers: map[string]noteOffer{}, tokens: map[string]tokenRecord{}, passkeys: map[string]conversation.Passkey{}, sessions: map[string]sessionRecord{}, ending: map[string]grain.None{}}
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case "user":
			var person userRecord
			person, err = grain.Decode[userRecord](entity)
			u.user = &person
		case "membership":
			u.memberships[entity.ID] = grain.None{}
		case "offer":
			u.offers[entity.ID], err = grain.Decode[noteOffer](entity)
		case "token":
			u.tokens[entity.ID], err = grain.Decode[tokenRecord](entity)
		case "passkey":
			u.passkeys[entity.ID], err = grain.Decode[conversation.Passkey](entity)
		case "session":
			u.sessions[entity.ID], err = grain.Decode[sessionRecord](entity)
		case "signins":
			var log signInLog
			log, err = grain.Decode[signInLog](entity)
			u.signIns = log.Rows
		case "ending":
			u.ending[entity.ID] = grain.None{}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *user) onGet(time.Time, grain.None) (grain.Outcome[domain.User], error) {
	return grain.Answer(u.user.User), nil
}

func (u *user) onJoin(_ time.Time, m joinOrganization) (grain.Outcome[grain.None], error) {
	if _, joined := u.memberships[m.Org]; joined {
		return grain.Answer(grain.None{}), nil
	}
	u.memberships[m.Org] = grain.None{}
	return grain.Answer(grain.None{}, grain.Put("membership", m.Org, grain.None{})), nil
}

func (u *user) onLeave(_ time.Time, m joinOrganization) (grain.Outcome[grain.None], error) {
	if _, joined := u.memberships[m.Org]; !joined {
		return grain.Answer(grain.None{}), nil
	}
	delete(u.memberships, m.Org)
	return grain.Answer(grain.None{}, grain.Delete("membership", m.Org)), nil
}

func (u *user) onMemberships(time.Time, grain.None) (grain.Outcome[[]string], error) {
	return grain.Answer(slices.Sorted(maps.Keys(u.memberships))), nil
}

func (u *user) onAddToken(now time.Time, m addToken) (grain.Outcome[grain.None], error) {
	if err := u.live(now, m.Session); err != nil {
		return grain.Outcome[grain.None]{}, err
	}
	u.tokens[m.Token.ID] = m.Token
	return grain.Answer(grain.None{}, grain.Put("token", m.Token.ID, m.Token)), nil
}

func (u *user) onFindToken(_ time.Time, m findToken) (grain.Outcome[tokenRecord], error) {
	return findTokenIn(u.tokens, m.ID)
}

func (u *user) onRemoveToken(_ time.Time, m findToken) (grain.Outcome[grain.None], error) {
	return removeTokenFrom(u.tokens, m.ID)
}

func (u *user) onTokens(time.Time, grain.None) (grain.Outcome[[]tokenRecord], error) {
	return grain.Answer(sortedTokens(u.tokens)), nil
}

func (u *user) onTokenUsed(now time.Time, m findToken) (grain.Outcome[grain.None], error) {
	return noteTokenIn(u.tokens, m.ID, now)
}
