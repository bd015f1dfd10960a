package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain"
)

// flooding sends from many connections as one application until ctx ends, and counts the admitted bytes.
func flooding(ctx context.Context, senders *sync.WaitGroup, control *Control, app string) (sent *atomic.Int64) {
	sent = new(atomic.Int64)
	for range 50 {
		senders.Go(func() {
			for ctx.Err() == nil {
				reserved := Reservation{control: control, app: app}
				if reserved.ForLog(ctx, 0, 40<<10) == nil {
					sent.Add(40 << 10)
					time.Sleep(2 * time.Millisecond) // This is the time of the log.
				}
				reserved.Release()
			}
		})
	}
	return sent
}

// TestAFloodIsPacedWhileOthersSend uses a node with processors that are short from 16 MiB a second on. A flooding
// application settles at that rate while another one sends, and at its own rate when it is alone again.
func TestAFloodIsPacedWhileOthersSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity = 16 << 20
		ctx, cancel := context.WithCancel(t.Context())
		var senders sync.WaitGroup
		control := New(256 << 20)
		control.Share(func(int) time.Duration { return 0 }, aSecond, 2, time.Now)
		control.pace.nap = func(ctx context.Context, length time.Duration) time.Duration {
			control.pace.sleep(ctx, length)
			if parts, _ := control.sent.lately(2 * sentSlot); parts["flood"] > capacity*3/10 {
				return 3 * time.Millisecond
			}
			return 0
		}
		sent := flooding(ctx, &senders, control, "flood")
		perSecond := func(length time.Duration) int64 {
			before := sent.Load()
			time.Sleep(length)
			return int64(float64(sent.Load()-before) / length.Seconds())
		}
		alone := perSecond(5 * time.Second)
		if alone < 4*capacity {
			t.Errorf("alone the flood sends %d bytes a second", alone)
		}
		calm, end := context.WithCancel(ctx)
		var longest atomic.Int64
		senders.Go(func() {
			for calm.Err() == nil {
				began := time.Now()
				reserved := Reservation{control: control, app: "calm"}
				if err := reserved.ForLog(calm, 0, 200); err != nil && calm.Err() == nil {
					t.Error(err)
				}
				longest.Store(max(longest.Load(), int64(time.Since(began))))
				reserved.Release()
				time.Sleep(20 * time.Millisecond)
			}
		})
		time.Sleep(5 * time.Second)
		if beside := perSecond(10 * time.Second); beside < capacity/2 || beside > capacity*3/2 {
			t.Errorf("beside another application the flood sends %d bytes a second, of %d", beside, capacity)
		}
		if longest.Load() != 0 {
			t.Errorf("the other application waited %s", time.Duration(longest.Load()))
		}
		end()
		time.Sleep(paceTime + time.Second)

		if again := perSecond(5 * time.Second); again < alone*9/10 {
			t.Errorf("alone again the flood sends %d bytes a second, before %d", again, alone)
		}
		cancel()
		senders.Wait()
	})
}

// TestAPacedApplicationKeepsItsLeast uses processors that other work occupies.
func TestAPacedApplicationKeepsItsLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var senders sync.WaitGroup
		control := New(256 << 20)
		control.Share(func(int) time.Duration { return 0 }, aSecond, 2, time.Now)
		control.pace.nap = func(ctx context.Context, length time.Duration) time.Duration {
			control.pace.sleep(ctx, length)
			return time.Second
		}
		sent := flooding(ctx, &senders, control, "flood")
		senders.Go(func() {
			for ctx.Err() == nil {
				control.sent.add("calm", 200)
				time.Sleep(time.Second)
			}
		})
		time.Sleep(20 * time.Second)
		before := sent.Load()
		time.Sleep(10 * time.Second)
		least := float64(2 * paceLeast)
		if rate := float64(sent.Load()-before) / 10; rate < 0.9*least || rate > 1.1*least {
			t.Errorf("the application sends %.0f bytes a second, at least are %.0f", rate, least)
		}
		cancel()
		senders.Wait()
	})
}

// TestWhoIsTooFarBehindIsRefused uses an application with requests that would wait longer than permitted.
func TestWhoIsTooFarBehindIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control := New(256 << 20)
		control.Share(func(int) time.Duration { return 0 }, aSecond, 1, time.Now)
		send := func(bytes int64) error {
			reserved := Reservation{control: control, app: "flood"}
			defer reserved.Release()
			return reserved.ForLog(t.Context(), 0, bytes)
		}
		control.sent.add("calm", 200)
		control.sent.add("flood", 1<<20)
		if err := send(10 << 20); err != nil { // This takes five seconds at the lowest rate.
			t.Fatal(err)
		}
		began := time.Now()
		if err := send(1 << 20); domain.CodeOf(err) != domain.CodeUnavailable || time.Since(began) < admissionTime {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
