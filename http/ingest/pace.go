package ingest

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// pace bounds the rate of an application, or of an address, that sends much while others send too, so that requests of these
// do not wait for a processor. The rate is found by trial: a goroutine that slept continues late where the processors
// are short, so the rate falls while many continue late, and rises otherwise. Who sends alone,
// or little, is not delayed.
type pace struct {
	sent senders
	now  func() time.Time
	// nap sleeps and returns how late it continued.
	nap func(ctx context.Context, length time.Duration) time.Duration
	// least is the lowest rate in bytes a second; what keeps the processors busy may be something else.
	least float64
	// watching is set while a waiting request measures delays for all.
	watching atomic.Bool

	mu sync.Mutex
	// refreshed is when crowding was computed.
	refreshed time.Time
	crowding  map[string]bool
	// most is the rate of the one that sends most, in bytes a second.
	most float64
	// rate is in bytes a second, of each that is paced.
	rate float64
	// free is when each of these may send again.
	free map[string]time.Time
	// began is when the present window began. In it naps were taken, late of which ended late.
	began      time.Time
	naps, late int
}

// senders knows what each of those sent that are paced one by one.
type senders interface {
	// crowding returns who lately sent more than an equal part, and much, while others sent too, and the rate of the one
	// that sent most, in bytes a second.
	crowding() (who map[string]bool, most float64)
}

const (
	// paceLeast is the lowest rate for each processor, in bytes a second.
	paceLeast = 2 << 20
	// paceShare is how many bytes of an application that is paced may wait for the log.
	paceShare = 64 << 10
	// paceLook is how often it is computed who is paced, from what was sent in paceTime.
	paceLook, paceTime = 10 * time.Millisecond, 2 * time.Second
	// paceMuch is the number of bytes in paceTime up to which nobody is paced.
	paceMuch = 512 << 10
	// paceWindow is how long naps are counted before the rate changes.
	paceWindow = 50 * time.Millisecond
	// paceNap is the length of a nap, and the least delay of a request that is paced.
	paceNap = time.Millisecond
	// paceLate is the delay from which a nap ended late. Timers of an idle machine are up to a millisecond late.
	paceLate = 2 * time.Millisecond
	// paceShort is the part of naps that ended late, one in so many, from which the processors are short.
	paceShort = 20
	// paceFall and paceRise are the factors by which the rate changes after a window.
	paceFall, paceRise = 0.8, 1.05
	// paceBurst is the time for which a sender that paused may send at once what it did not send then.
	paceBurst = 20 * time.Millisecond
)

// newPace returns the pace of a node that has so many processors.
func newPace(sent senders, processors int, now func() time.Time) *pace {
	p := &pace{
		sent: sent, now: now, least: paceLeast * float64(processors),
		crowding: map[string]bool{}, free: map[string]time.Time{},
	}
	p.nap = p.sleep
	return p
}

// sleep sleeps, or until ctx ends, and returns how late it continued.
func (p *pace) sleep(ctx context.Context, length time.Duration) time.Duration {
	began := p.now()
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return p.now().Sub(began) - length
	case <-ctx.Done():
		return 0
	}
}

// wait waits until a sender may send so many bytes. It reports whether it is paced.
func (p *pace) wait(ctx context.Context, sender string, bytes int64) (paced bool, err error) {
	if p == nil || !p.crowds(sender) {
		return false, nil
	}
	at, ok := p.reserve(sender, bytes)
	for left := paceNap; left > 0 && ctx.Err() == nil; left = at.Sub(p.now()) {
		if p.watching.CompareAndSwap(false, true) {
			p.observe(p.nap(ctx, paceNap))
			p.watching.Store(false)
		} else {
			p.nap(ctx, left)
		}
	}
	if !ok || ctx.Err() != nil {
		return true, errBusy()
	}
	return true, nil
}

// crowds reports whether a sender sends more than an equal part, and much, while others send too.
func (p *pace) crowds(sender string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); now.Sub(p.refreshed) >= paceLook {
		p.refreshed = now
		p.crowding, p.most = p.sent.crowding()
	}
	return p.crowding[sender]
}

