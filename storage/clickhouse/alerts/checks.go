package alerts

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"svc"
	"svc/storage/clickhouse"
)

const (
	// checkBatch is how many checks one insert carries at most.
	checkBatch = 100_000
	// keptChecks bounds what waits while the store does not answer; beyond it the
	// oldest are dropped.
	keptChecks = 1_000_000
	// patience is how many intervals checks that passed are gathered.
	patience = 4
	// lastWrite bounds the attempt to store what is left at the end.
	lastWrite = 5 * time.Second
)

// CheckWriter stores checks in batches, for a batch costs more than most of its checks: those
// that passed wait for patience intervals, others for one.
type CheckWriter struct {
	Store    *Store
	Interval time.Duration
	// Name is in the tokens of inserts; it differs from process to process.
	Name   string
	Logger *slog.Logger

	// block is the writing goroutine's.
	block checkBlock

	mu      sync.Mutex
	waiting []svc.Check
	// spare is the memory of a batch that was stored.
	spare   []svc.Check
	dropped int
	// urgent says that a check which did not pass waits.
	urgent bool
}

// Append takes a check, which is stored within about the interval, within patience intervals
// if it passed.
func (w *CheckWriter) Append(check svc.Check) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) >= keptChecks {
		w.dropped += len(w.waiting) / 2
		w.waiting = append(w.waiting[:0], w.waiting[len(w.waiting)/2:]...)
	}
	w.waiting = append(w.waiting, check)
	w.urgent = w.urgent || check.State.LastStatus != svc.StatusUp
}

// Run stores what is appended until ctx ends, and then what is left.
func (w *CheckWriter) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.Interval)
	defer ticker.Stop()
	var batch []svc.Check
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

// due reports whether the waiting checks must be stored after so many intervals.
func (w *CheckWriter) due(waited int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.urgent || waited >= patience || len(w.waiting) >= checkBatch
}

// recycle has the memory of a batch used again.
func (w *CheckWriter) recycle(batch []svc.Check) {
	clear(batch)
	w.mu.Lock()
	defer w.mu.Unlock()
	if cap(batch) <= checkBatch {
		w.spare = batch[:0]
	}
}

// take returns what waits, up to one batch.
func (w *CheckWriter) take() []svc.Check {
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
	w.waiting = append([]svc.Check{}, w.waiting[checkBatch:]...)
	return batch
}

// write stores one batch; a repetition under the same number changes nothing.
func (w *CheckWriter) write(ctx context.Context, checks []svc.Check, number int) error {
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
