package admission

import (
	"context"
	"maps"
	"sync"
	"time"
)

// throttle delays applications that send more than their part while the node stores less than it receives. Records of a
// shard are stored in the order of the log, so all its applications wait for the records of one that sends too much. An
// application that is alone in its shard is not delayed.
type throttle struct {
	sent *sentBytes
	// lag returns the age of the oldest unstored record of a shard.
	lag func(shard int) time.Duration
	// maxLag is the maximum age of that record before an application is delayed. Half of it suffices for an application
	// that sent throttleMuch of the unstored bytes.
	maxLag func() time.Duration
	now    func() time.Time

	mu sync.Mutex
	// refreshed is the time at which held was computed.
	refreshed time.Time
	held      map[string]bool
	// shards maps an application to the shard to which it sends; a missing entry means 0.
	shards map[string]int
}

const (
	// throttleMuch is the number of bytes that a node stores in a fraction of a second: an application with less does
	// not delay others for long.
	throttleMuch = 4 << 20
	// throttleLook is the interval at which a waiting request checks again.
	throttleLook = 20 * time.Millisecond
)

// wait waits until an application may send to its shard. It reports whether the application was delayed.
func (t *throttle) wait(ctx context.Context, app string, shard int) (held bool, err error) {
	if t == nil {
		return false, nil
	}
	t.note(app, shard)
	if !t.holds(app) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, admissionTime)
	defer cancel()
	look := time.NewTicker(throttleLook)
	defer look.Stop()
	for t.holds(app) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return true, errBusy()
		}
	}
	return true, nil
}

// note records the shard of an application.
func (t *throttle) note(app string, shard int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shards[app] == shard {
		return
	}
	if t.shards == nil {
		t.shards = map[string]int{}
	}
	t.shards[app] = shard
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

// refresh computes the delayed applications: the ones with more than an equal part of the unstored bytes of their
// shard.
func (t *throttle) refresh() {
	t.held = map[string]bool{}
	known, lately := map[int]bool{0: true}, t.sent.known()
	maps.DeleteFunc(t.shards, func(app string, _ int) bool { return !lately[app] })
	for _, shard := range t.shards {
		known[shard] = true
	}
	for shard := range known {
		t.refreshShard(shard, t.lag(shard))
	}
}

// refreshShard is refresh for the applications of a shard. lag is the age of the shard's oldest unstored record.
func (t *throttle) refreshShard(shard int, lag time.Duration) {
	maxLag := t.maxLag()
	parts, _ := t.sent.lately(max(lag, maxLag/2))
	maps.DeleteFunc(parts, func(app string, _ int64) bool { return t.shards[app] != shard })
	if lag <= maxLag/2 || len(parts) < 2 {
		return
	}
	total := int64(0)
	for _, bytes := range parts {
		total += bytes
	}
	for app, bytes := range parts {
		t.held[app] = bytes > total/int64(len(parts)) && (lag > maxLag || bytes > throttleMuch)
	}
}
