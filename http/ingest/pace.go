package ingest

import (
	"context"
	"sync"
	"time"
)

// pace holds back applications that send more than their part while the node stores less than
// it takes in. Records are stored in the order of the log, so all applications wait for the
// records of one that sends too much. An application that sends alone is not held back.
type pace struct {
	// behind returns the age of the oldest record that is not stored.
	behind func() time.Duration
	// most is how old it may be before an application is held back. Half of it is enough for an
	// application that sent paceMuch of what is not stored.
	most time.Duration
	now  func() time.Time

	mu   sync.Mutex
	sent map[string]*paceCount
	// looked is when held was worked out.
	looked time.Time
	held   map[string]bool
}

const (
	// paceSlot and paceSlots are the grain and the reach of what is remembered.
	paceSlot  = 100 * time.Millisecond
	paceSlots = 64
	// paceMuch is the number of events that a node stores in a fraction of a second: below it, an application does not
	// keep others waiting for long.
	paceMuch = 4 << 20
	// paceLook is how often a waiting request checks again.
	paceLook = 20 * time.Millisecond
)

// paceCount has the bytes that an application sent in the latest slots of time.
type paceCount struct {
	bytes [paceSlots]int64
	slots [paceSlots]int64
}

// Follow makes the door hold back applications that send more than their part, as long as the
// oldest record that is not stored is older than most.
func (d *Door) Follow(behind func() time.Duration, most time.Duration, now func() time.Time) {
	d.pace = &pace{behind: behind, most: most, now: now, sent: map[string]*paceCount{}}
}

// wait waits until an application may go on.
func (p *pace) wait(ctx context.Context, app string) error {
	if p == nil || !p.holds(app) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, doorTime)
	defer cancel()
	look := time.NewTicker(paceLook)
	defer look.Stop()
	for p.holds(app) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return errCrowded()
		}
	}
	return nil
}

// add notes what an application sent.
func (p *pace) add(app string, bytes int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	count := p.sent[app]
	if count == nil {
		count = &paceCount{}
		p.sent[app] = count
	}
	slot := p.slot()
	at := slot % paceSlots
	if count.slots[at] != slot {
		count.slots[at], count.bytes[at] = slot, 0
	}
	count.bytes[at] += bytes
}

func (p *pace) slot() int64 { return p.now().UnixMilli() / paceSlot.Milliseconds() }

// holds reports whether an application is held back.
func (p *pace) holds(app string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); now.Sub(p.looked) >= paceLook/2 {
		p.looked = now
		p.look()
	}
	return p.held[app]
}

// look works out which applications are held back: those with more than an equal part of the
// bytes that are not stored.
func (p *pace) look() {
	behind := p.behind()
	clear(p.held)
	present := p.slot()
	first := present - min(paceSlots-1, int64(max(behind, p.most/2)/paceSlot))
	var total int64
	parts := map[string]int64{}
	for app, count := range p.sent {
		latest := int64(0)
		for at, slot := range count.slots {
			if slot >= first {
				parts[app] += count.bytes[at]
			}
			latest = max(latest, slot)
		}
		total += parts[app]
		if latest < present-paceSlots {
			delete(p.sent, app)
		}
	}
	if behind <= p.most/2 || len(parts) < 2 {
		return
	}
	if p.held == nil {
		p.held = map[string]bool{}
	}
	for app, bytes := range parts {
		p.held[app] = bytes > total/int64(len(parts)) && (behind > p.most || bytes > paceMuch)
	}
}
