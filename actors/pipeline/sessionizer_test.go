package pipeline

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"svc/domain/event"
	"svc/protos"
)

const minute = int64(60 * 1000)

// arrival is one event and its expected session.
type arrival struct {
	name    string
	session string // as the client names it
	ts      int64  // milliseconds
	kind    string
	engaged int64

	id       string
	started  int64
	bounce   int8
	duration int64
}

func stepOf(a arrival) event.SessionStep {
	return event.SessionStep{TsMs: a.ts, Pageview: event.IsPageview(a.kind), Interactive: event.IsInteractive(a.kind), Identity: event.IsIdentity(a.kind), EngagedMs: a.engaged}
}

func TestSessionizer(t *testing.T) {
	const view, click, ping = event.PageView, "click", event.EngagementName
	own := func(started int64) string { return sessionID(7, started) }
	base := int64(1_000_000_000)
	at := func(minutes int64) int64 { return base + minutes*minute }
	tests := map[string][]arrival{
		"in order": {
			{"first", "", at(0), view, 0, own(at(0)), at(0), 1, 0},
			{"second", "", at(10), view, 0, own(at(0)), at(0), -1, 10 * minute},
			{"third", "", at(40), click, 0, own(at(0)), at(0), 0, 30 * minute},
		},
		"a gap of exactly 30 minutes belongs": {
			{"first", "", at(0), view, 0, own(at(0)), at(0), 1, 0},
			{"on the gap", "", at(30), view, 0, own(at(0)), at(0), -1, 30 * minute},
		},
		"one millisecond more does not": {
			{"first", "", at(0), view, 0, own(at(0)), at(0), 1, 0},
			{"behind the gap", "", at(30) + 1, view, 0, own(at(30) + 1), at(30) + 1, 1, 0},
		},
		"late within the gap": {
			{"first", "", at(30), view, 0, own(at(30)), at(30), 1, 0},
			{"earlier", "", at(0), view, 0, own(at(30)), at(30), -1, 30 * minute},
			{"between", "", at(20), view, 0, own(at(30)), at(30), 0, 0},
		},
		"late beyond the gap": {
			{"first", "", at(31), view, 0, own(at(31)), at(31), 1, 0},
			{"too early", "", at(0), view, 0, own(at(0)), at(0), 1, 0},
			{"the early one's", "", at(-5), view, 0, own(at(0)), at(0), -1, 5 * minute},
			{"the late one's", "", at(40), view, 0, own(at(31)), at(31), -1, 9 * minute},
		},
		"an event that bridges two sessions joins the later": {
			{"one", "", at(0), view, 0, own(at(0)), at(0), 1, 0},
			{"two", "", at(50), view, 0, own(at(50)), at(50), 1, 0},
			{"bridge", "", at(25), view, 0, own(at(50)), at(50), -1, 25 * minute},
			{"after two", "", at(60), click, 0, own(at(50)), at(50), 0, 10 * minute},
			{"before one", "", at(-10), click, 0, own(at(0)), at(0), -1, 10 * minute},
		},
		"the client names its sessions": {
			{"named", "c1", at(0), view, 0, "c1", at(0), 1, 0},
			{"another", "c2", at(1), view, 0, "c2", at(1), 1, 0},
			{"the first, hours later", "c1", at(300), view, 0, "c1", at(0), -1, 300 * minute},
			{"unnamed joins the latest that covers it", "", at(5), view, 0, "c1", at(0), 0, 0},
			{"unnamed covered by nobody", "", at(400), view, 0, own(at(400)), at(400), 1, 0},
			{"a name beside a covering session", "c3", at(401), view, 0, "c3", at(401), 1, 0},
		},
		"a bounce ends": {
			{"a page view", "", at(0), view, 0, own(at(0)), at(0), 1, 0},
			{"is not ended by identifying", "", at(1), event.IdentifyEvent, 0, own(at(0)), at(0), 0, minute},
			{"nor by a short stay", "", at(1), ping, 9_999, own(at(0)), at(0), 0, 9_999 - minute},
			{"but by ten seconds", "", at(1), ping, 1, own(at(0)), at(0), -1, 1},
		},
		"a bounce begins late": {
			{"an engagement", "", at(0), ping, 0, own(at(0)), at(0), 0, 0},
			{"a page view", "", at(0), view, 0, own(at(0)), at(0), 1, 0},
			{"a click", "", at(0), click, 0, own(at(0)), at(0), -1, 0},
		},
		"a click before the page view is no bounce": {
			{"a click", "", at(0), click, 0, own(at(0)), at(0), 0, 0},
			{"a page view", "", at(0), view, 0, own(at(0)), at(0), 0, 0},
		},
		"engaged time replaces the span": {
			{"first", "", at(0), view, 0, own(at(0)), at(0), 1, 0},
			{"second", "", at(20), view, 0, own(at(0)), at(0), -1, 20 * minute},
			{"engaged", "", at(20), ping, 15_000, own(at(0)), at(0), 0, 15_000 - 20*minute},
			{"more", "", at(25), ping, 5_000, own(at(0)), at(0), 0, 5_000},
		},
		"many sessions at a time": {
			{"1", "c1", at(0), view, 0, "c1", at(0), 1, 0},
			{"2", "c2", at(0), view, 0, "c2", at(0), 1, 0},
			{"3", "c3", at(0), view, 0, "c3", at(0), 1, 0},
			{"4", "c4", at(0), view, 0, "c4", at(0), 1, 0},
			{"5", "c5", at(0), view, 0, "c5", at(0), 1, 0},
			{"1 again", "c1", at(1), view, 0, "c1", at(0), -1, minute},
			{"2 again", "c2", at(1), view, 0, "c2", at(0), -1, minute},
			{"5 again", "c5", at(1), view, 0, "c5", at(0), -1, minute},
		},
		"a history that arrives late leaves the present session alone": {
			{"now", "", at(1000), view, 0, own(at(1000)), at(1000), 1, 0},
			{"1", "", at(0), view, 0, own(at(0)), at(0), 1, 0},
			{"2", "", at(100), view, 0, own(at(100)), at(100), 1, 0},
			{"3", "", at(200), view, 0, own(at(200)), at(200), 1, 0},
			{"4", "", at(300), view, 0, own(at(300)), at(300), 1, 0},
			{"5", "", at(400), view, 0, own(at(400)), at(400), 1, 0},
			{"now again", "", at(1005), view, 0, own(at(1000)), at(1000), -1, 5 * minute},
		},
	}
	for name, arrivals := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSessionizer()
			for _, a := range arrivals {
				got := s.add(&arrived{thread: 7, session: a.session, receivedMs: base, step: stepOf(a)})
				want := event.SessionDelta{Bounce: a.bounce, DurationMs: a.duration}
				if got.id != a.id || got.started != a.started || got.delta != want {
					t.Errorf("%s: got %+v, want %+v", a.name, got, a)
				}
			}
		})
	}
}

