package identity

import (
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
)

func TestTokenLife(t *testing.T) {
	ends := actorstest.At(time.Hour)
	record := testTokenRecord("tok_1", actorstest.Ada(), &ends)
	endless := testTokenRecord("tok_1", actorstest.Ada(), nil)
	dead := domain.Errorf(domain.CodeUnauthorized, "The token is unknown, revoked or expired.")
	unlimited := domain.RateState{Class: domain.RateDefault, Window: time.Minute}
	expiry := []domain.Wakeup{{Kind: "token", Identity: "hash-tok_1", Name: "expire", Due: ends}}
	noExpiry := []domain.Wakeup{{Kind: "token", Identity: "hash-tok_1", Name: "expire"}}
	revoked := func(record tokenRecord, after time.Duration) tokenRecord {
		when := actorstest.At(after)
		record.RevokedAt = &when
		return record
	}
	remove := grain.Outcome[any]{Answer: grain.None{}, Effects: grain.Effects{Writes: []grain.Write{grain.Delete("token", "tok_1")}, Wakeups: noExpiry}}
	use := func(name string, after time.Duration, record tokenRecord) actorstest.Step {
		return actorstest.Step{Name: name, After: after, Method: "use", Message: useToken{domain.RateDefault}, Want: grain.Answer[any](standing{Token: record, Rate: unlimited})}
	}
	refused := func(name string, after time.Duration) actorstest.Step {
		return actorstest.Step{Name: name, After: after, Method: "use", Message: useToken{domain.RateDefault}, Err: dead}
	}
	create := actorstest.Step{Name: "create", Method: "create", Message: createToken{record}, Want: grain.Outcome[any]{Answer: grain.None{}, Effects: grain.Effects{Writes: []grain.Write{grain.Put("token", "tok_1", record)}, Wakeups: expiry}}}
	lives := map[string][]actorstest.Step{
		"unknown": {
			refused("use", 0),
			{Name: "revoke", Method: "revoke", Message: grain.None{}, Err: dead},
			{
				Name: "a wake-up that a crash left", Method: "wake", Message: "expire",
				Want: grain.Outcome[any]{Answer: grain.None{}, Effects: grain.Effects{Writes: []grain.Write{grain.Delete("token", "expired")}, Wakeups: noExpiry}},
			},
		},
		"expires": {
			create,
			use("at once", 0, record),
			{Name: "woken too early", After: time.Hour - 1, Method: "wake", Message: "expire", Want: grain.Answer[any](grain.None{})},
			use("at the last instant", time.Hour-1, record),
			refused("at its end", time.Hour),
			{Name: "woken", After: time.Hour, Method: "wake", Message: "expire", Want: remove},
			refused("when it is gone", time.Hour),
			{Name: "revoked when it is gone", After: time.Hour, Method: "revoke", Message: grain.None{}, Err: dead},
		},
		"revoked": {
			create,
			{
				Name: "revoke", After: time.Minute, Method: "revoke", Message: grain.None{},
				Want: grain.Outcome[any]{Answer: grain.None{}, Effects: grain.Effects{Writes: []grain.Write{grain.Put("token", "tok_1", revoked(record, time.Minute))}, Wakeups: noExpiry}},
			},
			refused("use", time.Minute),
			{Name: "revoke twice", After: 2 * time.Minute, Method: "revoke", Message: grain.None{}, Err: domain.NotFound("token")},
			{Name: "woken all the same", After: 2 * time.Minute, Method: "wake", Message: "expire", Want: remove},
		},
		"endless": {
			{Name: "create", Method: "create", Message: createToken{endless}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_1", endless))},
			use("after a century", 100*365*24*time.Hour, endless),
			{Name: "woken without reason", After: time.Hour, Method: "wake", Message: "expire", Want: grain.Answer[any](grain.None{})},
			{Name: "unknown method", Method: "nonsense", Message: grain.None{}, Err: errorText(`unknown method "nonsense"`)},
		},
	}
	for name, steps := range lives {
		t.Run(name, func(t *testing.T) {
			actorstest.Play(t, tokenKind, func() *token { return &token{noted: actorstest.At(150 * 365 * 24 * time.Hour), identity: "hash-tok_1"} }, true, steps)
		})
	}
}

// errorText is an error with a text.
type errorText string

func (e errorText) Error() string { return string(e) }

// TestANewTokenIsNotLookedUp asks the store only if something can be stored.
func TestANewTokenIsNotLookedUp(t *testing.T) {
	for _, method := range tokenKind.Methods() {
		if got := new(token).Creates(method, nil); got != (method == "create") {
			t.Errorf("%s creates a token: %t", method, got)
		}
	}
}

// TestTokenLimits makes requests of two classes with 6 and 2 per minute. Each class
// has a burst of a minute's quota and refills evenly, and a refusal costs nothing.
func TestTokenLimits(t *testing.T) {
	record := testTokenRecord("tok_1", actorstest.Ada(), nil)
	type take struct {
		after     time.Duration
		class     domain.RateClass
		remaining int
		reset     time.Duration
		wait      time.Duration
	}
	const s = time.Second
	tests := map[string]struct {
		limits Limits
		takes  []take
	}{
		"burst": {Limits{Default: 6}, []take{
			{0, domain.RateDefault, 5, 10 * s, 0},
			{0, domain.RateDefault, 4, 20 * s, 0},
			{0, domain.RateDefault, 3, 30 * s, 0},
			{0, domain.RateDefault, 2, 40 * s, 0},
			{0, domain.RateDefault, 1, 50 * s, 0},
			{0, domain.RateDefault, 0, 60 * s, 0},
			{0, domain.RateDefault, 0, 60 * s, 10 * s},
			{0, domain.RateDefault, 0, 60 * s, 10 * s},
			{4 * s, domain.RateDefault, 0, 56 * s, 6 * s},
			{10*s - 1, domain.RateDefault, 0, 50*s + 1, 1},
		}},
		"refill": {Limits{Query: 2}, []take{
			{0, domain.RateQuery, 1, 30 * s, 0},
			{0, domain.RateQuery, 0, 60 * s, 0},
			{0, domain.RateQuery, 0, 60 * s, 30 * s},
			{30 * s, domain.RateQuery, 0, 60 * s, 0},
			{30 * s, domain.RateQuery, 0, 60 * s, 30 * s},
			{90 * s, domain.RateQuery, 1, 30 * s, 0},
			{time.Hour, domain.RateQuery, 1, 30 * s, 0},
			{time.Hour, domain.RateQuery, 0, 60 * s, 0},
			{time.Hour, domain.RateQuery, 0, 60 * s, 30 * s},
		}},
		"two classes": {Limits{Default: 6, Query: 2}, []take{
			{0, domain.RateQuery, 1, 30 * s, 0},
			{0, domain.RateQuery, 0, 60 * s, 0},
			{0, domain.RateQuery, 0, 60 * s, 30 * s},
			{0, domain.RateDefault, 5, 10 * s, 0},
			{0, domain.RateDefault, 4, 20 * s, 0},
			{30 * s, domain.RateQuery, 0, 60 * s, 0},
			{30 * s, domain.RateDefault, 5, 10 * s, 0},
		}},
		"off": {Limits{}, []take{
			{0, domain.RateDefault, 0, 0, 0}, {0, domain.RateDefault, 0, 0, 0}, {0, domain.RateQuery, 0, 0, 0}, {0, domain.RateQuery, 0, 0, 0},
		}},
		"a route without a class": {Limits{Default: 1, Query: 1}, []take{
			{0, domain.RateNone, 1, 0, 0}, {0, domain.RateNone, 1, 0, 0}, {0, domain.RateNone, 1, 0, 0},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			steps := []actorstest.Step{{Name: "create", Method: "create", Message: createToken{record}, Want: grain.Answer[any](grain.None{}, grain.Put("token", "tok_1", record))}}
			for _, take := range test.takes {
				rate := domain.RateState{Class: take.class, Quota: test.limits.of(take.class), Window: time.Minute, Remaining: take.remaining, Reset: take.reset}
				steps = append(steps, actorstest.Step{
					Name: string(take.class), After: take.after, Method: "use", Message: useToken{take.class},
					Want: grain.Answer[any](standing{Token: record, Rate: rate, Wait: take.wait}),
				})
			}
			actorstest.Play(t, tokenKind, func() *token {
				return &token{noted: actorstest.At(150 * 365 * 24 * time.Hour), identity: "hash-tok_1", limits: test.limits}
			}, false, steps)
		})
	}
}

// TestLimitsSurviveAReload restores a token, as after a failed save. That must not refill its limit.
func TestLimitsSurviveAReload(t *testing.T) {
	record := testTokenRecord("tok_1", actorstest.Ada(), nil)
	stored := map[string]domain.Entity{}
	actorstest.Keep(t, stored, []grain.Write{grain.Put("token", "tok_1", record)})
	c := &token{limits: Limits{Default: 1}}
	actorstest.Restored(t, c, stored)
	for n, want := range []time.Duration{0, time.Minute} {
		got, err := c.onUse(actorstest.Epoch(), useToken{domain.RateDefault})
		if err != nil || got.Answer.Wait != want {
			t.Errorf("use %d: %+v, %v; want a wait of %s", n, got.Answer, err, want)
		}
		actorstest.Restored(t, c, stored)
	}
}

// TestTheUseOfATokenIsNotedSeldom checks when onUse asks for a note: at the first use and every UseGrain, for listed
// tokens, and not for refused requests.
func TestTheUseOfATokenIsNotedSeldom(t *testing.T) {
	for kind, listed := range map[domain.TokenKind]bool{
		domain.TokenPersonal: true, domain.TokenOrganization: true, domain.TokenAssistant: false, domain.TokenConsole: true,
	} {
		record := testTokenRecord("tok_1", actorstest.Ada(), nil)
		record.Kind = kind
		stored := map[string]domain.Entity{}
		actorstest.Keep(t, stored, []grain.Write{grain.Put("token", "tok_1", record)})
		c := &token{limits: Limits{Default: 1}}
		actorstest.Restored(t, c, stored)
		for _, use := range []struct {
			after time.Duration
			note  bool
		}{{0, true}, {time.Second, false}, {2 * time.Minute, false}, {domain.UseGrain, true}, {domain.UseGrain + 1, false}, {3 * domain.UseGrain, true}} {
			got, err := c.onUse(actorstest.At(use.after), useToken{domain.RateDefault})
			if err != nil || got.Answer.Note != (use.note && listed) || len(got.Writes) > 0 {
				t.Errorf("%s after %s: %+v, %v; want a note %v", kind, use.after, got, err, use.note && listed)
			}
		}
	}
}
