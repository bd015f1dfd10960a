package grain

import (
	"sync"
	"time"
)

// storeHealth infers from the saves of a node whether the store answers. Nil and the zero value mean that it does.
type storeHealth struct {
	mu sync.Mutex
	// failed is the time of the last save if it failed, zero if it succeeded.
	failed time.Time
	// saving counts the saves under way; alive is the last time at which the store answered, or at which saves began.
	saving int
	alive  time.Time
}

// The store counts as away for FailedTime after a failed save; then another call tries again. It also counts as away if
// saves are under way and none has ended for silentTime.
const (
	FailedTime = 2 * time.Second
	silentTime = 3 * time.Second
)

// begin notes the begin of a save.
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

// end notes the end and the result of a save.
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

// away reports whether the store does not answer, as far as the saves show.
func (h *storeHealth) away(now time.Time) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.failed.IsZero() && now.Sub(h.failed) < FailedTime || h.saving > 0 && now.Sub(h.alive) >= silentTime
}
