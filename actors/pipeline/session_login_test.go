package pipeline

import (
	"fmt"
	"slices"
	"testing"

	"svc/domain/event"
	"svc/protos"
)

// visitStep is an event of the login tests, and the visit to which it must belong.
type visitStep struct {
	name                string
	session, anon, user string
	minute              int64
	kind, source        string

	visit, counted, from string
}

// arrivedOf returns an event in the form in which the intake passes it to the sessionizer.
func arrivedOf(step *visitStep) *arrived {
	visitor := event.Visitor(step.user, step.anon)
	return &arrived{
		id: step.name, environment: 7, thread: protos.Thread(7, step.session, step.anon, step.user), session: step.session, receivedMs: step.minute * minute,
		visitor: idNumber(visitor), known: idNumber(step.user), device: idNumber(step.anon),
		step: event.SessionStep{
			TsMs: step.minute * minute, Pageview: event.IsPageview(step.kind), Interactive: event.IsInteractive(step.kind), Identity: event.IsIdentity(step.kind),
		},
		origin: event.Origin{Attribution: event.Attribution{Source: step.source, Medium: "m"}},
	}
}

// TestAVisitSurvivesTheLogin folds logins at every position of a visit. Visits are named by their first event. The
// source of an event that is in no visit yet is empty.
func TestAVisitSurvivesTheLogin(t *testing.T) {
	const view, identify, alias = event.PageView, event.IdentifyEvent, event.AliasEvent
	tests := map[string][]visitStep{
		"one session id": {
			{"page", "s", "a", "", 0, view, "news", "page", "a", "news"},
			{"identify", "s", "a", "u", 1, identify, "direct", "page", "a", "news"},
			{"goal", "s", "", "u", 2, "signup", "direct", "page", "a", "news"},
		},
		"no session id, the device on every item": {
			{"page", "", "a", "", 0, view, "news", "page", "a", "news"},
			{"identify", "", "a", "u", 1, identify, "direct", "page", "a", "news"},
			{"goal", "", "a", "u", 2, "signup", "direct", "page", "a", "news"},
		},
		"identify comes first": {
			{"identify", "s", "a", "u", 0, identify, "direct", "identify", "u", ""},
			{"page", "s", "a", "", 1, view, "news", "identify", "a", "news"},
			{"goal", "s", "", "u", 2, "signup", "direct", "identify", "a", "news"},
		},
		"identify comes first without a session id": {
			{"identify", "", "a", "u", 0, identify, "direct", "identify", "u", ""},
			{"page", "", "a", "", 1, view, "news", "identify", "a", "news"},
			{"goal", "", "a", "u", 2, "signup", "direct", "identify", "a", "news"},
		},
		"identify comes last": {
			{"page", "s", "a", "", 0, view, "news", "page", "a", "news"},
			{"goal", "s", "", "u", 1, "signup", "direct", "page", "a", "news"},
			{"identify", "s", "a", "u", 2, identify, "direct", "page", "a", "news"},
		},
		"an alias": {
			{"page", "s", "a", "", 0, view, "news", "page", "a", "news"},
			{"alias", "s", "a", "u", 1, alias, "direct", "page", "a", "news"},
			{"goal", "s", "", "u", 2, "signup", "direct", "page", "a", "news"},
		},
		"two tabs, one logs in": {
			{"page", "", "a", "", 0, view, "news", "page", "a", "news"},
			{"login", "", "a", "u", 1, identify, "direct", "page", "a", "news"},
			{"other tab", "", "a", "", 2, view, "direct", "page", "a", "news"},
			{"first tab", "", "a", "u", 3, view, "direct", "page", "a", "news"},
		},
		"a second person on the device": {
			{"page", "", "a", "", 0, view, "news", "page", "a", "news"},
			{"first login", "", "a", "u", 1, identify, "direct", "page", "a", "news"},
			{"second login", "", "a", "v", 2, identify, "direct", "second login", "v", ""},
			{"second page", "", "a", "v", 3, view, "mail", "second login", "v", "mail"},
			{"first again", "", "a", "u", 4, view, "direct", "page", "a", "news"},
		},
		"a second person in the client's session": {
			{"page", "s", "a", "u", 0, view, "news", "page", "u", "news"},
			{"second page", "s", "a", "v", 1, view, "mail", "second page", "v", "mail"},
			{"first again", "s", "", "u", 2, view, "direct", "page", "u", "news"},
			{"second again", "s", "", "v", 3, view, "direct", "second page", "v", "mail"},
		},
		"a device that was known by its own id, as PostHog's": {
			{"page", "s", "", "d", 0, view, "news", "page", "d", "news"},
			{"identify", "s", "d", "u", 1, identify, "direct", "page", "d", "news"},
			{"goal", "s", "", "u", 2, "signup", "direct", "page", "d", "news"},
			{"late page", "s", "", "d", 1, view, "direct", "page", "d", "news"},
		},
		"identity items begin nothing": {
			{"identify", "", "", "u", 0, identify, "direct", "identify", "u", ""},
			{"alias", "", "", "u", 1, alias, "direct", "identify", "u", ""},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			s, first := newSessionizer(), map[string]string{}
			restored := []event.OpenSession{}
			for i := range steps {
				step := &steps[i]
				// Before each event, a new owner reads the states that the rows carry, in any order.
				slices.Reverse(restored)
				owner := newSessionizer()
				for _, one := range restored {
					owner.Restore(one)
				}
				event := arrivedOf(step)
				got, moved := s.add(event), owner.add(event)
				if got != moved {
					t.Errorf("%s: a new owner makes\n%+v, want\n%+v", step.name, moved, got)
				}
				restored = append(restored, storedAs(event, &got))
				if first[fmt.Sprint(got.number)] == "" {
					first[fmt.Sprint(got.number)] = step.name
				}
				counted := got.guest
				if counted == 0 {
					counted = event.visitor
				}
				if visit := first[fmt.Sprint(got.number)]; visit != step.visit || counted != idNumber(step.counted) || got.origin.Source != step.from {
					t.Errorf("%s is in the visit of %q from %q, want %q from %q counted for %s", step.name, visit, got.origin.Source, step.visit, step.from, step.counted)
				}
			}
		})
	}
}

