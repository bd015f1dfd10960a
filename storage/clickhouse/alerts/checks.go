package alerts

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"svc/domain/monitor"
	"svc/storage/clickhouse"
)

const (
	// checkBatch is the maximum number of checks of one insert.
	checkBatch = 100_000
	// keptChecks limits the waiting checks while the store does not answer. Beyond it the oldest are dropped.
	keptChecks = 1_000_000
	// patience is the number of intervals for which checks that passed may wait.
	patience = 4
	// lastWrite limits the attempt to store the remaining checks at the end.
	lastWrite = 5 * time.Second
)

// CheckWriter stores checks in batches, because a batch costs more than most of its checks. Checks that passed wait for
// patience intervals, others for one.
type CheckWriter struct {
	Store    *Store
	Interval time.Duration
	// Name is part of the tokens of inserts. It must differ from process to process.
	Name   string
	Logger *slog.Logger

	// block belongs to the goroutine that writes.
	block checkBlock

	mu      sync.Mutex
	waiting []monitor.Check
	// spare is the memory of a stored batch, for reuse.
	spare   []monitor.Check
	dropped int
	// urgent means that a check which did not pass is waiting.
	urgent bool
}

// Append queues a check. The check is stored within about one interval, or within patience intervals if it passed.
func (w *CheckWriter) Append(check monitor.Check) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) >= keptChecks {
		w.dropped += len(w.waiting) / 2
		w.waiting = append(w.waiting[:0], w.waiting[len(w.waiting)/2:]...)
	}
	w.waiting = append(w.waiting, check)
	w.urgent = w.urgent || check.State.LastStatus != monitor.StatusUp
}

// Run stores the appended checks until ctx ends, and then the remaining ones.
func (w *CheckWriter) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.Interval)
	defer ticker.Stop()
	var batch []monitor.Check
	for number, waited := 0, 0; ; {
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
			defer cancel()
			if err := w.write(ctx, batch, number); err != nil {
				return err
			}
			return w.write(ctx, w.take(), number+1)
		case <-ticker.C:
		}
		if waited++; len(batch) == 0 && w.due(waited) {
			batch, waited = w.take(), 0
		}
		if err := w.write(ctx, batch, number); err != nil {
			if ctx.Err() == nil {
				w.Logger.Warn("storing checks failed", "error", err)
			}
			continue // the same batch again, under the same token
		}
		if len(batch) > 0 {
			w.recycle(batch)
			batch = nil
			number++
		}
	}
}

// due reports whether the waiting checks must be stored after the given number of intervals.
func (w *CheckWriter) due(waited int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.urgent || waited >= patience || len(w.waiting) >= checkBatch
}

// recycle makes the memory of a batch available for reuse.
func (w *CheckWriter) recycle(batch []monitor.Check) {
	clear(batch)
	w.mu.Lock()
	defer w.mu.Unlock()
	if cap(batch) <= checkBatch {
		w.spare = batch[:0]
	}
}

// take returns the waiting checks, up to one batch.
func (w *CheckWriter) take() []monitor.Check {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dropped > 0 {
		w.Logger.Error("checks were dropped while the store did not answer", "checks", w.dropped)
		w.dropped = 0
	}
	w.urgent = false
	if len(w.waiting) <= checkBatch {
		batch := w.waiting
		w.waiting, w.spare = w.spare, nil
		return batch
	}
	batch := w.waiting[:checkBatch:checkBatch]
	w.waiting = append([]monitor.Check{}, w.waiting[checkBatch:]...)
	return batch
}

// write stores one batch. A repetition under the same number changes nothing.
func (w *CheckWriter) write(ctx context.Context, checks []monitor.Check, number int) error {
	if len(checks) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	ctx = clickhouse.WithSettings(ctx, clickhouse.Settings{
		"async_insert": 0, "insert_deduplicate": 1, "insert_deduplication_token": fmt.Sprintf("checks-%s-%d", w.Name, number),
	})
	insert := func() error {
		return w.Store.conn.InsertEncoded(ctx, w.Store.queries["checks.Append"], w.block.encode(checks))
	}
	return clickhouse.WriteError("storing checks", w.Store.conn.Write(insert))
}
