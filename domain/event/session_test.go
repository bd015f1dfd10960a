package event

import (
	"math/rand/v2"
	"testing"
)

func TestSessionCovers(t *testing.T) {
	session := Session{First: 1_000_000_000, Last: 1_000_060_000}
	tests := map[string]struct {
		ts   int64
		want bool
	}{
		"exactly the gap before":  {session.First - SessionGap, true},
		"one more before":         {session.First - SessionGap - 1, false},
		"at the first":            {session.First, true},
		"inside":                  {session.First + 1, true},
		"at the last":             {session.Last, true},
		"exactly the gap after":   {session.Last + SessionGap, true},
		"one more after":          {session.Last + SessionGap + 1, false},
		"a day later, and before": {session.Last + 24*60*60*1000, false},
	}
	for name, test := range tests {
		if got := session.Covers(test.ts); got != test.want {
			t.Errorf("%s: Covers(%d) = %v, want %v", name, test.ts, got, test.want)
		}
	}
}

func TestSessionAdd(t *testing.T) {
	view := func(ts int64) SessionStep { return SessionStep{TsMs: ts, Pageview: true} }
	deed := func(ts int64) SessionStep { return SessionStep{TsMs: ts, Interactive: true} }
	engaged := func(ts, ms int64) SessionStep { return SessionStep{TsMs: ts, EngagedMs: ms} }
	type added struct {
		step  SessionStep
		delta SessionDelta
	}
	tests := map[string]struct {
		steps []added
		want  Session
	}{
		"one page view bounces":  {[]added{{step: view(100), delta: SessionDelta{1, 0}}}, Session{Started: 100, First: 100, Last: 100, Deeds: OnePageview}},
		"two do not":             {[]added{{step: view(100), delta: SessionDelta{1, 0}}, {step: view(300), delta: SessionDelta{-1, 200}}}, Session{Started: 100, First: 100, Last: 300, Deeds: OnePageview | MorePageviews}},
		"three do not either":    {[]added{{step: view(100), delta: SessionDelta{1, 0}}, {step: view(100), delta: SessionDelta{-1, 0}}, {step: view(100), delta: SessionDelta{0, 0}}}, Session{Started: 100, First: 100, Last: 100, Deeds: OnePageview | MorePageviews}},
		"a deed ends the bounce": {[]added{{step: view(100), delta: SessionDelta{1, 0}}, {step: deed(150), delta: SessionDelta{-1, 50}}}, Session{Started: 100, First: 100, Last: 150, Deeds: OnePageview | Interaction}},
		"a deed alone":           {[]added{{step: deed(100), delta: SessionDelta{0, 0}}, {step: view(50), delta: SessionDelta{0, 50}}}, Session{Started: 100, First: 50, Last: 100, Deeds: OnePageview | Interaction}},
		"an earlier event keeps the start": {
			[]added{{step: view(100), delta: SessionDelta{1, 0}}, {step: view(40), delta: SessionDelta{-1, 60}}, {step: view(70), delta: SessionDelta{0, 0}}},
			Session{Started: 100, First: 40, Last: 100, Deeds: OnePageview | MorePageviews},
		},
		"just less than ten seconds still bounce": {
			[]added{{step: view(100), delta: SessionDelta{1, 0}}, {step: engaged(200, BounceEngagement-1), delta: SessionDelta{0, BounceEngagement - 1}}},
			Session{Started: 100, First: 100, Last: 200, Deeds: OnePageview, EngagedMs: BounceEngagement - 1},
		},
		"ten seconds do not": {
			[]added{{step: view(100), delta: SessionDelta{1, 0}}, {step: engaged(200, BounceEngagement), delta: SessionDelta{-1, BounceEngagement}}},
			Session{Started: 100, First: 100, Last: 200, Deeds: OnePageview, EngagedMs: BounceEngagement},
		},
		"engagement replaces a longer span": {
			[]added{{step: view(0), delta: SessionDelta{1, 0}}, {step: view(60_000), delta: SessionDelta{-1, 60_000}}, {step: engaged(60_000, 5_000), delta: SessionDelta{0, -55_000}}, {step: view(90_000), delta: SessionDelta{0, 0}}},
			Session{Started: 0, First: 0, Last: 90_000, Deeds: OnePageview | MorePageviews, EngagedMs: 5_000},
		},
		"what is neither changes the span only": {
			[]added{{step: view(100), delta: SessionDelta{1, 0}}, {step: SessionStep{TsMs: 400}, delta: SessionDelta{0, 300}}},
			Session{Started: 100, First: 100, Last: 400, Deeds: OnePageview},
		},
		"a page view is no deed": {
			[]added{{step: SessionStep{TsMs: 100, Pageview: true, Interactive: true}, delta: SessionDelta{1, 0}}},
			Session{Started: 100, First: 100, Last: 100, Deeds: OnePageview},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			first := test.steps[0].step.TsMs
			session := Session{Started: first, First: first, Last: first}
			for n, step := range test.steps {
				if got := session.Add(step.step); got != step.delta {
					t.Errorf("step %d: the delta is %+v, want %+v", n, got, step.delta)
				}
			}
			if session != test.want {
				t.Errorf("the session is %+v, want %+v", session, test.want)
			}
		})
	}
}

// TestSessionDoesNotDependOnTheOrder adds the same events in many orders: the sums of the deltas equal the session's
// figures each time.
func TestSessionDoesNotDependOnTheOrder(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 2))
		steps := make([]SessionStep, 1+rng.IntN(6))
		for n := range steps {
			steps[n] = SessionStep{TsMs: int64(rng.IntN(100_000)), Pageview: rng.IntN(2) == 0, Interactive: rng.IntN(3) == 0, EngagedMs: int64(max(0, rng.IntN(9000)-4000))}
		}
		var wantBounces, wantDuration int64
		for order := range 20 {
			session := Session{Started: steps[0].TsMs, First: steps[0].TsMs, Last: steps[0].TsMs}
			var bounces, duration int64
			for _, step := range steps {
				delta := session.Add(step)
				bounces, duration = bounces+int64(delta.Bounce), duration+delta.DurationMs
			}
			if duration != session.DurationMs() || bounces != int64(session.bounce()) {
				t.Fatalf("seed %d: the sums are %d and %d, want %d and %d", seed, bounces, duration, session.bounce(), session.DurationMs())
			}
			if order == 0 {
				wantBounces, wantDuration = bounces, duration
			}
			if bounces != wantBounces || duration != wantDuration {
				t.Fatalf("seed %d: another order sums to %d and %d, want %d and %d", seed, bounces, duration, wantBounces, wantDuration)
			}
			rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		}
	}
}
