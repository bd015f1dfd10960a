package actors

import (
	"sync"
	"time"
)

// reach is what the saves of a node tell of the store that its actors share. The zero
// value knows of nothing bad; so does nil.
type reach struct {
	mu sync.Mutex
	// failed is when a save failed last, zero once one has succeeded.
	failed time.Time
	// under counts the saves under way; for their store there was a sign of life at since.
	under int
	since time.Time
}

// A store counts as away for failedTime behind a save that failed, so that somebody tries
// again soon, and where saves are under way and none has ended for silentTime.
const (
	failedTime = 2 * time.Second
	silentTime = 3 * time.Second
)

// begins notes a save.
func (r *reach) begins(now time.Time) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.under == 0 {
		r.since = now
	}
	r.under++
}

// ends notes how a save ended.
func (r *reach) ends(now time.Time, err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.under--
	r.since, r.failed = now, time.Time{}
	if err != nil {
		r.failed = now
	}
}

// away says whether the store is known to be out of reach.
func (r *reach) away(now time.Time) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.failed.IsZero() && now.Sub(r.failed) < failedTime || r.under > 0 && now.Sub(r.since) >= silentTime
}
