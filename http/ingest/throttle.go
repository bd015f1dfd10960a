package ingest

import (
	"context"
	"sync"
	"time"
)

// throttle delays applications that send more than their part while the node stores less than it
// takes in. Records are stored in the order of the log, so all applications wait for the
// records of one that sends too much. An application that sends alone is not delayed.
type throttle struct {
	// lag returns the age of the oldest record that is not stored.
	lag func() time.Duration
	// maxLag is how old that record may be before an application is delayed. Half of it suffices for
	// an application that sent throttleMuch of what is not stored.
	maxLag time.Duration
	now    func() time.Time

	mu   sync.Mutex
	sent map[string]*sentBytes
	// refreshed is when held was computed.
	refreshed time.Time
	held      map[string]bool
}

const (
	// The sent bytes are counted in throttleSlots slots of throttleSlot each.
	throttleSlot  = 100 * time.Millisecond
	throttleSlots = 64
	// throttleMuch is the number of bytes that a node stores in a fraction of a second: an
	// application with less does not keep others waiting for long.
	throttleMuch = 4 << 20
	// throttleLook is how often a waiting request checks again.
	throttleLook = 20 * time.Millisecond
)

// sentBytes holds the bytes that an application sent in the latest slots of time.
type sentBytes struct {
	bytes [throttleSlots]int64
	slots [throttleSlots]int64
}

// Throttle delays applications that send more than their part, as long as the oldest record that is
// not stored is older than maxLag.
func (a *Admission) Throttle(lag func() time.Duration, maxLag time.Duration, now func() time.Time) {
	a.throttle = &throttle{lag: lag, maxLag: maxLag, now: now, sent: map[string]*sentBytes{}}
}

// wait waits until an application may continue.
func (t *throttle) wait(ctx context.Context, app string) error {
	if t == nil || !t.holds(app) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, admissionTime)
	defer cancel()
	look := time.NewTicker(throttleLook)
	defer look.Stop()
	for t.holds(app) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return errBusy()
		}
	}
	return nil
}

// add notes what an application sent.
func (t *throttle) add(app string, bytes int64) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	count := t.sent[app]
	if count == nil {
		count = &sentBytes{}
		t.sent[app] = count
	}
	slot := t.slot()
	at := slot % throttleSlots
	if count.slots[at] != slot {
		count.slots[at], count.bytes[at] = slot, 0
	}
	count.bytes[at] += bytes
}

func (t *throttle) slot() int64 { return t.now().UnixMilli() / throttleSlot.Milliseconds() }

// holds reports whether an application is delayed.
func (t *throttle) holds(app string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.now(); now.Sub(t.refreshed) >= throttleLook/2 {
		t.refreshed = now
		t.refresh()
	}
	return t.held[app]
}

// refresh computes which applications are delayed: those with more than an equal part of the
// bytes that are not stored.
func (t *throttle) refresh() {
	lag := t.lag()
	clear(t.held)
	present := t.slot()
	first := present - min(throttleSlots-1, int64(max(lag, t.maxLag/2)/throttleSlot))
	var total int64
	parts := map[string]int64{}
	for app, count := range t.sent {
		latest := int64(0)
		for at, slot := range count.slots {
			if slot >= first {
				parts[app] += count.bytes[at]
			}
			latest = max(latest, slot)
		}
		total += parts[app]
		if latest < present-throttleSlots {
			delete(t.sent, app)
		}
	}
	if lag <= t.maxLag/2 || len(parts) < 2 {
		return
	}
	if t.held == nil {
		t.held = map[string]bool{}
	}
	for app, bytes := range parts {
		t.held[app] = bytes > total/int64(len(parts)) && (lag > t.maxLag || bytes > throttleMuch)
	}
}
