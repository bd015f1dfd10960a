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
