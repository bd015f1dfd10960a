package admission

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatCountsAsOneAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"203.0.113.77": "203.0.113.77", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::ff": "2001:db8:1:2::/64",
		"127.0.0.1": "", "10.1.2.3": "", "192.168.0.7": "", "100.64.0.1": "", "fd00::1": "", "fe80::1": "", "::1": "", "": "", "pipe": "",
	} {
		if got := boundedAddress(text); got != want {
			t.Errorf("%q counts as %q, not %q", text, got, want)
		}
	}
}

// TestAFloodingAddressIsPaced lets one address flood an application with its public key while visitors send to the same
// one. The node's processors are short from 16 MiB a second on. The address settles at that rate, the visitors never
// wait, and alone it is not bounded.
func TestAFloodingAddressIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity, flooder = 16 << 20, "203.0.113.77"
		ctx, cancel := context.WithCancel(t.Context())
		var senders sync.WaitGroup
		control := New(256 << 20)
		control.Share(func(int) time.Duration { return 0 }, aSecond, 2, time.Now)
		control.addressPace.nap = func(ctx context.Context, length time.Duration) time.Duration {
			control.addressPace.sleep(ctx, length)
			if parts, _ := control.sent.lately(2 * sentSlot); parts["shop"] > capacity*3/10 {
				return 3 * time.Millisecond
			}
			return 0
		}
		sent := new(atomic.Int64)
		send := func(ctx context.Context, address string, bytes int64) {
			reserved := Reservation{control: control, app: "shop", address: address}
			defer reserved.Release()
			if reserved.ForLog(ctx, 0, bytes) == nil && address == flooder {
				sent.Add(bytes)
				time.Sleep(2 * time.Millisecond) // This is the time of the log.
			}
		}
		for range 50 {
			senders.Go(func() {
				for ctx.Err() == nil {
					send(ctx, flooder, 40<<10)
				}
			})
		}
		perSecond := func(length time.Duration) int64 {
			before := sent.Load()
			time.Sleep(length)
			return int64(float64(sent.Load()-before) / length.Seconds())
		}
		alone := perSecond(5 * time.Second)
		if alone < 4*capacity || control.Fairness("shop", 7, time.Now()).AddressBound != nil {
			t.Errorf("alone the address sends %d bytes a second, and is bounded", alone)
		}
		calm, end := context.WithCancel(ctx)
		var longest atomic.Int64
		for visitor := range 20 {
			senders.Go(func() {
				for calm.Err() == nil {
					began := time.Now()
					reserved := Reservation{control: control, app: "shop", address: fmt.Sprintf("198.51.100.%d", visitor)}
					if err := reserved.ForLog(calm, 0, 200); (reserved.heldAddress || err != nil) && calm.Err() == nil {
						t.Errorf("a visitor is held back: %v", err)
					}
					reserved.Release()
					longest.Store(max(longest.Load(), int64(time.Since(began))))
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		time.Sleep(5 * time.Second)
		if beside := perSecond(10 * time.Second); beside < capacity/2 || beside > capacity*3/2 {
			t.Errorf("beside visitors the address sends %d bytes a second, of %d", beside, capacity)
		}
		if longest.Load() != 0 {
			t.Errorf("a visitor waited %s", time.Duration(longest.Load()))
		}
		shown := control.Fairness("shop", 7, time.Now())
		if shown.Bound != nil || shown.Addresses != 21 || shown.AddressBound == nil || *shown.AddressBound < 2*paceLeast || shown.AddressBytesPerSecond < capacity/2 {
			t.Errorf("while it is bounded it is shown as %+v", shown)
		}
		end()
		time.Sleep(2*paceTime + time.Second)
		if again := perSecond(5 * time.Second); again < alone*9/10 {
			t.Errorf("alone again the address sends %d bytes a second, before %d", again, alone)
		}
		cancel()
		senders.Wait()
	})
}

// TestManyAddressesTakeBoundedMemory sends from more addresses than are counted separately. The flooding address is
// detected all the same, even if it comes late, and its bytes to another application are not shown.
func TestManyAddressesTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	sent := newSentAddresses(func() time.Time { return now }, paceTime, paceMuch)
	for window := range 3 {
		sent.add("203.0.113.77", "shop", 1<<20)
		sent.add("203.0.113.77", "blog", 2<<20)
		for n := range 2 * maxAddresses {
			sent.add(fmt.Sprintf("2001:db8:%x:%x::/64", window, n), "shop", 100)
		}
		if len(sent.present.by) > maxAddresses || len(sent.present.heavy) != 1 {
			t.Fatalf("%d addresses are told apart, %d of them heavy", len(sent.present.by), len(sent.present.heavy))
		}
		now = now.Add(paceTime)
	}
	for n := range maxAddresses {
		sent.add(fmt.Sprintf("2001:db8:9:%x::/64", n), "shop", 100)
	}
	sent.add("203.0.113.77", "shop", 1<<20)
	who, most := sent.crowding()
	if len(who) != 1 || !who["203.0.113.77"] || most < 2<<20 {
		t.Errorf("%v crowd, at %f bytes a second", who, most)
	}
	if senders, busiest, rate := sent.ofApp("blog"); senders != 1 || busiest != "203.0.113.77" || rate != 1<<20 {
		t.Errorf("%d addresses sent to the blog, %s sent %f bytes a second", senders, busiest, rate)
	}
	now = now.Add(2 * paceTime)
	if senders, _, _ := sent.ofApp("blog"); senders != 0 {
		t.Errorf("%d addresses are known of a time that is past", senders)
	}
}

// TestASingleBodyMayBeLarge reads bodies of one address: a single one may exceed the bound of the address, several may
// not.
func TestASingleBodyMayBeLarge(t *testing.T) {
	o := openBodies{most: 100, by: map[string]int64{}}
	for _, step := range []struct {
		what       string
		own, bytes int64
		want       bool
	}{
		{"a large body", 0, 90, true},
		{"its rest", 90, 60, true},
		{"a second body", 0, 1, false},
		{"more of the large one", 150, 50, true},
	} {
		if got := o.take("a", step.own, step.bytes); got != step.want {
			t.Errorf("%s: %t, want %t", step.what, got, step.want)
		}
	}
	o.give("a", 200)
	if !o.take("a", 0, 60) || o.take("a", 0, 60) || !o.take("a", 0, 40) || len(o.by) != 1 {
		t.Errorf("two bodies have %v", o.by)
	}
}
