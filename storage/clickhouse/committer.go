package clickhouse

import (
	"context"
	"sync"
)

// committer gathers what concurrent callers write, or ask for, into one statement: while one
// runs, later callers queue, and the next write takes all of them. There is no timer; a
// lone caller waits for nobody.
type committer[T any] struct {
	write func(context.Context, []T) error

	mu      sync.Mutex
	waiting *group[T] // joins the next write; guarded by mu
	running bool      // guarded by mu
}

// group is what one write carries.
type group[T any] struct {
	items []T
	lead  chan struct{} // gives its one receiver the task to write the group
	done  chan struct{} // closed after err is set
	err   error
}

func newCommitter[T any](write func(context.Context, []T) error) *committer[T] {
	return &committer[T]{write: write}
}

// commit returns after the write that carried items ended, with its error. The write
// runs on the goroutine of one of its callers, but outlives every caller's context.
func (c *committer[T]) commit(ctx context.Context, items ...T) error {
	c.mu.Lock()
	if c.waiting == nil {
		c.waiting = &group[T]{lead: make(chan struct{}, 1), done: make(chan struct{})}
	}
	mine := c.waiting
	mine.items = append(mine.items, items...)
	if !c.running {
		c.running = true
		mine.lead <- struct{}{}
	}
	c.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-mine.lead:
		c.lead(context.WithoutCancel(ctx), mine)
		return mine.err
	}
}

// lead writes a group and hands the lead to the group that gathered meanwhile.
func (c *committer[T]) lead(ctx context.Context, mine *group[T]) {
	c.mu.Lock()
	c.waiting = nil
	c.mu.Unlock()
	mine.err = c.write(ctx, mine.items)
	close(mine.done)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.running = false
		return
	}
	c.waiting.lead <- struct{}{}
}
