package destinations

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"svc/domain/destination"
)

// Writer appends to the delivery log in batches.
type Writer struct {
	*Store
	Interval time.Duration
	// Name is part of the tokens of inserts. It must differ from process to process.
	Name   string
	Logger *slog.Logger

	mu   sync.Mutex
	open *openBatch
}

// openBatch is a set of records that are stored together.
type openBatch struct {
	records []destination.Dispatch
	// stored is closed once they are stored.
	stored chan struct{}
}

// lastWrite limits the attempt to store the remaining records at the end.
const lastWrite = 5 * time.Second

// Append returns once records are stored. A repetition changes nothing: the record of a later attempt replaces the
// record of an earlier one.
func (w *Writer) Append(ctx context.Context, records []destination.Dispatch) error {
	w.mu.Lock()
	if w.open == nil {
		w.open = &openBatch{stored: make(chan struct{})}
	}
	batch := w.open
	batch.records = append(batch.records, records...)
	w.mu.Unlock()
	select {
	case <-batch.stored:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("storing deliveries: %w", ctx.Err())
	}
}

// take returns the open batch, or nil.
func (w *Writer) take() *openBatch {
	w.mu.Lock()
	defer w.mu.Unlock()
	batch := w.open
	w.open = nil
	return batch
}

// Run stores the appended records until ctx ends, and then the remaining ones.
func (w *Writer) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.Interval)
	defer ticker.Stop()
	var batch *openBatch
	for number := 0; ; {
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
			defer cancel()
			return errors.Join(w.store(ctx, batch, number), w.store(ctx, w.take(), number+1))
		case <-ticker.C:
		}
		if batch == nil {
			batch = w.take()
		}
		if err := w.store(ctx, batch, number); err != nil {
			if ctx.Err() == nil {
				w.Logger.Warn("storing deliveries failed", "error", err)
			}
			continue // the same batch again, under the same token
		}
		if batch != nil {
			batch = nil
			number++
		}
	}
}

// store stores a batch and notifies its waiting callers.
func (w *Writer) store(ctx context.Context, batch *openBatch, number int) error {
	if batch == nil {
		return nil
	}
	if err := w.write(ctx, fmt.Sprintf("deliveries-%s-%d", w.Name, number), batch.records); err != nil {
		return err
	}
	close(batch.stored)
	return nil
}
