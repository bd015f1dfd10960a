package route

import (
	"math"
	"sync"
	"time"
)

// querySlots bounds the concurrent queries of one token on this node.
type querySlots struct {
	limit int

	mu      sync.Mutex
	running map[string]int
}

func newQuerySlots(limit int) *querySlots {
	return &querySlots{limit: limit, running: map[string]int{}}
}

// enter takes a slot for the call's token. It returns false if all slots are taken. The call returns its slot with
// leave.
func (q *querySlots) enter(call *Call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	token := call.Grant.Token.ID
	if q.limit > 0 && q.running[token] >= q.limit {
		return false
	}
	q.running[token]++
	call.queries = q
	return true
}

// leave returns the call's slot; a call without a slot may call it as well.
func (q *querySlots) leave(call *Call) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	token := call.Grant.Token.ID
	if q.running[token]--; q.running[token] <= 0 {
		delete(q.running, token)
	}
	call.queries = nil
}

// ceilSeconds rounds up to whole seconds.
func ceilSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
