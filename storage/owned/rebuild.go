package owned

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"

	"svc/storage/clickhouse/state"
	log "svc/storage/kafka/state"
)

// ErrIncomplete means that tables cannot be filled from a log of state: part of the log was trimmed before the state
// was copied to it.
var ErrIncomplete = errors.New("the log of state does not hold the whole state")

// Rebuild fills empty tables with the whole content of a log of state. It reports the number of stored records of each
// partition to progress. After an interruption it may be called again.
func Rebuild(ctx context.Context, l *log.Log, partitions int, tables Tables, progress func(partition int, records uint64)) error {
	if err := CheckComplete(ctx, l, partitions); err != nil {
		return err
	}
	var mu sync.Mutex
	var failed error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stored := make([]uint64, partitions)
	err := readAll(ctx, l, partitions, func(partition int, entries []log.Entry, _ log.Position) {
		mu.Lock()
		defer mu.Unlock()
		if failed != nil {
			return
		}
		var records []state.Record
		if records, failed = recordsOf(entries); failed == nil {
			failed = tables.Move(ctx, records)
		}
		if failed != nil {
			cancel()
			return
		}
		stored[partition] += uint64(len(records))
		progress(partition, stored[partition])
	})
	mu.Lock()
	defer mu.Unlock()
	if failed != nil {
		return fmt.Errorf("filling the tables: %w", failed)
	}
	return err
}

// recordsOf returns the table records of some entries of the log.
func recordsOf(entries []log.Entry) (records []state.Record, err error) {
	for n := range entries {
		entry := entries[n].Record
		if entries[n].Void || entry.Value == nil || entry.Key == copyPrefix {
			continue
		}
		entry.Key = strings.TrimPrefix(entry.Key, copyPrefix)
		r, _, err := decode(entry)
		if err != nil {
			return nil, fmt.Errorf("reading the record at offset %d: %w", entries[n].Offset, err)
		}
		if len(r.Left) == 0 { // a starting server gives an entry its place in the ledger
			records = append(records, *r)
		}
	}
	return records, nil
}

// CheckComplete returns [ErrIncomplete] unless each partition has a checkpoint with a complete copy.
func CheckComplete(ctx context.Context, l *log.Log, partitions int) error {
	starts, err := l.Starts(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	complete := make([]bool, partitions)
	err = readAll(ctx, l, partitions, func(partition int, entries []log.Entry, _ log.Position) {
		mu.Lock()
		defer mu.Unlock()
		for n := range entries {
			if e := &entries[n]; e.Key == copyPrefix && !e.Void && len(e.Value) >= 8 && int64(binary.BigEndian.Uint64(e.Value)) >= starts[partition] {
				complete[partition] = true
			}
		}
	})
	if err != nil {
		return err
	}
	var lacking []string
	for partition, whole := range complete {
		if !whole {
			lacking = append(lacking, fmt.Sprint(partition))
		}
	}
	if len(lacking) > 0 {
		return fmt.Errorf("%w: its partitions %s lack what was saved before", ErrIncomplete, strings.Join(lacking, ", "))
	}
	return nil
}

// Leave marks everything in the log as moved to the tables, so that new tables do not receive it. It also withdraws the
// records of copies. The next owner of each partition then copies the state of the new tables, and trims the log before
// that copy. Call it before Begin.
func (s *Store) Leave(ctx context.Context) error {
	var mu sync.Mutex
	marks, archives := map[int]log.Position{}, map[int]log.Archive{}
	for partition := range s.cfg.Partitions {
		archives[partition] = log.Archive{}
	}
	err := readAll(ctx, s.cfg.Log, s.cfg.Partitions, func(partition int, _ []log.Entry, at log.Position) {
		mu.Lock()
		defer mu.Unlock()
		marks[partition] = at
	})
	if err != nil {
		return err
	}
	return errors.Join(s.cfg.Log.Mark(ctx, marks), s.cfg.Log.NoteArchives(ctx, archives))
}

// readAll reads a log from its start to its current end.
func readAll(ctx context.Context, l *log.Log, partitions int, each func(partition int, entries []log.Entry, at log.Position)) error {
	ends, err := l.Ends(ctx)
	if err != nil {
		return err
	}
	follower, err := l.Follow(ctx, make([]log.Position, partitions), log.Sink{
		Each: each, Gap: func(int) {},
	})
	if err != nil {
		return err
	}
	defer follower.Close()
	if err := follower.Await(ctx, ends); err != nil {
		return fmt.Errorf("reading the log of state: %w", err)
	}
	return nil
}
