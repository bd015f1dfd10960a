package actors

import (
	"slices"
	"sync"
	"time"
)

// crew runs functions beside mailboxes, each on a goroutine that waits for a next one for a
// while: a new goroutine would grow its stack anew every time. The zero value is ready.
type crew struct {
	mu   sync.Mutex
	idle []*hand // who waited least is last, and taken first
}

// crewWait is how long a goroutine waits for work.
const crewWait = time.Second

// hand is one goroutine of a crew.
type hand struct{ work chan func() }

// run has a function run, without waiting for it.
func (c *crew) run(work func()) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		h := c.idle[n-1]
		c.idle[n-1] = nil
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		h.work <- work
		return
	}
	c.mu.Unlock()
	go c.serve(&hand{make(chan func(), 1)}, work)
}

// serve is the life of a hand.
func (c *crew) serve(h *hand, work func()) {
	timer := time.NewTimer(crewWait)
	defer timer.Stop()
	for {
		work()
		c.mu.Lock()
		c.idle = append(c.idle, h)
		c.mu.Unlock()
		timer.Reset(crewWait)
		select {
		case work = <-h.work:
		case <-timer.C:
			if c.leave(h) {
				return
			}
			work = <-h.work
		}
	}
}

// leave takes a hand out; false says that it was given work.
func (c *crew) leave(h *hand) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(c.idle, h)
	if at < 0 {
		return false
	}
	c.idle = slices.Delete(c.idle, at, at+1)
	return true
}