func TestSessionIDsNameVisitorAndBeginning(t *testing.T) {
	tests := map[string]struct {
		visitor uint64
		started int64
		want    string
	}{
		"zero":     {0, 0, "ses_0_0"},
		"ordinary": {35, 1_700_000_000_000, "ses_z_loyw3v28"},
		"largest":  {1<<64 - 1, 1<<63 - 1, "ses_3w5e11264sgsf_1y2p0ij32e8e7"},
		"negative": {1, -1, "ses_1_-1"},
	}
	for name, test := range tests {
		if got := sessionID(test.visitor, test.started); got != test.want {
			t.Errorf("%s: sessionID(%d, %d) = %s, want %s", name, test.visitor, test.started, got, test.want)
		}
	}
}

// TestVisitorsAreKeptForTheGap lets time pass: a session is known for exactly openTime after the last event arrived, at
// any position of the turns.
func TestVisitorsAreKeptForTheGap(t *testing.T) {
	for _, quiet := range []struct {
		ms    int64
		known bool
	}{{0, true}, {openTime - 1, true}, {openTime, true}, {openTime + 1, false}, {2*openTime + 1, false}} {
		// The events of another visitor turn the generations every minute.
		for offset := int64(0); offset < openTime; offset += 7 * minute {
			s := newSessionizer()
			view := event.SessionStep{TsMs: 1, Pageview: true}
			begin := int64(10*openTime) + offset
			for now := int64(10 * openTime); now < begin; now += minute {
				s.add(&arrived{thread: 1, receivedMs: now, step: view})
			}
			first := s.add(&arrived{thread: 2, receivedMs: begin, step: view})
			for now := begin; now < begin+quiet.ms; now += minute {
				s.add(&arrived{thread: 1, receivedMs: now, step: view})
			}
			again := s.add(&arrived{thread: 2, receivedMs: begin + quiet.ms, step: event.SessionStep{TsMs: 2, Pageview: true}})
			if known := again.id == first.id; known != quiet.known {
				t.Errorf("after %d ms at offset %d: known is %v, want %v", quiet.ms, offset, known, quiet.known)
			}
			if held := len(s.newest.threads) + len(s.previous.threads); held > 4 {
				t.Errorf("%d visitors are held, want at most 4", held)
			}
		}
	}
}

