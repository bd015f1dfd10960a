package clickhouse

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"svc"
)

const (
	// checkBatch is how many checks one insert carries at most.
	checkBatch = 100_000
	// keptChecks bounds what waits while the store does not answer; beyond it the
	// oldest are dropped.
	keptChecks = 1_000_000
	// lastWrite bounds the attempt to store what is left at the end.
	lastWrite = 5 * time.Second
)

// CheckWriter stores checks in batches.
type CheckWriter struct {
	DB       *DB
	Interval time.Duration
	// Name is in the tokens of inserts; it differs from process to process.
	Name   string
	Logger *slog.Logger

	mu      sync.Mutex
	waiting []svc.Check
	dropped int
}

// Append takes a check, which is stored within about the interval.
func (w *CheckWriter) Append(check svc.Check) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) >= keptChecks {
		w.dropped += len(w.waiting) / 2
		w.waiting = append(w.waiting[:0], w.waiting[len(w.waiting)/2:]...)
	}
	w.waiting = append(w.waiting, check)
}

// Run stores what is appended until ctx ends, and then what is left.
func (w *CheckWriter) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.Interval)
	defer ticker.Stop()
	var batch []svc.Check
	for number := 0; ; {
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
		if len(batch) == 0 {
			batch = w.take()
		}
		if err := w.write(ctx, batch, number); err != nil {
			if ctx.Err() == nil {
				w.Logger.Warn("storing checks failed", "error", err)
			}
			continue // the same batch again, under the same token
		}
		batch = nil
		number++
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
	if len(w.waiting) <= checkBatch {
		batch := w.waiting
		w.waiting = nil
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
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"insert_deduplicate": 1, "insert_deduplication_token": fmt.Sprintf("checks-%s-%d", w.Name, number),
		"deduplicate_blocks_in_dependent_materialized_views": 1,
	}), clickhouse.WithColumnNamesAndTypes(checkColumns()))
	batch, err := w.DB.conn.PrepareBatch(ctx, w.DB.queries["checks.Append"])
	if err != nil {
		return writeError("storing checks", err)
	}
	defer func() { _ = batch.Close() }() // does nothing after Send
	for i := range checks {
		c := &checks[i]
		r, ends := &c.Result, c.Result.CertificateEnds
		if ends.IsZero() {
			ends = time.UnixMilli(0)
		}
		err := batch.Append(c.App.String(), c.Monitor, r.At.UnixMilli(), string(c.State.LastStatus), c.State.ConsecutiveFailures, uint16(r.StatusCode),
			c.State.LastError, r.Phases.DNS, r.Phases.Connect, r.Phases.TLS, r.Phases.FirstByte, r.Phases.Total, ends)
		if err != nil {
			return writeError("storing checks", err)
		}
	}
	return writeError("storing checks", batch.Send())
}

func checkColumns() []clickhouse.ColumnNameAndType {
	return []clickhouse.ColumnNameAndType{
		{Name: "app", Type: "LowCardinality(String)"},
		{Name: "monitor", Type: "LowCardinality(String)"},
		{Name: "at", Type: "DateTime64(3, 'UTC')"},
		{Name: "status", Type: "LowCardinality(String)"},
		{Name: "failures", Type: "UInt32"},
		{Name: "code", Type: "UInt16"},
		{Name: "error", Type: "LowCardinality(String)"},
		{Name: "dns", Type: "UInt32"},
		{Name: "connect", Type: "UInt32"},
		{Name: "tls", Type: "UInt32"},
		{Name: "first_byte", Type: "UInt32"},
		{Name: "total", Type: "UInt32"},
		{Name: "certificate_ends", Type: "DateTime('UTC')"},
	}
}
