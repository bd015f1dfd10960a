package grain

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Workers runs work beside mailboxes, each piece on a goroutine that then waits a while for the
// next one: a new goroutine would grow its stack again every time.
//
// All work runs under one context, which Run cancels at the end of the node before it waits for
// the work that is left.
type Workers struct {
	ctx    context.Context //nolint:containedctx // it is the node's; work outlives the message that began it
	cancel context.CancelFunc

	mu   sync.Mutex
	idle []*worker // the one that has waited least is last, and is taken first
	busy int
	// finished, once Run waits, is closed when nobody is busy.
	finished chan struct{}
}

// workerWait is how long a goroutine waits for work.
const workerWait = time.Second

// worker is one goroutine of the pool.
type worker struct {
	work chan func(ctx context.Context)
}

// NewWorkers returns an empty pool.
func NewWorkers() *Workers {
	ctx, cancel := context.WithCancel(context.Background())
	return &Workers{ctx: ctx, cancel: cancel}
}

// Context returns the context of all work, for work that ends earlier to derive its own from.
func (w *Workers) Context() context.Context { return w.ctx }

// Run keeps the pool until ctx ends, and returns once all work has ended.
func (w *Workers) Run(ctx context.Context) error {
	<-ctx.Done()
	w.cancel()
	w.mu.Lock()
	finished := make(chan struct{})
	if w.finished = finished; w.busy == 0 {
		w.finished = nil
		close(finished)
	}
	w.mu.Unlock()
	<-finished
	return nil
}

// Go has work run, without waiting for it.
func (w *Workers) Go(work func(ctx context.Context)) {
	w.mu.Lock()
	w.busy++
	if n := len(w.idle); n > 0 {
		one := w.idle[n-1]
		w.idle[n-1] = nil
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		one.work <- work
		return
	}
	w.mu.Unlock()
	go w.serve(&worker{make(chan func(context.Context), 1)}, work)
}

// serve is the life of a worker.
func (w *Workers) serve(one *worker, work func(context.Context)) {
	timer := time.NewTimer(workerWait)
	defer timer.Stop()
	for {
		w.perform(work)
		w.mu.Lock()
		w.idle = append(w.idle, one)
		w.mu.Unlock()
		timer.Reset(workerWait)
		select {
		case work = <-one.work:
			continue
		case <-timer.C:
		case <-w.ctx.Done():
		}
		if w.leave(one) {
			return
		}
		work = <-one.work
	}
}

// perform does one piece of work and notes its end.
func (w *Workers) perform(work func(context.Context)) {
	work(w.ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy--; w.busy == 0 && w.finished != nil {
		close(w.finished)
		w.finished = nil
	}
}

// leave takes a worker out of the pool; it reports false where the worker was given work
// meanwhile.
func (w *Workers) leave(one *worker) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := slices.Index(w.idle, one)
	if at < 0 {
		return false
	}
	w.idle = slices.Delete(w.idle, at, at+1)
	return true
}
