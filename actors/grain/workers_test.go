package grain

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// waiting returns how many workers wait.
func waiting(w *Workers) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.idle)
}

// TestWorkersAreUsedAgain gives a pool work in rounds. The pool has as many workers as concurrent pieces of work, and
// none after a while without work.
func TestWorkersAreUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := NewWorkers()
		var done atomic.Int32
		for round := range 10 {
			work := 1 + round%4
			for range work {
				w.Go(func(context.Context) { <-time.After(workerWait / 10); done.Add(1) })
			}
			<-time.After(workerWait / 2)
			synctest.Wait()
			if want := []int{1, 2, 3, 4, 4, 2, 3, 4, 4, 2}[round]; waiting(w) != want {
				t.Errorf("%d workers wait after round %d, want %d", waiting(w), round, want)
			}
		}
		<-time.After(2 * workerWait)
		synctest.Wait()
		if got := done.Load(); got != 23 || waiting(w) != 0 {
			t.Errorf("%d pieces of work were done, %d workers wait", got, waiting(w))
		}
	})
}

// TestWorkThatComesAsAWorkerLeavesIsDone submits work at the very instants at which workers leave.
func TestWorkThatComesAsAWorkerLeavesIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := NewWorkers()
		var done atomic.Int32
		for range 1000 {
			w.Go(func(context.Context) { done.Add(1) })
			<-time.After(workerWait)
		}
		<-time.After(2 * workerWait)
		synctest.Wait()
		if got := done.Load(); got != 1000 || waiting(w) != 0 {
			t.Errorf("%d pieces of work were done, %d workers wait", got, waiting(w))
		}
	})
}

// TestRunWaitsForWork ends a pool while work is under way. The context of the work ends, and Run returns only after the
// work.
func TestRunWaitsForWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := NewWorkers()
		var done atomic.Int32
		for range 3 {
			w.Go(func(ctx context.Context) {
				<-ctx.Done()
				<-time.After(time.Second)
				done.Add(1)
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil || done.Load() != 3 {
			t.Errorf("Run ended with %v after %d of 3 pieces of work", err, done.Load())
		}
	})
}
