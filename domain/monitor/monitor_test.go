package monitor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"svc/domain/monitor"
)

// TestWhoIsOverdueIsCheckedSoon checks many monitors, intervals and instants. A monitor that missed a check is due
// within half an interval, and at least half an interval after the missed time. Every other monitor is due as usual.
// None is due sooner than half an interval before its next regular time.
func TestWhoIsOverdueIsCheckedSoon(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(6, 15))
	for n := range 20_000 {
		m := monitor.Monitor{ID: fmt.Sprint("mon_", n)}
		m.IntervalSeconds = []int{1, 2, 7, 30, 60, 61, 3600, monitor.MaxIntervalSeconds}[n%8]
		interval := m.Interval()
		begun := time.UnixMilli(1_795_000_000_000 + chance.Int64N(1e9))
		age := time.Duration(chance.Int64N(int64(3 * interval))).Truncate(time.Millisecond)
		latest := begun.Add(-age)
		if n%16 < 8 && age > 2*interval {
			latest = time.Time{} // never
		}
		usual, first := m.Next(begun), m.First(begun, latest)
		missed := usual.Add(-interval)
		overdue := latest.IsZero() || age >= interval
		switch {
		case !first.After(begun) || first.After(begun.Add(interval)):
			t.Fatalf("%d: first due %s after the beginning, every %s", n, first.Sub(begun), interval)
		case !overdue && !first.Equal(usual):
			t.Fatalf("%d: checked %s ago, due at %s, usually at %s", n, age, first, usual)
		case overdue && first.Sub(begun) > interval/2:
			t.Fatalf("%d: overdue, and due %s after the beginning, every %s", n, first.Sub(begun), interval)
		case first.Sub(missed) < interval/2 || !first.Equal(usual) && usual.Sub(first) < interval/2:
			t.Fatalf("%d: due at %s, %s after the place that was missed, %s before the next", n, first, first.Sub(missed), usual.Sub(first))
		case !m.Next(first).Equal(usual) && !m.Next(first).Equal(usual.Add(interval)):
			t.Fatalf("%d: after the first check at %s due at %s, usually at %s", n, first, m.Next(first), usual)
		}
	}
}
