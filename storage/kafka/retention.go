package kafka

import (
	"context"
	"log/slog"
	"time"
)

// Retention deletes what was consumed. Progress governs it, not the clock: a
// record is deleted once it was committed Keep ago, and never before it is
// committed, however old it is.
type Retention struct {
	Topic      *Topic
	Consumer   *Consumer
	Partitions int
	Keep       time.Duration
	Every      time.Duration
	Now        func() time.Time
	Logger     *slog.Logger

	marks []mark
}

// mark is how far the log was consumed at an instant.
type mark struct {
	at        time.Time
	positions []Position
}

// Run notes the progress and trims the log until ctx ends.
func (r *Retention) Run(ctx context.Context) error {
	ticker := time.NewTicker(r.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			r.round(ctx)
		}
	}
}

func (r *Retention) round(ctx context.Context) {
	all := make([]int, r.Partitions)
	for partition := range all {
		all[partition] = partition
	}
	positions, err := r.Consumer.Committed(ctx, all)
	if err != nil {
		if ctx.Err() == nil {
			r.Logger.Warn("reading committed positions failed", "error", err)
		}
		return
	}
	now := r.Now()
	r.marks = append(r.marks, mark{at: now, positions: positions})
	for _, position := range r.due(now) {
		if err := r.Topic.Trim(ctx, position.Partition, position.Offset); err != nil && ctx.Err() == nil {
			r.Logger.Warn("trimming the log failed", "partition", position.Partition, "error", err)
		}
	}
}

// due returns the newest positions that were reached Keep ago and forgets what
// they outdate.
func (r *Retention) due(now time.Time) []Position {
	var found []Position
	kept := 0
	for n, m := range r.marks {
		if now.Sub(m.at) < r.Keep {
			break
		}
		found, kept = m.positions, n+1
	}
	r.marks = r.marks[kept:]
	return found
}