// TestSumsOfDeltasAreRight adds events in random orders and recomputes every session from its events.
func TestSumsOfDeltasAreRight(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := newSessionizer()
		engaged := seed%2 == 0
		type sums struct {
			bounces, views, deeds   int
			duration, first, last   int64
			engagedMs, startedAtAll int64
		}
		sessions := map[string]*sums{}
		for range 400 {
			visitor := uint64(rng.IntN(5))
			a := arrival{ts: int64(rng.IntN(int(12 * 60 * minute))), kind: []string{event.PageView, event.PageView, "click", event.EngagementName}[rng.IntN(4)]}
			if rng.IntN(4) == 0 {
				a.session = fmt.Sprintf("c%d-%d", visitor, rng.IntN(8))
			}
			if engaged && rng.IntN(5) == 0 {
				a.engaged = int64(rng.IntN(8000))
			}
			step := stepOf(a)
			got := s.add(&arrived{thread: visitor, session: a.session, receivedMs: 1, step: step})
			key := fmt.Sprintf("%d %s", visitor, got.id)
			sum := sessions[key]
			if sum == nil {
				sum = &sums{first: a.ts, last: a.ts, startedAtAll: a.ts}
				sessions[key] = sum
			}
			if got.started != sum.startedAtAll {
				t.Fatalf("seed %d: %s began at %d and now at %d", seed, key, sum.startedAtAll, got.started)
			}
			sum.first, sum.last, sum.engagedMs = min(sum.first, a.ts), max(sum.last, a.ts), sum.engagedMs+a.engaged
			if step.Pageview {
				sum.views++
			} else if step.Interactive {
				sum.deeds++
			}
			sum.bounces += int(got.delta.Bounce)
			sum.duration += got.delta.DurationMs
		}
		for key, sum := range sessions {
			bounces, duration := 0, sum.last-sum.first
			if sum.views == 1 && sum.deeds == 0 && sum.engagedMs < event.BounceEngagement {
				bounces = 1
			}
			if sum.engagedMs > 0 {
				duration = sum.engagedMs
			}
			if sum.bounces != bounces || sum.duration != duration {
				t.Errorf("seed %d: %s sums to %d bounces and %d ms, want %d and %d", seed, key, sum.bounces, sum.duration, bounces, duration)
			}
		}
	}
}

// viewed is a page view of the session that the client calls c.
func viewed(visitor uint64, minutes int64) *arrived {
	return &arrived{thread: visitor, session: "c", receivedMs: minutes * minute, step: event.SessionStep{TsMs: minutes * minute, Pageview: true}}
}

// TestGivenUpSessionsAreNotJudgedAgain continues sessions that were silent for longer than openTime, or dropped because
// there were too many, also on a new owner.
func TestGivenUpSessionsAreNotJudgedAgain(t *testing.T) {
	late := int64(openTime)/minute + 1
	s := newSessionizer()
	first := s.add(viewed(1, 0))
	if again := s.add(viewed(1, late)); first.delta.Bounce != 1 || again.id != "c" || again.delta != (event.SessionDelta{}) || again.state.Deeds != event.OnePageview|event.Resumed {
		t.Errorf("after silence: %+v, then %+v", first, again)
	}
	if next := s.add(viewed(1, late+1)); next.started != late*minute || next.delta != (event.SessionDelta{}) {
		t.Errorf("the resumed session goes on with %+v", next)
	}
	full := newSessionizer()
	full.limit = 10
	for n := range 30 {
		full.add(viewed(uint64(n), 1))
	}
	if again := full.add(viewed(0, 2)); again.delta != (event.SessionDelta{}) {
		t.Errorf("one that fell out goes on with %+v", again)
	}
	if held := len(full.newest.sessions) + len(full.previous.sessions); held > 21 {
		t.Errorf("%d sessions are held, want at most twice the limit", held)
	}
	owner := newSessionizer()
	owner.restoreEnded(event.SessionName{Thread: 1, Hash: protos.SessionHash("c")})
	if again := owner.add(viewed(1, 1)); again.delta != (event.SessionDelta{}) {
		t.Errorf("a new owner adds %+v", again)
	}
	if bot := owner.add(&arrived{thread: 1, bot: true, session: "c", receivedMs: minute, step: event.SessionStep{TsMs: minute, Pageview: true}}); bot.delta.Bounce != 1 {
		t.Errorf("the bot's session adds %+v", bot)
	}
}

