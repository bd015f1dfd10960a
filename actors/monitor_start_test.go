package actors

import (
	"fmt"
	"testing"
	"time"

	"svc"
)

// checkTimes returns when each monitor was checked since the last call, by id.
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

// TestAStartCatchesUp ends a node for a while and begins anew: all monitors are checked
// within one interval, those that missed a check within half of one, never two checks of one
// closer than half an interval, in every interval of its one, and never more than twice as
// many as usual at a time.
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
	var monitors []svc.Monitor
	for n := range 400 {
		monitors = append(monitors, w.put("", named(fmt.Sprint("Site ", n), seconds)).Monitor)
	}
	pass(2 * interval)
	before := w.checkTimes()
	w.stop()
	pass(down)
	w.start()
	begun := time.Now()
	w.fill(monitors...)
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