// storedAs returns the state that a new owner reads from an event's row.
func storedAs(e *arrived, got *placed) event.OpenSession {
	counted := got.guest
	if counted == 0 {
		counted = e.visitor
	}
	entry := event.SessionEntry{}
	if !got.inside {
		entry = event.SessionEntry{TsMs: e.step.TsMs, Tie: idNumber(e.id), Owner: e.visitor}
	}
	return event.OpenSession{
		Entry: entry,
		Session: event.Session{
			ID: got.id, Started: got.started, First: got.started - got.state.BeforeMs, Last: e.step.TsMs + got.state.AfterMs,
			EngagedMs: got.state.EngagedMs, Deeds: got.state.Deeds,
		},
		SessionName: event.SessionName{Thread: e.thread, Bot: e.bot, Number: got.number},
		Origin:      got.origin, HeardMs: e.receivedMs, Counted: counted, Known: e.known, Device: e.device,
	}
}

// TestEveryOrderIsOneVisit folds the items of one visit in all orders. Each order makes one visit of one visitor, with
// the same bounce and duration. The visit has the origin of the first page that arrived.
func TestEveryOrderIsOneVisit(t *testing.T) {
	for _, session := range []string{"s", ""} {
		steps := []visitStep{
			{name: "page", session: session, anon: "a", minute: 10, kind: event.PageView, source: "news"},
			{name: "identify", session: session, anon: "a", user: "u", minute: 5, kind: event.IdentifyEvent, source: "direct"},
			{name: "goal", session: session, anon: "a", user: "u", minute: 12, kind: "signup", source: "news"},
			{name: "late identify", session: session, anon: "a", user: "u", minute: 14, kind: event.IdentifyEvent, source: "direct"},
		}
		for order := range permutations(len(steps)) {
			s, sum := newSessionizer(), event.SessionDelta{}
			visits, counted := map[uint64]bool{}, map[uint64]bool{}
			for _, n := range order {
				e := arrivedOf(&steps[n])
				e.receivedMs = 1
				got := s.add(e)
				sum.Bounce += got.delta.Bounce
				sum.DurationMs += got.delta.DurationMs
				if got.state.Deeds&event.Unbegun != 0 {
					continue
				}
				visits[got.number] = true
				if got.guest != 0 {
					counted[got.guest] = true
				} else {
					counted[e.visitor] = true
				}
				if got.origin.Source != "news" {
					t.Errorf("order %v: %s comes from %q", order, steps[n].name, got.origin.Source)
				}
			}
			if want := (event.SessionDelta{DurationMs: 4 * minute}); len(visits) != 1 || len(counted) != 1 || sum != want {
				t.Errorf("order %v: %d visits of %d visitors, %+v, want %+v", order, len(visits), len(counted), sum, want)
			}
		}
	}
}

// permutations yields all orders of n things.
func permutations(n int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		var extend func(order []int) bool
		extend = func(order []int) bool {
			if len(order) == n {
				return yield(order)
			}
			for i := range n {
				if !slices.Contains(order, i) && !extend(append(slices.Clone(order), i)) {
					return false
				}
			}
			return true
		}
		extend(nil)
	}
}

// TestTheEntryIsTheEarliestEvent folds the items of one visit in all orders. The event that is an entry last is the earliest one, and
// each visitor whose event was an entry before is ousted by a later entry.
func TestTheEntryIsTheEarliestEvent(t *testing.T) {
	steps := []visitStep{
		{name: "identify", session: "s", anon: "a", user: "u", minute: 1, kind: event.IdentifyEvent},
		{name: "page", session: "s", anon: "a", minute: 2, kind: event.PageView},
		{name: "goal", session: "s", user: "u", minute: 2, kind: "signup"},
		{name: "second page", session: "s", anon: "b", minute: 3, kind: event.PageView},
		{name: "third page", session: "s", anon: "a", minute: 4, kind: event.PageView},
	}
	first := steps[1]
	if idNumber("goal") < idNumber("page") {
		first = steps[2]
	}
	for order := range permutations(len(steps)) {
		s, owners, entry := newSessionizer(), map[uint64]bool{}, ""
		for _, n := range order {
			event := arrivedOf(&steps[n])
			event.receivedMs = 1
			got := s.add(event)
			if got.inside {
				continue
			}
			delete(owners, got.ousted)
			owners[event.visitor], entry = true, steps[n].name
		}
		if want := idNumber(event.Visitor(first.user, first.anon)); entry != first.name || len(owners) != 1 || !owners[want] {
			t.Errorf("order %v: the entry is %q, of %d owners", order, entry, len(owners))
		}
	}
}
