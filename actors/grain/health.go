package grain

import (
	"sync"
	"time"
)

// storeHealth infers from the saves of a node whether the store answers. Nil and the zero value
// mean that it does.
type storeHealth struct {
	mu sync.Mutex
	// failed is when a save failed last; zero once one has succeeded.
	failed time.Time
	// saving counts the saves under way, alive is the last sign of life from their store.
	saving int
	alive  time.Time
}

// The store counts as away for FailedTime after a save failed, so that somebody tries again
// soon, and while saves are under way of which none has ended for silentTime.
const (
	FailedTime = 2 * time.Second
	silentTime = 3 * time.Second
)

// begin notes that a save begins.
func (h *storeHealth) begin(now time.Time) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.saving == 0 {
		h.alive = now
	}
	h.saving++
}

// end notes how a save ended.
func (h *storeHealth) end(now time.Time, err error) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.saving--
	h.alive, h.failed = now, time.Time{}
	if err != nil {
		h.failed = now
	}
}

// away reports whether the store is known not to answer.
func (h *storeHealth) away(now time.Time) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.failed.IsZero() && now.Sub(h.failed) < FailedTime || h.saving > 0 && now.Sub(h.alive) >= silentTime
}
