package alerting

import (
	"context"
	"fmt"
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain/monitor"
)

// checkTimes returns the times of the checks of each monitor since its last call, by id.
func (w *watchedSite) checkTimes() map[string][]time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	times := map[string][]time.Time{}
	for _, check := range w.checks {
		times[check.Monitor] = append(times[check.Monitor], check.Result.At)
	}
	w.checks = nil
	return times
}

// TestAStartCatchesUp stops a node for a while and starts another. All monitors are checked within one interval, and
// the ones that missed a check within half of one. Two checks of a monitor are never closer than half an interval, and
// every interval has a check. There are never more than twice as many checks at a time as usual.
func TestAStartCatchesUp(t *testing.T) {
	for _, test := range []struct {
		name     string
		interval int
		down     time.Duration
	}{
		{"an instant", 30, time.Millisecond},
		{"a part of an interval", 30, 11 * time.Second},
		{"nearly an interval", 60, 59 * time.Second},
		{"several intervals", 30, 100 * time.Second},
		{"every second", 1, 700 * time.Millisecond},
		{"every second, longer", 1, 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			onSite(t, func(t *testing.T, w *watchedSite) { w.catchesUp(test.interval, test.down) })
		})
	}
}

func (w *watchedSite) catchesUp(seconds int, down time.Duration) {
	t, interval := w.t, time.Duration(seconds)*time.Second
	for n := range 400 {
		w.put("", named(fmt.Sprint("Site ", n), seconds))
	}
	pass(2 * interval)
	before := w.checkTimes()
	w.stop()
	pass(down)
	w.start()
	begun := time.Now()
	w.fill()
	pass(3 * interval)
	tenths := [10]int{}
	for id, checks := range w.checkTimes() {
		last := before[id][len(before[id])-1]
		overdue := begun.Sub(last) >= interval
		first := checks[0].Sub(begun)
		if first > interval || overdue && first > interval/2 {
			t.Errorf("%s, checked %s before, was checked %s after the beginning", id, begun.Sub(last), first)
		}
		for n, at := range checks {
			if distance := at.Sub(last); distance < interval/2 || n > 0 && distance > interval {
				t.Errorf("%s: a distance of %s before check %d", id, distance, n)
			}
			last = at
		}
		if len(checks) < 3 || len(checks) > 4 {
			t.Errorf("%s: %d checks in three intervals", id, len(checks))
		}
		for _, at := range checks {
			if tenth := at.Sub(begun) * 10 / interval; tenth < 10 {
				tenths[tenth]++
			}
		}
	}
	for tenth, checks := range tenths {
		if checks > 2*40+40 {
			t.Errorf("%d checks of 400 monitors in tenth %d of the first interval", checks, tenth)
		}
	}
	if missed := countOf(t, w.metrics.Missed); missed != 0 {
		t.Errorf("%v checks were missed", missed)
	}
}

// TestWhatWasFoundIsNotLoaded begins with three monitors, one of which was changed while the store was read. The two
// others are not loaded again and continue from their stored states.
func TestWhatWasFoundIsNotLoaded(t *testing.T) {
	onSite(t, func(t *testing.T, w *watchedSite) {
		w.story = func(time.Duration) string { return "down" }
		var rows []monitor.Row
		for n := range 3 {
			rows = append(rows, w.put("", named(fmt.Sprint("Site ", n), 30)))
		}
		pass(40 * time.Second)
		w.stop()
		w.take()
		failures := map[string]int{}
		for _, row := range rows {
			failures[row.ID] = int(w.latest[row.ID].ConsecutiveFailures)
		}
		pass(time.Minute)
		w.start()
		before := w.store.Loads()
		fill := ScheduleMonitors(w.schedule, w.found, func(ctx context.Context, yield func(monitor.StoredMonitor)) error {
			err := w.all(ctx, yield)
			w.put(rows[0].ID, monitor.Patch{Name: new("Renamed")})
			return err
		})
		if err := fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stale, handed := w.found.hand("monitor/acme/web/"+rows[0].ID, time.Now()); handed {
			t.Errorf("what was read before the change is handed out: %+v", stale)
		}
		pass(30 * time.Second)
		if got := w.store.Loads() - before; got != 1 {
			t.Errorf("%d loads, want one, of the monitor that was changed", got)
		}
		checks := w.checkTimes()
		for _, row := range rows[1:] {
			if state, want := w.latest[row.ID], failures[row.ID]+len(checks[row.ID]); int(state.ConsecutiveFailures) != want || len(checks[row.ID]) == 0 {
				t.Errorf("%s has %d failures in a row, want %d", row.Name, state.ConsecutiveFailures, want)
			}
		}
		if row := w.put(rows[0].ID, monitor.Patch{}); row.Name != "Renamed" {
			t.Errorf("the change was lost: %+v", row)
		}
	})
}

func TestWhatWasFoundIsHandedOnce(t *testing.T) {
	t.Parallel()
	generation, owned := int32(7), true
	f := &PrefetchedStates{Generation: func() (int32, bool) { return generation, owned }}
	begun := actorstest.At(0)
	stored := func() map[string]monitor.StoredMonitor {
		return map[string]monitor.StoredMonitor{"a": {Monitor: monitor.Monitor{ID: "a"}}, "b": {Monitor: monitor.Monitor{ID: "b"}}}
	}
	want := func(what, owner string, now time.Duration, handed bool) {
		t.Helper()
		found, got := f.hand(owner, actorstest.At(now))
		if got != handed || handed && found.Monitor.ID != owner {
			t.Errorf("%s: handed %+v, %t; want %t", what, found, got, handed)
		}
	}
	want("nothing was read", "a", 0, false)
	f.begin(begun)(stored())
	want("the first", "a", time.Second, true)
	want("the second time", "a", time.Second, false)
	want("one that was not found", "c", time.Second, false)
	f.touch("b")
	want("one that was stored since", "b", time.Second, false)

	take := f.begin(begun)
	want("while it is read", "a", 0, false)
	f.touch("c")
	take(stored())
	want("loaded while it was read", "a", 0, false)
	want("left alone", "b", 0, true)

	f.begin(begun)(stored())
	want("nearly as old as a load may be", "a", grain.IOTime-time.Millisecond, true)
	want("as old as a load may be", "b", grain.IOTime, false)

	f.begin(begun)(stored())
	generation++
	want("in the next generation", "a", 0, false)
	f.begin(begun)(stored())
	owned = false
	want("between generations", "a", 0, false)
	f.begin(begun)(stored())
	owned = true
	want("read between generations", "b", 0, false)
}
