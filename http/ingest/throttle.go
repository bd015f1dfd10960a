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
	sent *sentBytes
	// lag returns the age of the oldest record that is not stored.
	lag func() time.Duration
	// maxLag is how old that record may be before an application is delayed. Half of it suffices for
	// an application that sent throttleMuch of what is not stored.
	maxLag time.Duration
	now    func() time.Time

	mu sync.Mutex
	// refreshed is when held was computed.
	refreshed time.Time
	held      map[string]bool
}

const (
	// throttleMuch is the number of bytes that a node stores in a fraction of a second: an
	// application with less does not keep others waiting for long.
	throttleMuch = 4 << 20
	// throttleLook is how often a waiting request checks again.
	throttleLook = 20 * time.Millisecond
)

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
	parts, total := t.sent.lately(max(lag, t.maxLag/2))
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

const (
	// The sent bytes are counted in sentSlots slots of sentSlot each.
	sentSlot  = 100 * time.Millisecond
	sentSlots = 64
)

// sentBytes counts the bytes that applications sent in the latest slots of time.
type sentBytes struct {
	now func() time.Time

	mu   sync.Mutex
	apps map[string]*sentByApp
}

// sentByApp holds the bytes of one application, and the numbers of the slots in which it sent them.
type sentByApp struct {
	bytes [sentSlots]int64
	slots [sentSlots]int64
}

func newSentBytes(now func() time.Time) *sentBytes {
	return &sentBytes{now: now, apps: map[string]*sentByApp{}}
}

// add notes what an application sent.
func (s *sentBytes) add(app string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.apps[app]
	if sent == nil {
		sent = &sentByApp{}
		s.apps[app] = sent
	}
	slot := s.slot()
	at := slot % sentSlots
	if sent.slots[at] != slot {
		sent.slots[at], sent.bytes[at] = slot, 0
	}
	sent.bytes[at] += bytes
}

func (s *sentBytes) slot() int64 { return s.now().UnixMilli() / sentSlot.Milliseconds() }

// lately returns what each application sent in the latest time, and the sum. Applications that sent nothing
// are left out.
func (s *sentBytes) lately(latest time.Duration) (parts map[string]int64, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	present := s.slot()
	first := present - min(sentSlots-1, int64(latest/sentSlot))
	parts = map[string]int64{}
	for app, sent := range s.apps {
		last := int64(0)
		for at, slot := range sent.slots {
			if slot >= first {
				parts[app] += sent.bytes[at]
			}
			last = max(last, slot)
		}
		total += parts[app]
		if last < present-sentSlots {
			delete(s.apps, app)
		}
	}
	return parts, total
}
