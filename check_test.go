package svc_test

import (
	"reflect"
	"testing"
	"time"

	"svc"
)

func TestStatesOfAMonitor(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const wrong = "The status was 500, not 200."
	soon, late := start.Add(svc.CertificateWarning-time.Second), start.Add(30*24*time.Hour)
	for _, test := range []struct {
		name          string
		confirmations int
		// results are the errors of checks, a minute apart.
		results []string
		ends    time.Time
		want    svc.MonitorState
		down    uint32
	}{
		{"passes", 2, []string{""}, time.Time{}, svc.MonitorState{LastStatus: svc.StatusUp, LastCheckedAt: start, LastLatencyMs: 2}, 0},
		{"fails once", 2, []string{"", wrong}, late, svc.MonitorState{LastStatus: svc.StatusDegraded, LastCheckedAt: start.Add(time.Minute), LastLatencyMs: 2, LastError: wrong, ConsecutiveFailures: 1}, 0},
		{"fails at first", 1, []string{wrong}, late, svc.MonitorState{LastStatus: svc.StatusDown, LastCheckedAt: start, LastLatencyMs: 2, LastError: wrong, ConsecutiveFailures: 1}, 1},
		{"is confirmed", 2, []string{"", wrong, wrong}, late, svc.MonitorState{LastStatus: svc.StatusDown, LastCheckedAt: start.Add(2 * time.Minute), LastLatencyMs: 2, LastError: wrong, ConsecutiveFailures: 2}, 2},
		{"flaps", 2, []string{wrong, "", wrong, "", wrong}, late, svc.MonitorState{LastStatus: svc.StatusDegraded, LastCheckedAt: start.Add(4 * time.Minute), LastLatencyMs: 2, LastError: wrong, ConsecutiveFailures: 1}, 0},
		{"recovers", 2, []string{wrong, wrong, wrong, ""}, late, svc.MonitorState{LastStatus: svc.StatusUp, LastCheckedAt: start.Add(3 * time.Minute), LastLatencyMs: 2}, 0},
		{"has a certificate that ends soon", 2, []string{""}, soon, svc.MonitorState{LastStatus: svc.StatusDegraded, LastCheckedAt: start, LastLatencyMs: 2, LastError: "The certificate ends on 2026-11-27."}, 0},
	} {
		spec := svc.DefaultMonitor()
		spec.Confirmations = test.confirmations
		var state svc.MonitorState
		for i, wrong := range test.results {
			state = state.Apply(spec, svc.CheckResult{At: start.Add(time.Duration(i) * time.Minute), Error: wrong, Phases: svc.CheckPhases{Total: 1500}, CertificateEnds: test.ends})
		}
		if !reflect.DeepEqual(state, test.want) || state.Down() != test.down {
			t.Errorf("%s: %+v (%d failures), want %+v (%d)", test.name, state, state.Down(), test.want, test.down)
		}
	}
}

// TestDueTimes asserts that due times of a monitor are one interval apart, do not depend on the time of the call, and
// are spread over the interval across monitors.
func TestDueTimes(t *testing.T) {
	t.Parallel()
	start := time.UnixMilli(1_795_000_000_123)
	const interval = 60
	tenths := [10]int{}
	for n := range 1000 {
		m := svc.Monitor{ID: "mon_" + string(rune('a'+n%26)) + time.Duration(n).String()}
		m.IntervalSeconds = interval
		due := m.Next(start)
		if wait := due.Sub(start); wait <= 0 || wait > interval*time.Second {
			t.Fatalf("due after %s", wait)
		}
		if next := m.Next(due); next.Sub(due) != interval*time.Second {
			t.Fatalf("the next is due after %s", next.Sub(due))
		}
		if again := m.Next(due.Add(-time.Millisecond)); !again.Equal(due) {
			t.Fatalf("a millisecond before, it is due at %s, not %s", again, due)
		}
		tenths[int(due.Sub(start)/(interval*time.Second/10))%10]++
	}
	for tenth, monitors := range tenths {
		if monitors < 50 || monitors > 150 {
			t.Errorf("%d of 1000 monitors are due in tenth %d of the interval", monitors, tenth)
		}
	}
}

func TestAFailureIsCheckedAgainSoon(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_795_000_000_000)
	m := svc.Monitor{ID: "mon_1", MonitorSpec: svc.DefaultMonitor()}
	regular := m.Next(now)
	for _, test := range []struct {
		name  string
		state svc.MonitorState
		want  time.Time
	}{
		{"up", svc.MonitorState{LastStatus: svc.StatusUp}, regular},
		{"not confirmed", svc.MonitorState{LastStatus: svc.StatusDegraded, ConsecutiveFailures: 1}, now.Add(svc.RecheckAfter)},
		{"down", svc.MonitorState{LastStatus: svc.StatusDown, ConsecutiveFailures: 2}, regular},
		{"a certificate that ends soon", svc.MonitorState{LastStatus: svc.StatusDegraded}, regular},
	} {
		if got := test.state.Next(&m, now); !got.Equal(test.want) {
			t.Errorf("%s: due at %s, want %s", test.name, got, test.want)
		}
	}
}
