package admission

import (
	"net/netip"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/telemetry"
)

const (
	// fairnessKept is the time for which a sender that met a bound is remembered.
	fairnessKept = time.Hour
	// fairnessSenders bounds the recorded senders of an environment; later ones are not recorded.
	fairnessSenders = 100
)

// fairness records the senders that this node has delayed. It is written only when a request was delayed.
type fairness struct {
	mu sync.Mutex
	by map[uint64]map[fairnessSender]*telemetry.FairnessMet
}

// fairnessSender is a key, and for a public key also the network of the connection.
type fairnessSender struct{ key, network string }

// note records the outcome of a sender's request.
func (f *fairness) note(collector *domain.Collector, network string, now time.Time, add func(met *telemetry.FairnessMet)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[uint64]map[fairnessSender]*telemetry.FairnessMet{}
	}
	senders := f.by[collector.Environment.Number]
	if senders == nil {
		senders = map[fairnessSender]*telemetry.FairnessMet{}
		f.by[collector.Environment.Number] = senders
	}
	sender := fairnessSender{collector.KeyID, network}
	met := senders[sender]
	if met == nil {
		forget(senders, now)
		if len(senders) >= fairnessSenders {
			return
		}
		met = &telemetry.FairnessMet{KeyID: collector.KeyID, Network: network}
		senders[sender] = met
	}
	met.LastAt = now
	add(met)
}

// forget removes senders that have met no bound for fairnessKept.
func forget(senders map[fairnessSender]*telemetry.FairnessMet, now time.Time) {
	for sender, met := range senders {
		if now.Sub(met.LastAt) > fairnessKept {
			delete(senders, sender)
		}
	}
}

// of returns the senders of an environment that met a bound.
func (f *fairness) of(environment uint64, now time.Time) (met []telemetry.FairnessMet) {
	f.mu.Lock()
	defer f.mu.Unlock()
	forget(f.by[environment], now)
	for _, one := range f.by[environment] {
		met = append(met, *one)
	}
	return met
}

// Fairness returns the bounds of an application on this node, their use, and the senders of an environment that met
// them.
func (c *Control) Fairness(app string, environment uint64, now time.Time) telemetry.Fairness {
	out := telemetry.Fairness{Met: telemetry.SortFairness(c.met.of(environment, now))}
	if c.sent == nil {
		return out
	}
	parts, _ := c.sent.lately(paceTime)
	out.BytesPerSecond = float64(parts[app]) / paceTime.Seconds()
	out.Bound = c.pace.bound(app)
	var busiest string
	out.Addresses, busiest, out.AddressBytesPerSecond = c.fromAddresses.ofApp(app)
	out.AddressBound = c.addressPace.bound(busiest)
	return out
}

// bound returns the permitted rate of a sender in bytes a second; nil while it is not bounded.
func (p *pace) bound(sender string) *float64 {
	if !p.crowds(sender) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rate := max(p.rate, p.least)
	return &rate
}

// Meet records that a request of a sender at an address met a bound.
func (c *Control) Meet(collector *domain.Collector, address string, now time.Time, add func(met *telemetry.FairnessMet)) {
	if c != nil && collector != nil {
		c.met.note(collector, networkOf(address), now, add)
	}
}

// networkOf returns the network of an address, which many people share; empty without an address.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	bits := 24
	if ip.Is6() {
		bits = 48
	}
	network, err := ip.Prefix(bits)
	if err != nil {
		return ""
	}
	return network.String()
}
