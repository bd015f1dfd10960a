package kafka

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// waiter counts down the parts of one call. The caller and every part hold a
// reference; whoever drops the last one recycles it, so that a caller may leave
// at its deadline while parts are under way.
type waiter struct {
	pool  *sync.Pool
	refs  atomic.Int32
	err   atomic.Pointer[error]
	done  chan struct{}
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
	w.refs.Store(int32(parts) + 1)
}

// resolve ends n parts of the call. The first error is the call's result.
func (w *waiter) resolve(err error, n int) {
	if err != nil {
		first := err
		w.err.CompareAndSwap(nil, &first)
	}
	switch w.refs.Add(-int32(n)) {
	case 1:
		w.done <- struct{}{}
	case 0:
		w.pool.Put(w)
	}
}

// wait returns the result of the call once all parts ended, or at the end of
// ctx, or after limit if it is above 0. The waiter is not used afterwards.
func (w *waiter) wait(ctx context.Context, limit time.Duration) error {
	if limit > 0 {
		w.timer.Reset(limit)
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
		err = *first
	}
	w.pool.Put(w)
	return err
}

// leave gives up the caller's reference without a result.
func (w *waiter) leave() {
	if w.refs.Add(-1) == 0 {
		<-w.done
		w.pool.Put(w)
	}
}
