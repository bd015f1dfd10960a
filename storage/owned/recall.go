package owned

import (
	"context"
	"encoding/binary"
	"strings"
	"sync"

	"svc/domain"
	"svc/storage/clickhouse/state"
	log "svc/storage/kafka/state"
)

// While the store is unavailable, the content of its tables is read from the log, which holds the whole state. The
// reads cover the requested partitions from start to current end.

// Recall implements [state.Journal].
func (s *Store) Recall(ctx context.Context, owners []string, keep func(e *domain.Entity) bool) ([]domain.Entity, error) {
	wanted := make([]bool, s.cfg.Partitions)
	for partition := range wanted {
		wanted[partition] = owners == nil
	}
	for _, owner := range owners {
		wanted[s.cfg.PartitionOf(owner)] = true
	}
	found, err := s.recall(ctx, wanted, func(r *state.Record) bool { return len(r.Entities) == 1 && keep(&r.Entities[0]) })
	entities := make([]domain.Entity, 0, len(found))
	for _, one := range found {
		entities = append(entities, one.record.Entities[0])
	}
	return entities, err
}

// recallWakeups yields the wake-ups of some partitions with the versions of their writes.
func (s *Store) recallWakeups(ctx context.Context, wanted []bool, yield func(w domain.Wakeup, version uint64)) error {
	found, err := s.recall(ctx, wanted, func(r *state.Record) bool { return len(r.Wakeups) == 1 })
	for _, one := range found {
		yield(one.record.Wakeups[0], one.version)
	}
	return err
}

// recalled is the last version of a thing.
type recalled struct {
	version uint64
	record  *state.Record
}

// recalling collects the content of some partitions.
type recalling struct {
	keep   func(r *state.Record) bool
	starts []int64

	mu sync.Mutex
	// last has the selected records by key; whole has the partitions with a complete copy; guarded by mu.
	last   map[string]recalled
	whole  []bool
	broken error
}

// recall returns the last version of each thing of some partitions that keep selects. It returns [ErrIncomplete] if the
// log does not hold the whole state of these partitions.
func (s *Store) recall(ctx context.Context, wanted []bool, keep func(r *state.Record) bool) (map[string]recalled, error) {
	starts, err := s.cfg.Log.Starts(ctx)
	if err != nil {
		return nil, away("The log", err)
	}
	ends, err := s.cfg.Log.Ends(ctx)
	if err != nil {
		return nil, away("The log", err)
	}
	from := s.follower.Positions()
	for partition := range wanted {
		if wanted[partition] {
			from[partition] = log.Position{}
		} else {
			ends[partition] = 0
		}
	}
	r := &recalling{keep: keep, starts: starts, last: map[string]recalled{}, whole: make([]bool, len(wanted))}
	follower, err := s.cfg.Log.Follow(ctx, from, log.Sink{
		Each: func(partition int, entries []log.Entry, _ log.Position) {
			if wanted[partition] {
				r.take(partition, entries)
			}
		},
		Gap: r.gap,
	})
	if err != nil {
		return nil, away("The log", err)
	}
	err = follower.Await(ctx, ends)
	follower.Close()
	if err != nil {
		return nil, away("The log", err)
	}
	for partition := range wanted {
		if wanted[partition] && !r.whole[partition] {
			r.broken = ErrIncomplete
		}
	}
	return r.last, r.broken
}

// take collects the entries of a partition.
func (r *recalling) take(partition int, entries []log.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range entries {
		entry := entries[n].Record
		switch {
		case entries[n].Void || entry.Value == nil:
			continue
		case entry.Key == copyPrefix:
			r.whole[partition] = r.whole[partition] || len(entry.Value) >= 8 && int64(binary.BigEndian.Uint64(entry.Value)) >= r.starts[partition]
			continue
		}
		entry.Key = strings.TrimPrefix(entry.Key, copyPrefix)
		record, version, err := decode(entry)
		if err != nil {
			r.broken = err
			continue
		}
		if known, there := r.last[entry.Key]; r.keep(record) && (!there || known.version <= version) {
			r.last[entry.Key] = recalled{version, record}
		}
	}
}

// gap records that part of a partition was trimmed while it was read.
func (r *recalling) gap(int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = ErrIncomplete
}
