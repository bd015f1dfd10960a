package kafka

import (
	"context"
	"log/slog"
	"maps"
	"time"
)

// Retention deletes consumed records, by progress instead of age. A record is deleted Keep after its commit, or right
// after its commit if the log has grown too large. A record is never deleted before it is committed, regardless of its
// age and of the size of the log.
//
// Each node trims the partitions that it owns. A node knows the progress of a partition only since it owns it. After a
// partition moves, its records therefore stay for Keep after the move. After a restart this applies to all partitions.
type Retention struct {
	Topic      *Topic
	Consumer   *Consumer
	Partitions int
	// Owned reports whether this node owns a partition.
	Owned  func(partition int) bool
	Keep   time.Duration
	Every  time.Duration
	Now    func() time.Time
	Logger *slog.Logger

	// Surplus returns the offset below which the records of a partition exceed the size limit of the log, or 0. It may
	// be nil.
	Surplus func(partition int) (int64, error)

	// Forget makes the records below the given offsets unreadable in the files that remain after [Topic.Trim], which
	// deletes whole files only. It may be nil.
	Forget func(before map[int]int64) error

	marks     []mark
	trimmed   map[int]int64
	forgotten map[int]int64 // all records below these offsets are older than Keep and the grace
}

const (
	// marksKept is the number of marks that cover Keep, if Keep is long.
	marksKept = 60
	// graceShare determines how long a due record may stay in a file that is not full: Keep / graceShare. A busy
	// partition fills the file in that time, so that no record has to be overwritten.
	graceShare = 4
)

// mark stores the committed offsets of the owned partitions at one time.
type mark struct {
	at      time.Time
	offsets map[int]int64
}

// Run records the progress and trims the log until ctx ends.
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
	owned := r.owned()
	if len(owned) == 0 {
		return
	}
	positions, err := r.Consumer.Committed(ctx, owned)
	if err != nil {
		if ctx.Err() == nil {
			r.Logger.Warn("reading committed positions failed", "error", err)
		}
		return
	}
	now := r.Now()
	r.note(now, positions)
	if err := r.trim(ctx, r.bounds(now, positions)); err != nil && ctx.Err() == nil {
		r.Logger.Warn("trimming the log failed", "error", err)
	}
	r.age(now)
	if r.Forget == nil {
		return
	}
	if err := r.Forget(r.forgotten); err != nil {
		r.Logger.Warn("overwriting old records of the log failed", "error", err)
	}
}

// owned returns the partitions of this node.
func (r *Retention) owned() (owned []int) {
	for partition := range r.Partitions {
		if r.Owned(partition) {
			owned = append(owned, partition)
		}
	}
	return owned
}

// note adds a mark of the committed offsets, unless the last mark is too recent.
func (r *Retention) note(now time.Time, positions []Position) {
	if last := len(r.marks) - 1; last >= 0 && now.Sub(r.marks[last].at) < max(r.Every, r.Keep/marksKept) {
		return
	}
	offsets := make(map[int]int64, len(positions))
	for _, position := range positions {
		offsets[position.Partition] = position.Offset
	}
	r.marks = append(r.marks, mark{at: now, offsets: offsets})
}

// bounds returns, for every partition with records to delete, the offset below which they may be deleted. committed has
// the positions of the owned partitions.
func (r *Retention) bounds(now time.Time, committed []Position) map[int]int64 {
	bounds, due := map[int]int64{}, r.due(now)
	for _, position := range committed {
		if offset, known := due[position.Partition]; known {
			bounds[position.Partition] = offset
		}
		if r.Surplus == nil {
			continue
		}
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

// trim trims the partitions with a bound above the last one that was trimmed.
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

// due returns the newest offsets that were committed at least Keep ago.
func (r *Retention) due(now time.Time) map[int]int64 {
	found, _ := r.reached(now, r.Keep)
	return found
}

// age stores the newest offsets that were committed at least Keep and the grace ago, and drops the marks that are as
// old.
func (r *Retention) age(now time.Time) {
	found, marks := r.reached(now, r.Keep+r.Keep/graceShare)
	if r.forgotten == nil {
		r.forgotten = map[int]int64{}
	}
	maps.Copy(r.forgotten, found)
	r.marks = r.marks[marks:]
}

// reached returns the newest offsets that were committed at least ago before now, and the number of marks that are as
// old.
func (r *Retention) reached(now time.Time, ago time.Duration) (found map[int]int64, marks int) {
	found = map[int]int64{}
	for _, m := range r.marks {
		if now.Sub(m.at) < ago {
			break
		}
		maps.Copy(found, m.offsets)
		marks++
	}
	return found, marks
}
