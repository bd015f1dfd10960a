package actors

import (
	"testing"
	"time"

	"svc"
)

func TestTokenLife(t *testing.T) {
	ends := at(time.Hour)
	record := testTokenRecord("tok_1", ada(), &ends)
	endless := testTokenRecord("tok_1", ada(), nil)
	dead := svc.Errorf(svc.CodeUnauthorized, "The token is unknown, revoked or expired.")
	unlimited := svc.RateState{Class: svc.RateDefault, Window: time.Minute}
	expiry := []svc.Wakeup{{Kind: "token", Identity: "hash-tok_1", Name: "expire", Due: ends}}
	noExpiry := []svc.Wakeup{{Kind: "token", Identity: "hash-tok_1", Name: "expire"}}
	revoked := func(record tokenRecord, after time.Duration) tokenRecord {
		when := at(after)
		record.RevokedAt = &when
		return record
	}
	remove := outcome{answer: none{}, writes: []write{{"token", "tok_1", nil}}, wakeups: noExpiry}
	use := func(name string, after time.Duration, record tokenRecord) step {
		return step{name: name, after: after, method: "use", message: useToken{svc.RateDefault}, want: outcome{answer: standing{Token: record, Rate: unlimited}}}
	}
	refused := func(name string, after time.Duration) step {
		return step{name: name, after: after, method: "use", message: useToken{svc.RateDefault}, err: dead}
	}
	create := step{name: "create", method: "create", message: createToken{record}, want: outcome{answer: none{}, writes: []write{{"token", "tok_1", record}}, wakeups: expiry}}
	lives := map[string][]step{
		"unknown": {
			refused("use", 0),
			{name: "revoke", method: "revoke", message: none{}, err: dead},
			{
				name: "a wake-up that a crash left", method: "wake", message: "expire",
				want: outcome{answer: none{}, writes: []write{{"token", "expired", nil}}, wakeups: noExpiry},
			},
		},
		"expires": {
			create,
			use("at once", 0, record),
			{name: "woken too early", after: time.Hour - 1, method: "wake", message: "expire", want: outcome{answer: none{}}},
			use("at the last instant", time.Hour-1, record),
			refused("at its end", time.Hour),
			{name: "woken", after: time.Hour, method: "wake", message: "expire", want: remove},
			refused("when it is gone", time.Hour),
			{name: "revoked when it is gone", after: time.Hour, method: "revoke", message: none{}, err: dead},
		},
		"revoked": {
			create,
			{
				name: "revoke", after: time.Minute, method: "revoke", message: none{},
				want: outcome{answer: none{}, writes: []write{{"token", "tok_1", revoked(record, time.Minute)}}, wakeups: noExpiry},
			},
			refused("use", time.Minute),
			{name: "revoke twice", after: 2 * time.Minute, method: "revoke", message: none{}, err: svc.NotFound("token")},
			{name: "woken all the same", after: 2 * time.Minute, method: "wake", message: "expire", want: remove},
		},
		"endless": {
			{name: "create", method: "create", message: createToken{endless}, want: outcome{answer: none{}, writes: []write{{"token", "tok_1", endless}}}},
			use("after a century", 100*365*24*time.Hour, endless),
			{name: "woken without reason", after: time.Hour, method: "wake", message: "expire", want: outcome{answer: none{}}},
			{name: "unknown method", method: "nonsense", message: none{}, err: errorText(`unknown method "nonsense"`)},
		},
	}
	for name, steps := range lives {
		t.Run(name, func(t *testing.T) {
			play(t, func() core { return &token{noted: at(150 * 365 * 24 * time.Hour), identity: "hash-tok_1"} }, true, steps)
		})
	}
}

// errorText is an error of a text.
type errorText string

func (e errorText) Error() string { return string(e) }

