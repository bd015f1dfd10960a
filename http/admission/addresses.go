package admission

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// openBodies counts the bytes of the bodies that are being read, by the address from which they come. It has an entry
// for an address while one of its requests is open.
type openBodies struct {
	// most bounds an address with several open bodies. A single body may have any size that its route takes.
	most int64

	mu sync.Mutex
	by map[string]int64
}

// take adds bytes of a body that has own bytes already. It refuses them if the bodies of the address would have too
// many.
func (o *openBodies) take(from string, own, bytes int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if all := o.by[from]; all > own && all+bytes > o.most {
		return false
	}
	o.by[from] += bytes
	return true
}

// give subtracts bytes again.
func (o *openBodies) give(from string, bytes int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by[from] -= bytes; o.by[from] <= 0 {
		delete(o.by, from)
	}
}

// hostsOf returns an IPv4 address, or the 64-bit network of an IPv6 address.
func hostsOf(text string) string {
	ip, err := netip.ParseAddr(text)
	if err != nil || ip.Is4() {
		return text
	}
	network, err := ip.Prefix(64)
	if err != nil {
		return text
	}
	return network.String()
}

// boundedAddress returns the unit that counts as one address: an IPv4 address, or the 64-bit network of an IPv6
// address. A host chooses its addresses freely within that network. The result is empty for addresses that are not
// public: such a connection comes from an unknown proxy or from the operator's own network.
func boundedAddress(text string) string {
	ip, err := netip.ParseAddr(text)
	if err != nil || !ip.IsGlobalUnicast() || ip.IsPrivate() || carrierNetwork().Contains(ip) {
		return ""
	}
	return hostsOf(text)
}

// carrierNetwork is the shared address space between a provider and its customers.
func carrierNetwork() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10)
}

// maxAddresses bounds the addresses that are counted separately in a window.
const maxAddresses = 4096

// sentAddresses counts the bytes that addresses sent recently. It adds the present window and the rest of the former
// window that is still within one window length. Its memory is bounded: beyond maxAddresses addresses it knows only the
// sum. But addresses that sent much in a window are counted separately in the next one.
type sentAddresses struct {
	now    func() time.Time
	window time.Duration
	// much is the number of bytes in a window up to which an address is not bounded.
	much int64

	mu              sync.Mutex
	began           time.Time
	present, former addressWindow
}

// addressWindow contains the counts of one window.
type addressWindow struct {
	by    map[string]*addressUse
	total int64
	// heavy are the addresses that may have sent much within the length of a window.
	heavy map[string]*addressUse
}

// addressUse contains the bytes of one address, by application.
type addressUse struct {
	total int64
	apps  []appBytes
}

type appBytes struct {
	app   string
	bytes int64
}

// maxAddressApps bounds the applications of one address that are counted separately.
const maxAddressApps = 16

func newSentAddresses(now func() time.Time, window time.Duration, much int64) *sentAddresses {
	return &sentAddresses{now: now, window: window, much: much, present: newAddressWindow(), former: newAddressWindow()}
}

func newAddressWindow() addressWindow {
	return addressWindow{by: map[string]*addressUse{}, heavy: map[string]*addressUse{}}
}

// add counts bytes that an address sent to an application.
func (s *sentAddresses) add(address, app string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	s.present.total += bytes
	use := s.present.by[address]
	if use == nil {
		if len(s.present.by) >= maxAddresses && s.former.heavy[address] == nil {
			return
		}
		use = &addressUse{}
		s.present.by[address] = use
	}
	if use.total += bytes; use.total > s.much/2 {
		s.present.heavy[address] = use
	}
	at := slices.IndexFunc(use.apps, func(one appBytes) bool { return one.app == app })
	if at >= 0 {
		use.apps[at].bytes += bytes
	} else if len(use.apps) < maxAddressApps {
		use.apps = append(use.apps, appBytes{app, bytes})
	}
}

// turn begins a new window if the present one has ended. It returns the elapsed part of the present window.
func (s *sentAddresses) turn() (past float64) {
	now := s.now()
	if age := now.Sub(s.began); age >= 2*s.window {
		s.began, s.present, s.former = now, newAddressWindow(), newAddressWindow()
	} else if age >= s.window {
		s.began, s.former, s.present = s.began.Add(s.window), s.present, newAddressWindow()
	}
	return float64(now.Sub(s.began)) / float64(s.window)
}

// crowding returns the addresses that sent much, and more than an equal part, while others sent too. most is the
// highest rate of an address, in bytes a second.
func (s *sentAddresses) crowding() (who map[string]bool, most float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := 1 - s.turn()
	lately := func(address string) (bytes float64) {
		if use := s.present.by[address]; use != nil {
			bytes = float64(use.total)
		}
		if use := s.former.by[address]; use != nil {
			bytes += left * float64(use.total)
		}
		return bytes
	}
	total := float64(s.present.total) + left*float64(s.former.total)
	senders := max(len(s.present.by), len(s.former.by))
	who = map[string]bool{}
	for _, heavy := range []map[string]*addressUse{s.present.heavy, s.former.heavy} {
		for address := range heavy {
			bytes := lately(address)
			most = max(most, bytes/s.window.Seconds())
			if senders > 1 && bytes > float64(s.much) && bytes > total/float64(senders) {
				who[address] = true
			}
		}
	}
	return who, most
}

// ofApp returns the number of addresses that recently sent to an application, the busiest one, and its rate to the
// application in bytes a second.
func (s *sentAddresses) ofApp(app string) (senders int, busiest string, rate float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := 1 - s.turn()
	bytes := map[string]float64{}
	for n, window := range []addressWindow{s.present, s.former} {
		for address, use := range window.by {
			for _, one := range use.apps {
				if one.app == app {
					bytes[address] += float64(one.bytes) * []float64{1, left}[n]
				}
			}
		}
	}
	for address, sent := range bytes {
		if sent /= s.window.Seconds(); sent > rate {
			busiest, rate = address, sent
		}
	}
	return len(bytes), busiest, rate
}
