package admission

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain"
)

// TestPace lets three applications send while the store lags: an application that sends more than an equal part waits
// until it has caught up, and is refused if it does not.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var oldest atomic.Pointer[time.Time] // oldest is the time of the oldest unstored record.
		since := func(ago time.Duration) { at := time.Now().Add(-ago); oldest.Store(&at) }
		since(0)
		control := New(256 << 20)
		control.Share(func(int) time.Duration { return time.Since(*oldest.Load()) }, aSecond, 2, time.Now)
		send := func(app string, bytes int64) (time.Duration, error) {
			began := time.Now()
			_, err := control.throttle.wait(context.Background(), app, 0)
			if err == nil {
				control.sent.add(app, bytes)
			}
			return time.Since(began), err
		}
		for range 10 {
			time.Sleep(100 * time.Millisecond)
			since(100 * time.Millisecond)
			for app, bytes := range map[string]int64{"flood": 1 << 20, "calm": 1000, "third": 300_000} {
				if took, err := send(app, bytes); err != nil || took > 0 {
					t.Fatalf("%s waited %s in time: %v", app, took, err)
				}
			}
		}
		since(1100 * time.Millisecond)
		time.Sleep(throttleLook)
		go func() {
			time.Sleep(2 * time.Second)
			since(500 * time.Millisecond)
		}()
		for _, app := range []string{"calm", "third", "newcomer"} {
			if took, err := send(app, 100); err != nil || took > 0 {
				t.Errorf("%s waited %s behind the flood: %v", app, took, err)
			}
		}
		if took, err := send("flood", 1<<20); err != nil || took < 1900*time.Millisecond || took > 2100*time.Millisecond {
			t.Errorf("the flood waited %s: %v", took, err)
		}
		time.Sleep(10 * time.Second)
		since(5 * time.Second)
		for range 20 {
			time.Sleep(100 * time.Millisecond)
			if took, err := send("flood", 1<<20); err != nil || took > 0 {
				t.Fatalf("alone it waited %s: %v", took, err)
			}
		}
		if _, err := send("calm", 100); err != nil {
			t.Error(err)
		}
		time.Sleep(throttleLook)
		if took, err := send("flood", 1<<20); domain.CodeOf(err) != domain.CodeUnavailable || took < admissionTime {
			t.Errorf("the flood was let in after %s: %v", took, err)
		}
	})
}

// TestPaceOfAFlood expects an earlier delay for an application that sent very many of the unstored bytes.
func TestPaceOfAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var behind atomic.Int64
		control := New(256 << 20)
		control.Share(func(int) time.Duration { return time.Duration(behind.Load()) }, aSecond, 2, time.Now)
		for range 6 {
			time.Sleep(100 * time.Millisecond)
			control.sent.add("flood", 1<<20)
			control.sent.add("busy", 600_000)
			control.sent.add("calm", 1000)
			control.sent.add("quiet", 1000)
		}
		for _, look := range []struct {
			behind      time.Duration
			flood, busy bool
		}{{400 * time.Millisecond, false, false}, {600 * time.Millisecond, true, false}, {1100 * time.Millisecond, true, true}} {
			behind.Store(int64(look.behind))
			time.Sleep(throttleLook)
			if flood, busy, calm := control.throttle.holds("flood"), control.throttle.holds("busy"), control.throttle.holds("calm"); flood != look.flood || busy != look.busy || calm {
				t.Errorf("%s behind: flood %v, busy %v, calm %v", look.behind, flood, busy, calm)
			}
		}
	})
}

// TestPaceOfAShard expects no delay for the unstored records of an unavailable shard.
func TestPaceOfAShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control := New(256 << 20)
		control.Share(func(shard int) time.Duration { return time.Duration(shard) * time.Minute }, aSecond, 2, time.Now)
		apps := map[string]int{"busy": 0, "calm": 0, "flood": 1, "few": 1}
		for app, shard := range apps {
			control.throttle.note(app, shard)
			control.sent.add(app, map[string]int64{"busy": 1 << 20, "flood": 1 << 20}[app]+1)
		}
		for app := range apps {
			if held := control.throttle.holds(app); held != (app == "flood") {
				t.Errorf("%s is held: %v", app, held)
			}
		}
	})
}

// aSecond is the maximum lag in the tests.
func aSecond() time.Duration { return time.Second }
