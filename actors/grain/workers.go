package grain

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Workers runs work outside mailboxes, each piece on a goroutine that then waits a while for the next piece: a new
// goroutine would grow its stack again every time.
//
// All work runs under one context. When the node ends, Run cancels it and then waits for the remaining work.
type Workers struct {
	ctx    context.Context //nolint:containedctx // it is the node's; work outlives the message that began it
	cancel context.CancelFunc

	mu   sync.Mutex
	idle []*worker // the worker that has waited least is last, and is taken first
	busy int
	// finished is non-nil while Run waits, and is closed when no worker is busy.
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

// Context returns the context of all work. Work that ends earlier derives its own context from it.
func (w *Workers) Context() context.Context { return w.ctx }

// Run returns once ctx ends and all work has ended.
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

// Go runs work on a worker, without waiting for it.
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

// serve is the loop of a worker.
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

// perform runs one piece of work and counts its end.
func (w *Workers) perform(work func(context.Context)) {
	work(w.ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy--; w.busy == 0 && w.finished != nil {
		close(w.finished)
		w.finished = nil
	}
}

// leave removes a worker from the pool. It returns false if the worker was given work meanwhile.
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