// reserve returns when a sender may send so many bytes. If that is too far away it returns false, and
// the time at which to refuse.
func (p *pace) reserve(sender string, bytes int64) (at time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now.Sub(p.began) > paceTime { // nobody was paced for so long
		p.rate = max(p.least, p.most)
		p.began, p.naps, p.late = now, 0, 0
		clear(p.free)
	}
	at = p.free[sender]
	if earliest := now.Add(-paceBurst); at.Before(earliest) {
		at = earliest
	}
	if limit := now.Add(admissionTime); at.After(limit) {
		return limit, false
	}
	p.free[sender] = at.Add(time.Duration(float64(bytes) / p.rate * float64(time.Second)))
	return at, true
}

// observe counts a nap, and sets the rate at the end of a window.
func (p *pace) observe(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.naps++
	if delay > paceLate {
		p.late++
	}
	now := p.now()
	if now.Sub(p.began) < paceWindow {
		return
	}
	if p.late*paceShort > p.naps {
		p.rate = max(p.least, p.rate*paceFall)
	} else {
		p.rate = min(p.rate*paceRise, max(p.least, 2*p.most))
	}
	p.began, p.naps, p.late = now, 0, 0
}

// boundedAddress returns what counts as one address: an IPv4 address, or the 64 bits of an IPv6 one that are its network, within
// which a host chooses its addresses freely. It is empty for addresses that are not public: such a connection comes from a proxy that
// is not known as one, or from the operator's own network.
func boundedAddress(text string) string {
	ip, err := netip.ParseAddr(text)
	if err != nil || !ip.IsGlobalUnicast() || ip.IsPrivate() || carrierNetwork().Contains(ip) {
		return ""
	}
	if ip.Is4() {
		return text
	}
	network, err := ip.Prefix(64)
	if err != nil {
		return ""
	}
	return network.String()
}

// carrierNetwork is the shared address space between a provider and its customers.
func carrierNetwork() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10)
}

// maxAddresses bounds how many addresses are told apart in a window.
const maxAddresses = 4096

// sentAddresses counts the bytes that addresses sent in the latest time, about: in the present window, and in the part of the
// former one that is not past yet. Its memory is bounded: of more than maxAddresses only the sum is known, but those that sent
// much in a window are told apart in the next one.
type sentAddresses struct {
	now    func() time.Time
	window time.Duration
	// much is the number of bytes in a window up to which an address is not bounded.
	much int64

	mu              sync.Mutex
	began           time.Time
	present, former addressWindow
}

// addressWindow is what came in one window.
type addressWindow struct {
	by    map[string]*addressUse
	total int64
	// heavy are the addresses that may have sent much within the length of a window.
	heavy map[string]*addressUse
}

// addressUse is what one address sent, by application.
type addressUse struct {
	total int64
	apps  []appBytes
}

type appBytes struct {
	app   string
	bytes int64
}

// maxAddressApps bounds the applications of one address that are told apart.
const maxAddressApps = 16

func newSentAddresses(now func() time.Time, window time.Duration, much int64) *sentAddresses {
	return &sentAddresses{now: now, window: window, much: much, present: newAddressWindow(), former: newAddressWindow()}
}

func newAddressWindow() addressWindow {
	return addressWindow{by: map[string]*addressUse{}, heavy: map[string]*addressUse{}}
}

// add notes what an address sent to an application.
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

// turn begins the window of the present.
func (s *sentAddresses) turn() (past float64) {
	now := s.now()
	if age := now.Sub(s.began); age >= 2*s.window {
		s.began, s.present, s.former = now, newAddressWindow(), newAddressWindow()
	} else if age >= s.window {
		s.began, s.former, s.present = s.began.Add(s.window), s.present, newAddressWindow()
	}
	return float64(now.Sub(s.began)) / float64(s.window)
}

// crowding returns the addresses that sent much, and more than an equal part, while others sent too, and the rate of the one that sent
// most, in bytes a second.
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

// ofApp returns how many addresses sent to an application lately, and of the one that sent most what it is and how many
// bytes a second it sent there.
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
