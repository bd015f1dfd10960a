package kafka

import (
	"context"
	"log/slog"
	"maps"
	"time"
)

// Retention deletes consumed records. It goes by progress, not by age: a record is
// deleted when its commit is Keep ago, or right after its commit if the log has
// grown too large. A record is never deleted before it is committed, however old it
// is and however large the log.
type Retention struct {
	Topic      *Topic
	Consumer   *Consumer
	Partitions int
	Keep       time.Duration
	Every      time.Duration
	Now        func() time.Time
	Logger     *slog.Logger

	// Surplus returns the offset below which the records of a partition are
	// more than the log should hold, 0 where they are not. It may be nil.
	Surplus func(partition int) (int64, error)

	marks   []mark
	trimmed map[int]int64
}

// markEvery is the least time between two marks, so that a long Keep needs few.
const markEvery = time.Minute

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
	if last := len(r.marks) - 1; last < 0 || now.Sub(r.marks[last].at) >= markEvery {
		r.marks = append(r.marks, mark{at: now, positions: positions})
	}
	if err := r.trim(ctx, r.bounds(now, positions)); err != nil && ctx.Err() == nil {
		r.Logger.Warn("trimming the log failed", "error", err)
	}
}

// bounds returns, for every partition with records to delete, the offset below
// which they may be deleted.
func (r *Retention) bounds(now time.Time, committed []Position) map[int]int64 {
	bounds := map[int]int64{}
	for _, position := range r.due(now) {
		bounds[position.Partition] = position.Offset
	}
	if r.Surplus == nil {
		return bounds
	}
	for _, position := range committed {
		surplus, err := r.Surplus(position.Partition)
		if err != nil {
			r.Logger.Warn("measuring the log failed", "partition", position.Partition, "error", err)
			continue
		}
		if before := min(surplus, position.Offset); before > bounds[position.Partition] {
			bounds[position.Partition] = before
		}
	}
	return bounds
}

// trim trims the partitions that were not trimmed so far before.
func (r *Retention) trim(ctx context.Context, bounds map[int]int64) error {
	maps.DeleteFunc(bounds, func(partition int, before int64) bool { return before <= r.trimmed[partition] })
	if len(bounds) == 0 {
		return nil
	}
	if err := r.Topic.Trim(ctx, bounds); err != nil {
		return err
	}
	if r.trimmed == nil {
		r.trimmed = map[int]int64{}
	}
	maps.Copy(r.trimmed, bounds)
	return nil
}

// due returns the newest positions that were reached Keep ago and drops all older
// marks.
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
