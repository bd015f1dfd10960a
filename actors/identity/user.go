package identity

import (
	"maps"
	"slices"
	"time"

	"svc"
	"svc/actors/grain"
)

// The user actor.
//
//	identity   SHA-256 of the normalised e-mail address, in hex
//	rank       2
//	owns       the person's name, the organizations where the person may sit
//	           (each organization's own list decides), where a seat may be offered, the
//	           personal tokens, the passkeys
//	persists   entities user, membership, offer, token, passkey; open ceremonies are forgotten
//	woken by   calls only
//	limits     none of its own
//	stops      after ten minutes without a message
const kindUser = "user"

type user struct {
	user        *svc.User
	memberships map[string]grain.None
	offers      map[string]noteOffer
	tokens      map[string]tokenRecord
	passkeys    map[string]svc.Passkey
	ceremonies  []svc.Ceremony
	// spent are the ceremonies that were opened elsewhere and answered.
	spent []svc.Ceremony
}

type (
	ensureUser struct {
		User svc.User `json:"user"`
	}
	joinOrganization struct {
		Org string `json:"org"`
	}
)

var userKind = grain.NewKind[*user](kindUser, 2, 10*time.Minute)

// The methods of the user actor.
var (
	userEnsure      = grain.On(userKind, "ensure", (*user).onEnsure, grain.Repeatable)
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

// userIdentity returns the identity of the person of an e-mail address.
func userIdentity(email string) string {
	normal, _ := svc.NormaliseEmail(email)
	return svc.HashSecretHex("user:" + normal)
}

// Admit refuses what needs a person where none is known.
func (u *user) Admit(_ time.Time, method string) error {
	if u.user == nil && !slices.Contains(strangers(), method) {
		return svc.NotFound("user")
	}
	return nil
}

func (u *user) Restore(entities []svc.Entity) error {
	*u = user{memberships: map[string]grain.None{}, offers: map[string]noteOffer{}, tokens: map[string]tokenRecord{}, passkeys: map[string]svc.Passkey{}}
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case "user":
			var person svc.User
			person, err = grain.Decode[svc.User](entity)
			u.user = &person
		case "membership":
			u.memberships[entity.ID] = grain.None{}
		case "offer":
			u.offers[entity.ID], err = grain.Decode[noteOffer](entity)
		case "token":
			u.tokens[entity.ID], err = grain.Decode[tokenRecord](entity)
		case "passkey":
			u.passkeys[entity.ID], err = grain.Decode[svc.Passkey](entity)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onEnsure makes the user if there is none. A known user keeps the name: a member who
// seats a person in one organization must not rename them in all.
func (u *user) onEnsure(_ time.Time, m ensureUser) (grain.Outcome[svc.User], error) {
	if u.user != nil {
		return grain.Answer(*u.user), nil
	}
	person := m.User
	if person.Name == "" {
		person.Name = person.Email
	}
	u.user = &person
	return grain.Answer(*u.user, grain.Put("user", u.user.ID, *u.user)), nil
}

func (u *user) onGet(time.Time, grain.None) (grain.Outcome[svc.User], error) {
	return grain.Answer(*u.user), nil
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

func (u *user) onAddToken(_ time.Time, m addToken) (grain.Outcome[grain.None], error) {
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