// TestRestoredSessionsGoOn restores sessions as the store yields them, in parts and in any order. It compares the
// result with a sessionizer that has run all the time.
func TestRestoredSessionsGoOn(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 4))
		random := func(n int) *arrived {
			event := &arrived{
				thread: uint64(rng.IntN(3)), bot: rng.IntN(4) == 0, session: []string{"", "a", "b", "c"}[rng.IntN(4)], receivedMs: int64(n) * minute,
				step:   event.SessionStep{TsMs: int64(n-rng.IntN(200)) * minute, Pageview: rng.IntN(2) == 0, Interactive: rng.IntN(3) == 0, EngagedMs: int64(rng.IntN(2) * 3000)},
				origin: event.Origin{Referrer: fmt.Sprint(n), Attribution: event.Attribution{Source: "s", Medium: "m"}},
			}
			return event
		}
		there, rows := newSessionizer(), []event.OpenSession{}
		const before = 120
		for n := range before {
			e := random(n)
			got := there.add(e)
			rows = append(rows, event.OpenSession{
				Session: event.Session{
					ID: got.id, Started: got.started, First: got.started - got.state.BeforeMs, Last: e.step.TsMs + got.state.AfterMs,
					EngagedMs: got.state.EngagedMs, Deeds: got.state.Deeds,
				},
				SessionName: event.SessionName{Thread: e.thread, Bot: e.bot, Number: got.number},
				Origin:      got.origin, HeardMs: e.receivedMs, Counted: cmp.Or(got.guest, e.visitor), Known: e.known, Device: e.device,
			})
		}
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		fresh := newSessionizer()
		open := map[sessionKey]bool{}
		for _, row := range rows {
			fresh.Restore(row)
			if row.HeardMs >= (before-1)*minute-2*openTime {
				open[keyOfStored(&row.SessionName)] = true
			}
		}
		if fresh.restored((before - 1) * minute); len(fresh.newest.sessions) != len(open) {
			t.Fatalf("seed %d: %d sessions are held, want the %d that were heard of lately", seed, len(fresh.newest.sessions), len(open))
		}
		for n := range 60 {
			event := random(before + n)
			if got, want := fresh.add(event), there.add(event); got != want {
				t.Fatalf("seed %d, event %d:\n got %+v\nwant %+v", seed, n, got, want)
			}
		}
	}
}

// TestAVisitHasOneOrigin checks that long texts are cut, that no memory of the record is retained, and that all events
// of a visit have the origin of the first.
func TestAVisitHasOneOrigin(t *testing.T) {
	s := newSessionizer()
	first := viewed(1, 0)
	first.origin = event.Origin{Referrer: strings.Repeat("r", 5000), Attribution: event.Attribution{Source: strings.Repeat("ü", 200), Medium: "m", ClickIDs: event.ClickIDs{GCLID: strings.Repeat("g", 600)}}}
	want := event.Origin{Referrer: strings.Repeat("r", 1024), Attribution: event.Attribution{Source: strings.Repeat("ü", 100), Medium: "m", ClickIDs: event.ClickIDs{GCLID: strings.Repeat("g", 512)}}}
	second := viewed(1, 1)
	second.origin = event.Origin{Attribution: event.Attribution{Source: "other"}}
	for _, event := range []*arrived{first, second} {
		if got := s.add(event).origin; got != want {
			t.Errorf("got %+v", got)
		}
	}
}
