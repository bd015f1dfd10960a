// Package groupcommit lets concurrent callers share one write.
package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// Committer combines the items of concurrent callers into one call of its function. While one call runs, later callers
// queue, and the next call takes all of them. There is no timer, so a single caller does not wait for others.
type Committer[T any] struct {
	write func(context.Context, []T) error

	mu      sync.Mutex
	waiting *group[T] // joins the next write; guarded by mu
	running bool      // guarded by mu
}

// group is the set of callers of one write.
type group[T any] struct {
	items []T
	done  chan struct{} // closed after err is set
	err   error
}

// ErrAbandoned is returned to a caller if its context ends before the write with its items. The write continues, so the
// caller does not know whether the items are stored.
var ErrAbandoned = errors.New("the write goes on, but its caller waits no longer")

// New returns a committer that calls write with the items of one or several callers, in order of arrival. Calls do not
// overlap.
func New[T any](write func(context.Context, []T) error) *Committer[T] {
	return &Committer[T]{write: write}
}

// Commit waits for the write that carries the items and returns its error. The write outlives every caller's context.
// If a caller's context ends first, the caller gets [ErrAbandoned] with the error of the context.
func (c *Committer[T]) Commit(ctx context.Context, items ...T) error {
	c.mu.Lock()
	if c.waiting == nil {
		c.waiting = &group[T]{done: make(chan struct{})}
	}
	mine := c.waiting
	mine.items = append(mine.items, items...)
	if !c.running {
		c.running = true
		go c.lead(context.WithoutCancel(ctx))
	}
	c.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return errors.Join(ErrAbandoned, ctx.Err())
	}
}

// lead writes groups one after another until none is left.
func (c *Committer[T]) lead(ctx context.Context) {
	for {
		c.mu.Lock()
		mine := c.waiting
		if c.waiting = nil; mine == nil {
			c.running = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		mine.err = c.try(ctx, mine.items)
		close(mine.done)
	}
}

// try calls write and converts a panic into an error, so that later groups are still written.
func (c *Committer[T]) try(ctx context.Context, items []T) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("a write panicked: %v\n%s", broken, debug.Stack())
		}
	}()
	return c.write(ctx, items)
}
