package monitor_test

import (
	"reflect"
	"testing"
	"time"

	"svc/domain/monitor"
)

func TestStatesOfAMonitor(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const wrong = "The status was 500, not 200."
	soon, late := start.Add(monitor.CertificateWarning-time.Second), start.Add(30*24*time.Hour)
	for _, test := range []struct {
		name          string
		confirmations int
		// results are the errors of checks, a minute apart.
		results []string
		ends    time.Time
		want    monitor.State
		down    uint32
	}{
		{"passes", 2, []string{""}, time.Time{}, monitor.State{LastStatus: monitor.StatusUp, LastCheckedAt: start, LastLatencyMs: 2}, 0},
		{"fails once", 2, []string{"", wrong}, late, monitor.State{LastStatus: monitor.StatusDegraded, LastCheckedAt: start.Add(time.Minute), LastLatencyMs: 2, LastError: wrong, ConsecutiveFailures: 1}, 0},
		{"fails at first", 1, []string{wrong}, late, monitor.State{LastStatus: monitor.StatusDown, LastCheckedAt: start, LastLatencyMs: 2, LastError: wrong, ConsecutiveFailures: 1}, 1},
		{"is confirmed", 2, []string{"", wrong, wrong}, late, monitor.State{LastStatus: monitor.StatusDown, LastCheckedAt: start.Add(2 * time.Minute), LastLatencyMs: 2, LastError: wrong, ConsecutiveFailures: 2}, 2},
		{"flaps", 2, []string{wrong, "", wrong, "", wrong}, late, monitor.State{LastStatus: monitor.StatusDegraded, LastCheckedAt: start.Add(4 * time.Minute), LastLatencyMs: 2, LastError: wrong, ConsecutiveFailures: 1}, 0},
		{"recovers", 2, []string{wrong, wrong, wrong, ""}, late, monitor.State{LastStatus: monitor.StatusUp, LastCheckedAt: start.Add(3 * time.Minute), LastLatencyMs: 2}, 0},
		{"has a certificate that ends soon", 2, []string{""}, soon, monitor.State{LastStatus: monitor.StatusDegraded, LastCheckedAt: start, LastLatencyMs: 2, LastError: "The certificate ends on 2026-11-27."}, 0},
	} {
		spec := monitor.DefaultMonitor()
		spec.Confirmations = test.confirmations
		var state monitor.State
		for i, wrong := range test.results {
			state = state.Apply(spec, monitor.CheckResult{At: start.Add(time.Duration(i) * time.Minute), Error: wrong, Phases: monitor.CheckPhases{Total: 1500}, CertificateEnds: test.ends})
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
		m := monitor.Monitor{ID: "mon_" + string(rune('a'+n%26)) + time.Duration(n).String()}
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
	m := monitor.Monitor{ID: "mon_1", Spec: monitor.DefaultMonitor()}
	regular := m.Next(now)
	for _, test := range []struct {
		name  string
		state monitor.State
		want  time.Time
	}{
		{"up", monitor.State{LastStatus: monitor.StatusUp}, regular},
		{"not confirmed", monitor.State{LastStatus: monitor.StatusDegraded, ConsecutiveFailures: 1}, now.Add(monitor.RecheckAfter)},
		{"down", monitor.State{LastStatus: monitor.StatusDown, ConsecutiveFailures: 2}, regular},
		{"a certificate that ends soon", monitor.State{LastStatus: monitor.StatusDegraded}, regular},
	} {
		if got := test.state.Next(&m, now); !got.Equal(test.want) {
			t.Errorf("%s: due at %s, want %s", test.name, got, test.want)
		}
	}
}
