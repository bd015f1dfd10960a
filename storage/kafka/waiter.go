package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// resolveGrace is how long a call waits for the lanes after its deadline. The lanes give up unsent blocks at the
// deadline and then know that those blocks are not in the log.
const resolveGrace = 50 * time.Millisecond

// waiter counts down the parts of one call. The caller holds one reference, and the unfinished parts together hold
// another. The last release recycles the waiter, so that a caller may leave at its deadline while parts are under way.
type waiter struct {
	pool  *sync.Pool
	refs  atomic.Int32
	left  atomic.Int32 // parts without a result
	err   atomic.Pointer[error]
	kept  atomic.Bool   // a part is in the log, or may be
	done  chan struct{} // holds a token once the last part has a result
	timer *time.Timer
}

func newWaiter(pool *sync.Pool) *waiter {
	w := &waiter{pool: pool, done: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	return w
}

// begin prepares the waiter for a call of some parts.
func (w *waiter) begin(parts int) {
	w.err.Store(nil)
	w.kept.Store(false)
	w.left.Store(int32(parts))
	w.refs.Store(2)
}

// resolve ends n parts of the call. The first error is the result of the call. The result is ErrNotAppended only if all
// parts failed with it.
func (w *waiter) resolve(err error, n int) {
	if !errors.Is(err, ErrNotAppended) {
		w.kept.Store(true)
	}
	if err != nil {
		first := err
		w.err.CompareAndSwap(nil, &first)
	}
	if w.left.Add(-int32(n)) == 0 {
		w.done <- struct{}{}
		w.leave()
	}
}

// wait returns the result of the call once all parts have ended. It returns an error when ctx ends, or after limit if
// limit is above 0. The caller must not use the waiter afterwards.
func (w *waiter) wait(ctx context.Context, limit time.Duration) error {
	if limit > 0 {
		w.timer.Reset(limit + resolveGrace)
	}
	var late error
	select {
	case <-w.done:
	case <-ctx.Done():
		late = ctx.Err()
	case <-w.timer.C:
		late = context.DeadlineExceeded
	}
	if limit > 0 {
		w.timer.Stop()
	}
	if late != nil {
		w.leave()
		return fmt.Errorf("%w: waiting for the acknowledgement: %w", ErrUnavailable, late)
	}
	var err error
	if first := w.err.Load(); first != nil {
		if err = *first; w.kept.Load() && errors.Is(err, ErrNotAppended) {
			err = fmt.Errorf("%w: a part of the call: %v", ErrUnavailable, err) //nolint:errorlint // not all of it was left out
		}
	}
	w.leave()
	return err
}

// leave releases a reference. The last release removes the token if the caller did not wait for it; otherwise the next
// call would find itself done.
func (w *waiter) leave() {
	if w.refs.Add(-1) > 0 {
		return
	}
	select {
	case <-w.done:
	default:
	}
	w.pool.Put(w)
}
