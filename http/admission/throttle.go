package admission

import (
	"context"
	"maps"
	"sync"
	"time"
)

// throttle delays applications that send more than their part while the node stores less than it
// takes in. Records of a shard are stored in the order of the log, so all its applications wait for the
// records of one that sends too much. An application that sends alone to its shard is not delayed.
type throttle struct {
	sent *sentBytes
	// lag returns the age of the oldest record of a shard that is not stored.
	lag func(shard int) time.Duration
	// maxLag is how old that record may be at present before an application is delayed. Half of it suffices for
	// an application that sent throttleMuch of what is not stored.
	maxLag func() time.Duration
	now    func() time.Time

	mu sync.Mutex
	// refreshed is when held was computed.
	refreshed time.Time
	held      map[string]bool
	// shards are those to which applications send; of those that are missing it is 0.
	shards map[string]int
}

const (
	// throttleMuch is the number of bytes that a node stores in a fraction of a second: an
	// application with less does not keep others waiting for long.
	throttleMuch = 4 << 20
	// throttleLook is how often a waiting request checks again.
	throttleLook = 20 * time.Millisecond
)

// wait waits until an application may send to its shard. It reports whether the application was held back.
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

// note notes the shard of an application.
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

// refresh computes which applications are delayed: those with more than an equal part of the
// bytes of their shard that are not stored.
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

// refreshShard is refresh of the applications of a shard, whose oldest record is so old.
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
