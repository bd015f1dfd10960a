package actors

import (
	"maps"
	"slices"
	"time"

	"svc"
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
	memberships map[string]none
	offers      map[string]noteOffer
	tokens      map[string]tokenRecord
	passkeys    map[string]svc.Passkey
	ceremonies  []svc.Ceremony
}

type (
	ensureUser struct {
		User svc.User `json:"user"`
	}
	joinOrganization struct {
		Org string `json:"org"`
	}
)

func userHandlers() map[string]handler[*user] {
	handlers := map[string]handler[*user]{
		"ensure":       on((*user).onEnsure),
		"get":          on((*user).onGet),
		"join":         on((*user).onJoin),
		"leave":        on((*user).onLeave),
		"memberships":  on((*user).onMemberships),
		"token.add":    on((*user).onAddToken),
		"token.find":   on((*user).onFindToken),
		"token.remove": on((*user).onRemoveToken),
		"token.used":   on((*user).onTokenUsed),
		"tokens":       on((*user).onTokens),
	}
	maps.Copy(handlers, passkeyHandlers())
	maps.Copy(handlers, offerHandlers())
	return handlers
}

// userIdentity returns the identity of the person of an e-mail address.
func userIdentity(email string) string {
	normal, _ := svc.NormaliseEmail(email)
	return svc.HashSecretHex("user:" + normal)
}

func (u *user) apply(now time.Time, method string, payload []byte) (outcome, error) {
	if u.user == nil && !slices.Contains(strangers(), method) {
		return outcome{}, svc.NotFound("user")
	}
	return dispatch(userHandlers(), u, now, method, payload)
}

func (u *user) restore(entities []svc.Entity) error {
	*u = user{memberships: map[string]none{}, offers: map[string]noteOffer{}, tokens: map[string]tokenRecord{}, passkeys: map[string]svc.Passkey{}}
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case "user":
			var person svc.User
			person, err = decode[svc.User](entity)
			u.user = &person
		case "membership":
			u.memberships[entity.ID] = none{}
		case "offer":
			u.offers[entity.ID], err = decode[noteOffer](entity)
		case "token":
			u.tokens[entity.ID], err = decode[tokenRecord](entity)
		case "passkey":
			u.passkeys[entity.ID], err = decode[svc.Passkey](entity)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onEnsure makes the user if there is none. A known user keeps the name: whoever
// seats a person somewhere must not rename them everywhere.
func (u *user) onEnsure(_ time.Time, m ensureUser) (outcome, error) {
	if u.user != nil {
		return outcome{answer: *u.user}, nil
	}
	person := m.User
	if person.Name == "" {
		person.Name = person.Email
	}
	u.user = &person
	return outcome{answer: *u.user, writes: []write{{"user", u.user.ID, *u.user}}}, nil
}

func (u *user) onGet(time.Time, none) (outcome, error) { return outcome{answer: *u.user}, nil }

func (u *user) onJoin(_ time.Time, m joinOrganization) (outcome, error) {
	if _, joined := u.memberships[m.Org]; joined {
		return outcome{answer: none{}}, nil
	}
	u.memberships[m.Org] = none{}
	return outcome{answer: none{}, writes: []write{{"membership", m.Org, none{}}}}, nil
}

func (u *user) onLeave(_ time.Time, m joinOrganization) (outcome, error) {
	if _, joined := u.memberships[m.Org]; !joined {
		return outcome{answer: none{}}, nil
	}
	delete(u.memberships, m.Org)
	return outcome{answer: none{}, writes: []write{{"membership", m.Org, nil}}}, nil
}

func (u *user) onMemberships(time.Time, none) (outcome, error) {
	return outcome{answer: slices.Sorted(maps.Keys(u.memberships))}, nil
}

func (u *user) onAddToken(_ time.Time, m addToken) (outcome, error) {
	u.tokens[m.Token.ID] = m.Token
	return outcome{answer: none{}, writes: []write{{"token", m.Token.ID, m.Token}}}, nil
}

func (u *user) onFindToken(_ time.Time, m findToken) (outcome, error) {
	return findTokenIn(u.tokens, m.ID)
}

func (u *user) onRemoveToken(_ time.Time, m findToken) (outcome, error) {
	return removeTokenFrom(u.tokens, m.ID)
}

func (u *user) onTokens(time.Time, none) (outcome, error) {
	return outcome{answer: sortedTokens(u.tokens)}, nil
}

func (u *user) onTokenUsed(now time.Time, m findToken) (outcome, error) {
	return noteTokenIn(u.tokens, m.ID, now)
}