// TestTokenLimits takes requests of two classes of 6 and 2 a minute: each class
// has a burst of a minute's quota, refills evenly, and a refusal costs nothing.
func TestTokenLimits(t *testing.T) {
	record := testTokenRecord("tok_1", ada(), nil)
	type take struct {
		after     time.Duration
		class     svc.RateClass
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
			{0, svc.RateDefault, 5, 10 * s, 0},
			{0, svc.RateDefault, 4, 20 * s, 0},
			{0, svc.RateDefault, 3, 30 * s, 0},
			{0, svc.RateDefault, 2, 40 * s, 0},
			{0, svc.RateDefault, 1, 50 * s, 0},
			{0, svc.RateDefault, 0, 60 * s, 0},
			{0, svc.RateDefault, 0, 60 * s, 10 * s},
			{0, svc.RateDefault, 0, 60 * s, 10 * s},
			{4 * s, svc.RateDefault, 0, 56 * s, 6 * s},
			{10*s - 1, svc.RateDefault, 0, 50*s + 1, 1},
		}},
		"refill": {Limits{Query: 2}, []take{
			{0, svc.RateQuery, 1, 30 * s, 0},
			{0, svc.RateQuery, 0, 60 * s, 0},
			{0, svc.RateQuery, 0, 60 * s, 30 * s},
			{30 * s, svc.RateQuery, 0, 60 * s, 0},
			{30 * s, svc.RateQuery, 0, 60 * s, 30 * s},
			{90 * s, svc.RateQuery, 1, 30 * s, 0},
			{time.Hour, svc.RateQuery, 1, 30 * s, 0},
			{time.Hour, svc.RateQuery, 0, 60 * s, 0},
			{time.Hour, svc.RateQuery, 0, 60 * s, 30 * s},
		}},
		"two classes": {Limits{Default: 6, Query: 2}, []take{
			{0, svc.RateQuery, 1, 30 * s, 0},
			{0, svc.RateQuery, 0, 60 * s, 0},
			{0, svc.RateQuery, 0, 60 * s, 30 * s},
			{0, svc.RateDefault, 5, 10 * s, 0},
			{0, svc.RateDefault, 4, 20 * s, 0},
			{30 * s, svc.RateQuery, 0, 60 * s, 0},
			{30 * s, svc.RateDefault, 5, 10 * s, 0},
		}},
		"off": {Limits{}, []take{
			{0, svc.RateDefault, 0, 0, 0}, {0, svc.RateDefault, 0, 0, 0}, {0, svc.RateQuery, 0, 0, 0}, {0, svc.RateQuery, 0, 0, 0},
		}},
		"a route without a class": {Limits{Default: 1, Query: 1}, []take{
			{0, svc.RateNone, 1, 0, 0}, {0, svc.RateNone, 1, 0, 0}, {0, svc.RateNone, 1, 0, 0},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			steps := []step{{name: "create", method: "create", message: createToken{record}, want: outcome{answer: none{}, writes: []write{{"token", "tok_1", record}}}}}
			for _, take := range test.takes {
				rate := svc.RateState{Class: take.class, Quota: test.limits.of(take.class), Window: time.Minute, Remaining: take.remaining, Reset: take.reset}
				steps = append(steps, step{
					name: string(take.class), after: take.after, method: "use", message: useToken{take.class},
					want: outcome{answer: standing{Token: record, Rate: rate, Wait: take.wait}},
				})
			}
			play(t, func() core {
				return &token{noted: at(150 * 365 * 24 * time.Hour), identity: "hash-tok_1", limits: test.limits}
			}, false, steps)
		})
	}
}

// TestLimitsSurviveAReload restores a token, as after a failed save: that must
// not refill its limit.
func TestLimitsSurviveAReload(t *testing.T) {
	record := testTokenRecord("tok_1", ada(), nil)
	stored := map[string]svc.Entity{}
	store(t, stored, []write{{"token", "tok_1", record}})
	c := &token{limits: Limits{Default: 1}}
	mustRestore(t, c, stored)
	for n, want := range []time.Duration{0, time.Minute} {
		got, err := c.onUse(coreEpoch(), useToken{svc.RateDefault})
		if err != nil || got.answer.(standing).Wait != want {
			t.Errorf("use %d: %+v, %v; want a wait of %s", n, got.answer, err, want)
		}
		mustRestore(t, c, stored)
	}
}

// TestTheUseOfATokenIsNotedSeldom asks for a note at the first use and every UseGrain, of
// tokens that are on a list, and not for refused requests.
func TestTheUseOfATokenIsNotedSeldom(t *testing.T) {
	for kind, listed := range map[svc.TokenKind]bool{
		svc.TokenPersonal: true, svc.TokenOrganization: true, svc.TokenAssistant: false, svc.TokenConsole: false,
	} {
		record := testTokenRecord("tok_1", ada(), nil)
		record.Kind = kind
		stored := map[string]svc.Entity{}
		store(t, stored, []write{{"token", "tok_1", record}})
		c := &token{limits: Limits{Default: 1}}
		mustRestore(t, c, stored)
		for _, use := range []struct {
			after time.Duration
			note  bool
		}{{0, true}, {time.Second, false}, {2 * time.Minute, false}, {svc.UseGrain, true}, {svc.UseGrain + 1, false}, {3 * svc.UseGrain, true}} {
			got, err := c.onUse(at(use.after), useToken{svc.RateDefault})
			if err != nil || got.answer.(standing).Note != (use.note && listed) || len(got.writes) > 0 {
				t.Errorf("%s after %s: %+v, %v; want a note %v", kind, use.after, got, err, use.note && listed)
			}
		}
	}
}
