package health

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc/domain/event"
)

const (
	// backlogEvery is the interval at which the backlog is measured.
	backlogEvery = time.Second
	// backlogBound is the age of the oldest unstored record from which the node is not ready. Events are promised to be
	// visible within five seconds. A block that is rebuilt after a crash and a store that restarts take a few times
	// that.
	backlogBound = 30 * time.Second
	// backlogGrace is how long that age may be unknown.
	backlogGrace = 30 * time.Second
	// backlogMarks limits the marks of one partition.
	backlogMarks = 128
)

// Backlog measures the age of the oldest unstored record of this node's partitions: the time since an end of the log
// beyond the stored offset was first seen.
type Backlog struct {
	log Log
	now func() time.Time

	mu sync.Mutex
	// known is when the log was last read.
	known   time.Time
	records int64
	// marks are the seen but unstored ends of each partition, the oldest first.
	marks map[int][]backlogMark
}

type backlogMark struct {
	end int64
	at  time.Time
}

// Log is the log as its consumer group sees it.
type Log interface {
	// Unstored returns, for each partition of this node, the next offset to store and the end.
	Unstored(ctx context.Context) (map[int][2]int64, error)
	// Lag returns the number of unstored records of each partition.
	Lag(ctx context.Context) (map[int]int64, error)
}

// NewBacklog returns the backlog measurement of a log.
func NewBacklog(log Log, now func() time.Time) *Backlog { return &Backlog{log: log, now: now} }

// note records, for each partition, the next offset to store and the end of the log.
func (b *Backlog) note(now time.Time, positions map[int][2]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	marks, records := map[int][]backlogMark{}, int64(0)
	for partition, position := range positions {
		next, end := position[0], position[1]
		seen := slices.DeleteFunc(b.marks[partition], func(m backlogMark) bool { return m.end <= next || m.end > end })
		if end > next && (len(seen) == 0 || seen[len(seen)-1].end < end) {
			seen = append(seen, backlogMark{end, now})
		}
		if len(seen) > backlogMarks {
			seen = slices.Delete(seen, len(seen)/2, len(seen)/2+1)
		}
		if len(seen) > 0 {
			marks[partition] = seen
		}
		records += max(0, end-next)
	}
	b.marks, b.records, b.known = marks, records, now
}

// Stored records committed positions, so that stored records have no age until the next measurement.
func (b *Backlog) Stored(positions []event.LogPosition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, position := range positions {
		left := slices.DeleteFunc(b.marks[position.Partition], func(m backlogMark) bool { return m.end <= position.Offset })
		if len(left) == 0 {
			delete(b.marks, position.Partition)
		} else {
			b.marks[position.Partition] = left
		}
	}
}

// begin starts the grace period in which the age may be unknown.
func (b *Backlog) begin(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known = now
}

// age returns how long the oldest record has waited until now, not until the last measurement.
func (b *Backlog) age(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest := now
	for _, seen := range b.marks {
		if seen[0].at.Before(oldest) {
			oldest = seen[0].at
		}
	}
	return now.Sub(oldest)
}

// Ready returns an error if a record has waited longer than the bound, or if the log has not answered for longer than
// the grace period.
func (b *Backlog) Ready(context.Context) error { return b.ready(b.now()) }

func (b *Backlog) ready(now time.Time) error {
	age := b.age(now)
	b.mu.Lock()
	defer b.mu.Unlock()
	if unknown := now.Sub(b.known); unknown > backlogGrace {
		return fmt.Errorf("it is not known for %s what waits in the log: it does not answer", unknown.Round(time.Second))
	}
	if age > backlogBound {
		return fmt.Errorf("the oldest record that is not stored has waited for %s (bound %s), %d records wait", age.Round(time.Second), backlogBound, b.records)
	}
	return nil
}

// Age returns how long the oldest unstored record has waited.
func (b *Backlog) Age() time.Duration { return b.age(b.now()) }

// lagTime limits the look-up of the log's ends.
const lagTime = 2 * time.Second

// Run measures until ctx ends.
func (b *Backlog) Run(ctx context.Context) error {
	b.begin(b.now())
	ticker := time.NewTicker(backlogEvery)
	defer ticker.Stop()
	for {
		look, cancel := context.WithTimeout(ctx, lagTime)
		positions, err := b.log.Unstored(look)
		cancel()
		if err == nil {
			b.note(b.now(), positions)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Lag returns the number of unstored records of the log, -1 if the log does not answer.
func (b *Backlog) Lag(ctx context.Context) int64 {
	ctx, cancel := context.WithTimeout(ctx, lagTime)
	defer cancel()
	lags, err := b.log.Lag(ctx)
	if err != nil {
		return -1
	}
	var sum int64
	for _, records := range lags {
		sum += records
	}
	return sum
}
