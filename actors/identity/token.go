package identity

import (
	"time"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
)

// The token actor.
//
//	identity   SHA-256 of the access token, in hex
//	rank       3
//	owns       the token's record and its rate limit
//	persists   entity token; the rate limit lives in memory only
//	woken by   calls, and once when the token expires
//	limits     requests per minute and class (contract 7)
//	stops      after five minutes without a message
const kindToken = "token"

type token struct {
	identity string
	token    *tokenRecord
	meter    domain.Meter
	// noted is when this activation last asked for the recording of the token's use.
	noted  time.Time
	limits Limits
}

// Limits are the requests per minute and token; zero switches a limit off.
type Limits struct {
	Default int
	Query   int
}

func (l Limits) of(class domain.RateClass) int {
	if class == domain.RateQuery {
		return l.Query
	}
	return l.Default
}

type (
	createToken struct {
		Token tokenRecord `json:"token"`
	}
	useToken struct {
		Class domain.RateClass `json:"class"`
	}
	standing struct {
		Token tokenRecord      `json:"token"`
		Rate  domain.RateState `json:"rate"`
		// Wait is set if the request is refused.
		Wait time.Duration `json:"wait"`
		// Note asks the caller to record the use in the token's list.
		Note bool `json:"note,omitempty"`
	}
)

var tokenKind = grain.NewKind[*token](kindToken, 3, 5*time.Minute)

// The methods of the token actor.
var (
	tokenCreate = grain.On(tokenKind, "create", (*token).onCreate)
	tokenUse    = grain.On(tokenKind, "use", (*token).onUse, grain.Repeatable)
	tokenRevoke = grain.On(tokenKind, "revoke", (*token).onRevoke)
	_           = grain.On(tokenKind, "wake", (*token).onWake, grain.Repeatable)
)

var _ grain.Creator = (*token)(nil)

// Creates reports whether a message creates the token: its identity is the hash of a new secret, so
// nothing can be stored under it.
func (t *token) Creates(method string, _ []byte) bool { return method == tokenCreate.Name() }

// Admit refuses methods that need a token if there is no token.
func (t *token) Admit(_ time.Time, method string) error {
	if t.token == nil && method != "create" && method != cluster.WakeMethod {
		return domain.Errorf(domain.CodeUnauthorized, "The token is unknown, revoked or expired.")
	}
	return nil
}

func (t *token) Restore(entities []domain.Entity) error {
	t.token = nil
	for _, entity := range entities {
		if entity.Kind != "token" {
			continue
		}
		record, err := grain.Decode[tokenRecord](entity)
		if err != nil {
			return err
		}
		t.token = &record
	}
	return nil
}

func (t *token) onCreate(_ time.Time, m createToken) (grain.Outcome[grain.None], error) {
	record := m.Token
	if t.token != nil && t.token.ID == record.ID {
		return grain.Again(grain.None{}), nil
	}
	t.token = &record
	result := grain.Answer(grain.None{}, grain.Put("token", record.ID, record))
	if record.ExpiresAt != nil {
		result.Wakeups = []domain.Wakeup{{Kind: kindToken, Identity: t.identity, Name: "expire", Due: *record.ExpiresAt}}
	}
	return result, nil
}

// onUse judges one request: the token must be live, and the limit of the class
// not used up.
func (t *token) onUse(now time.Time, m useToken) (grain.Outcome[standing], error) {
	if live := t.token.token(); !live.Live(now) {
		return grain.Outcome[standing]{}, domain.Errorf(domain.CodeUnauthorized, "The token is unknown, revoked or expired.")
	}
	rate, wait := t.meter.Take(now, m.Class, t.limits.of(m.Class))
	answer := standing{Token: *t.token, Rate: rate, Wait: wait}
	listed := t.token.Kind == domain.TokenPersonal || t.token.Kind == domain.TokenOrganization || t.token.Kind == domain.TokenConsole
	if listed && wait == 0 && now.Sub(t.noted) >= domain.UseGrain {
		t.noted, answer.Note = now, true
	}
	return grain.Answer(answer), nil
}

func (t *token) onRevoke(now time.Time, _ grain.None) (grain.Outcome[grain.None], error) {
	if t.token.RevokedAt != nil {
		return grain.Outcome[grain.None]{}, domain.NotFound("token")
	}
	if kind := t.token.Kind; kind == domain.TokenAssistant || kind == domain.TokenConsole || kind == domain.TokenLink {
		// Nothing of such a token is retained.
		id := t.token.ID
		t.token = nil
		return grain.Outcome[grain.None]{Answer: grain.None{}, Effects: grain.Effects{Writes: []grain.Write{grain.Delete("token", id)}, Wakeups: t.noWakeup()}}, nil
	}
	t.token.RevokedAt = &now
	return grain.Outcome[grain.None]{Answer: grain.None{}, Effects: grain.Effects{Writes: []grain.Write{grain.Put("token", t.token.ID, *t.token)}, Wakeups: t.noWakeup()}}, nil
}

// onWake removes the record of an expired token. A wake-up without a token is left from a removal that a crash
// interrupted; it is removed again.
func (t *token) onWake(now time.Time, _ string) (grain.Outcome[grain.None], error) {
	if t.token == nil {
		return grain.Outcome[grain.None]{Answer: grain.None{}, Effects: grain.Effects{Writes: []grain.Write{grain.Delete("token", "expired")}, Wakeups: t.noWakeup()}}, nil
	}
	if live := t.token.token(); live.Live(now) {
		return grain.Answer(grain.None{}), nil
	}
	id := t.token.ID
	result := grain.Outcome[grain.None]{Answer: grain.None{}, Effects: grain.Effects{Writes: []grain.Write{grain.Delete("token", id)}, Wakeups: t.noWakeup()}}
	t.token = nil
	return result, nil
}

// noWakeup removes the wake-up of the expiry.
func (t *token) noWakeup() []domain.Wakeup {
	return []domain.Wakeup{{Kind: kindToken, Identity: t.identity, Name: "expire"}}
}
