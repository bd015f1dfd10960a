package actors

import (
	"time"

	"svc"
)

// The token actor.
//
//	identity   SHA-256 of the access token, in hex
//	rank       3
//	owns       the token's record and its rate limit
//	persists   entity token; the rate limit lives in memory only
//	woken by   calls, and once when the token expires
//	limits     requests a minute and class (contract 7)
//	stops      after five minutes without a message
const kindToken = "token"

type token struct {
	identity string
	token    *tokenRecord
	meter    svc.Meter
	// noted is when this activation last asked for the use of the token to be noted.
	noted  time.Time
	limits Limits
}

// Limits are the requests a minute and token; zero switches a limit off.
type Limits struct {
	Default int
	Query   int
}

func (l Limits) of(class svc.RateClass) int {
	if class == svc.RateQuery {
		return l.Query
	}
	return l.Default
}

type (
	createToken struct {
		Token tokenRecord `json:"token"`
	}
	useToken struct {
		Class svc.RateClass `json:"class"`
	}
	standing struct {
		Token tokenRecord   `json:"token"`
		Rate  svc.RateState `json:"rate"`
		// Wait is set where the request is refused.
		Wait time.Duration `json:"wait"`
		// Note asks for the use to be noted in the list that the token is on.
		Note bool `json:"note,omitempty"`
	}
)

func tokenHandlers() map[string]handler[*token] {
	return map[string]handler[*token]{
		"create": on((*token).onCreate),
		"use":    on((*token).onUse),
		"revoke": on((*token).onRevoke),
		"wake":   on((*token).onWake),
	}
}

func (t *token) apply(now time.Time, method string, payload []byte) (outcome, error) {
	if t.token == nil && method != "create" && method != "wake" {
		return outcome{}, svc.Errorf(svc.CodeUnauthorized, "The token is unknown, revoked or expired.")
	}
	return dispatch(tokenHandlers(), t, now, method, payload)
}

// makes is maker.makes: a token's identity is the hash of a new secret.
func (t *token) makes(method string, _ []byte) bool { return method == "create" }

func (t *token) restore(entities []svc.Entity) error {
	t.token = nil
	for _, entity := range entities {
		if entity.Kind != "token" {
			continue
		}
		record, err := decode[tokenRecord](entity)
		if err != nil {
			return err
		}
		t.token = &record
	}
	return nil
}

func (t *token) onCreate(_ time.Time, m createToken) (outcome, error) {
	record := m.Token
	t.token = &record
	result := outcome{answer: none{}, writes: []write{{"token", record.ID, record}}}
	if record.ExpiresAt != nil {
		result.wakeups = []svc.Wakeup{{Kind: kindToken, Identity: t.identity, Name: "expire", Due: *record.ExpiresAt}}
	}
	return result, nil
}

// onUse judges one request: the token must be live, and the limit of the class
// not used up.
func (t *token) onUse(now time.Time, m useToken) (outcome, error) {
	if live := t.token.token(); !live.Live(now) {
		return outcome{}, svc.Errorf(svc.CodeUnauthorized, "The token is unknown, revoked or expired.")
	}
	rate, wait := t.meter.Take(now, m.Class, t.limits.of(m.Class))
	answer := standing{Token: *t.token, Rate: rate, Wait: wait}
	listed := t.token.Kind == svc.TokenPersonal || t.token.Kind == svc.TokenOrganization
	if listed && wait == 0 && now.Sub(t.noted) >= svc.UseGrain {
		t.noted, answer.Note = now, true
	}
	return outcome{answer: answer}, nil
}

func (t *token) onRevoke(now time.Time, _ none) (outcome, error) {
	if t.token.RevokedAt != nil {
		return outcome{}, svc.NotFound("token")
	}
	if t.token.Kind == svc.TokenAssistant {
		// There is one for every turn, on no list: nothing is left of it.
		id := t.token.ID
		t.token = nil
		return outcome{answer: none{}, writes: []write{{"token", id, nil}}, wakeups: t.noWakeup()}, nil
	}
	t.token.RevokedAt = &now
	return outcome{answer: none{}, writes: []write{{"token", t.token.ID, *t.token}}, wakeups: t.noWakeup()}, nil
}

// onWake removes the record of a token that has expired. A wake-up without a
// token is what a crash left of a removal, which is done again.
func (t *token) onWake(now time.Time, _ string) (outcome, error) {
	if t.token == nil {
		return outcome{answer: none{}, writes: []write{{"token", "expired", nil}}, wakeups: t.noWakeup()}, nil
	}
	if live := t.token.token(); live.Live(now) {
		return outcome{answer: none{}}, nil
	}
	id := t.token.ID
	result := outcome{answer: none{}, writes: []write{{"token", id, nil}}, wakeups: t.noWakeup()}
	t.token = nil
	return result, nil
}

// noWakeup removes the wake-up of the expiry.
func (t *token) noWakeup() []svc.Wakeup {
	return []svc.Wakeup{{Kind: kindToken, Identity: t.identity, Name: "expire"}}
}
