package ingest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc"
)

// TestOnlyAProxySaysForWhomItAsks holds the address of a request to the connection, unless a proxy made it; what the sender wrote
// before the proxies is not believed.
func TestOnlyAProxySaysForWhomItAsks(t *testing.T) {
	t.Parallel()
	proxies := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, one := range map[string]struct {
		proxies   Proxies
		from      string
		forwarded []string
		want      string
	}{
		"nobody is a proxy":              {nil, "10.0.0.1:80", []string{"198.51.100.7"}, "10.0.0.1"},
		"not from a proxy":               {proxies, "203.0.113.9:80", []string{"198.51.100.7"}, "203.0.113.9"},
		"one proxy":                      {proxies, "10.0.0.1:80", []string{"198.51.100.7"}, "198.51.100.7"},
		"two proxies":                    {proxies, "10.0.0.1:80", []string{"198.51.100.7, 10.0.0.2"}, "198.51.100.7"},
		"two proxies with a header each": {proxies, "10.0.0.1:80", []string{"198.51.100.7", "10.0.0.2"}, "198.51.100.7"},
		"the sender names another":       {proxies, "10.0.0.1:80", []string{"8.8.8.8, 198.51.100.7"}, "198.51.100.7"},
		"the sender names a proxy":       {proxies, "10.0.0.1:80", []string{"10.9.9.9, 198.51.100.7"}, "198.51.100.7"},
		"the sender writes nonsense":     {proxies, "10.0.0.1:80", []string{"<script>, 198.51.100.7, 10.0.0.2"}, "198.51.100.7"},
		"nonsense after the proxies":     {proxies, "10.0.0.1:80", []string{"<script>, 10.0.0.2"}, "10.0.0.2"},
		"a proxy says nothing":           {proxies, "10.0.0.1:80", nil, "10.0.0.1"},
		"with a port":                    {proxies, "[fd00::1]:80", []string{"[2001:db8::7]:4711"}, "2001:db8::7"},
		"IPv4 within IPv6":               {proxies, "[::ffff:10.0.0.1]:80", []string{"::ffff:198.51.100.7"}, "198.51.100.7"},
	} {
		request := httptest.NewRequest(http.MethodPost, "/", nil)
		request.RemoteAddr, request.Header["X-Forwarded-For"] = one.from, one.forwarded
		if got := one.proxies.of(request); got != one.want {
			t.Errorf("%s: the request is of %q, not %q", name, got, one.want)
		}
	}
}

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

// TestAFloodingAddressIsPaced has one address flood an application with its public key while visitors send to the same one, on a node
// whose processors are short from 16 MiB a second on: the address finds that rate, the visitors never wait, and alone it is not bounded.
func TestAFloodingAddressIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity, flooder = 16 << 20, "203.0.113.77"
		ctx, cancel := context.WithCancel(t.Context())
		var senders sync.WaitGroup
		admission := NewAdmission(256 << 20)
		admission.Share(func(int) time.Duration { return 0 }, time.Second, 2, time.Now)
		admission.addressPace.nap = func(ctx context.Context, length time.Duration) time.Duration {
			admission.addressPace.sleep(ctx, length)
			if parts, _ := admission.sent.lately(2 * sentSlot); parts["shop"] > capacity*3/10 {
				return 3 * time.Millisecond
			}
			return 0
		}
		sent := new(atomic.Int64)
		send := func(ctx context.Context, address string, bytes int64) {
			reserved := reservation{admission: admission, app: "shop", address: address}
			defer reserved.release()
			if reserved.forLog(ctx, 0, bytes) == nil && address == flooder {
				sent.Add(bytes)
				time.Sleep(2 * time.Millisecond) // the log
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
		if alone < 4*capacity || admission.Fairness("shop", 7, time.Now()).AddressBound != nil {
			t.Errorf("alone the address sends %d bytes a second, and is bounded", alone)
		}
		calm, end := context.WithCancel(ctx)
		var longest atomic.Int64
		for visitor := range 20 {
			senders.Go(func() {
				for calm.Err() == nil {
					began := time.Now()
					reserved := reservation{admission: admission, app: "shop", address: fmt.Sprintf("198.51.100.%d", visitor)}
					if err := reserved.forLog(calm, 0, 200); (reserved.heldAddress || err != nil) && calm.Err() == nil {
						t.Errorf("a visitor is held back: %v", err)
					}
					reserved.release()
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
		shown := admission.Fairness("shop", 7, time.Now())
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

// TestManyAddressesTakeBoundedMemory has more addresses send than are told apart: the one that floods is known all the same, also of
// those that come later, and what it sends to another application is not shown.
func TestManyAddressesTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	now := collectNoon()
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

// TestAnAddressIsHeldBackWhateverItClaims sends with a public key and a header that names another address: the one of the connection
// is bounded and noted, and one that sends with a secret key is not.
func TestAnAddressIsHeldBackWhateverItClaims(t *testing.T) {
	t.Parallel()
	now := collectNoon()
	admission := NewAdmission(64 << 20)
	admission.Share(func(int) time.Duration { return 0 }, time.Second, 2, func() time.Time { return now })
	admission.addressPace.nap = func(_ context.Context, length time.Duration) time.Duration {
		now = now.Add(length)
		return 0
	}
	collect := testCollect(&logOf{})
	collect.Admission = admission
	admission.fromAddresses.add("203.0.113.77", "app_1", 4<<20)
	admission.fromAddresses.add("198.51.100.7", "app_1", 100)
	now = now.Add(2 * paceLook)
	send := func(key string) svc.Fairness {
		sub := requestAt(collect, now, `{"type":"event","name":"x","distinctId":"u"}`)
		sub.request.Header.Set("Authorization", "Bearer "+key)
		sub.request.RemoteAddr = "203.0.113.77:4711"
		sub.request.Header.Set("X-Forwarded-For", "8.8.8.8")
		if err := sub.run(itemEvent); err != nil {
			t.Fatal(err)
		}
		defer sub.reserved.release()
		return admission.Fairness(sub.collector.AppID, sub.collector.Environment.Number, now)
	}
	if got := send("secret"); len(got.Met) != 0 {
		t.Errorf("with a secret key %+v met the bound", got.Met)
	}
	got := send("public")
	if len(got.Met) != 1 || got.Met[0].ByAddress != 1 || got.Met[0].Delayed != 1 || got.Met[0].Network != "203.0.113.0/24" {
		t.Errorf("with a public key %+v met the bound", got.Met)
	}
}
