package alerting

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// TestAnIdleMonitorIsSmall measures the memory of monitors between two checks: the actor, its appointment and its
// state. The sum includes the definitions and checks in this test's store.
func TestAnIdleMonitorIsSmall(t *testing.T) {
	onSite(t, func(t *testing.T, w *watchedSite) {
		const monitors, most = 2000, 15_000 // bytes, as the goal demands
		weigh := func() uint64 {
			pass(10 * time.Second) // the idle workers have ended
			runtime.GC()
			runtime.GC() // empties the pools
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			return stats.HeapAlloc + stats.StackInuse
		}
		before := weigh()
		for n := range monitors {
			w.put("", named(fmt.Sprint("Site ", n), 86_400))
		}
		each := (weigh() - before) / monitors
		t.Logf("%d bytes a monitor", each)
		if got := len(w.take()); got != monitors || each > most {
			t.Errorf("after %d checks a monitor takes %d bytes, at most %d of them are allowed", got, each, most)
		}
	})
}
