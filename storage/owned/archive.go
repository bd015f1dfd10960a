package owned

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc/storage/clickhouse/state"
	log "svc/storage/kafka/state"
)

// The log of state holds the whole state, so that empty tables can be filled from it ([Rebuild]): now
// and then the owner of a partition begins a checkpoint, copies what the tables have of the partition to the
// log, and says so in one more record. What was before the checkpoint is not needed then, and is trimmed.
// Copies are not heard: whoever follows the log knows them.

// copyPrefix begins the keys of copies. The key that says that a partition was copied has nothing else.
const copyPrefix = "="

const (
	// archiveLook is the pause between two looks whether something is to be copied or trimmed, and so the
	// least age of what is trimmed.
	archiveLook = 10 * time.Minute
	// archiveAge is the age from which on a partition that changed is copied again: what was removed
	// leaves the log within that time and a look.
	archiveAge = 12 * time.Hour
	// archiveSlack is how many bytes a partition may have beside twice what was copied.
	archiveSlack = 16 << 20
	// copiesAtOnce bounds the bytes of one save of copies.
	copiesAtOnce = 256 << 10
)

// archiver copies the state of this process's partitions to the log. Only its goroutine uses it.
type archiver struct {
	store *Store
	known map[int]log.Archive // by partition, as far as noted
	looks map[int]bool        // partitions that were looked at since they were taken
}

// run copies at once what was never copied, and else by time and size, until ctx ends.
func (a *archiver) run(ctx context.Context) {
	a.known, a.looks = map[int]log.Archive{}, map[int]bool{}
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(moveEvery):
		}
		now := time.Now()
		if due := now.Sub(last) >= archiveLook; due || a.hasNew() {
			if due {
				last = now
			}
			if err := a.look(ctx, now); err != nil && ctx.Err() == nil {
				a.store.cfg.Logger.Warn("the state is not copied to its log yet", "error", err)
				select {
				case <-ctx.Done():
				case <-time.After(movePause):
				}
			}
		}
	}
}

// hasNew reports whether there is a partition that was taken since the last look.
func (a *archiver) hasNew() bool {
	found := false
	for partition := range a.store.cfg.Partitions {
		switch owned := a.store.owner(partition) != nil; {
		case !owned:
			delete(a.looks, partition)
		case !a.looks[partition]:
			found = true
		}
	}
	return found
}

// look copies what is due, and trims what was copied before the last look.
func (a *archiver) look(ctx context.Context, now time.Time) error {
	noted, err := a.store.cfg.Log.Archives(ctx)
	if err != nil {
		return err
	}
	sizes, err := a.store.cfg.Log.Sizes(ctx)
	if err != nil {
		return err
	}
	due := map[int]*log.Owner{}
	for partition := range a.store.cfg.Partitions {
		owner := a.store.owner(partition)
		if owner == nil {
			continue
		}
		archive := noted[partition]
		changed := owner.Position().Offset > archive.End
		switch {
		case archive == (log.Archive{}), changed && now.Sub(archive.At) >= archiveAge, sizes[partition] > 2*archive.Bytes+archiveSlack && changed:
			due[partition] = owner
		case now.Sub(archive.At) >= archiveLook:
			err = errors.Join(err, a.trim(ctx, partition, archive))
		}
	}
	if len(due) > 0 {
		err = errors.Join(err, a.store.archive(ctx, due, now))
	}
	if err == nil {
		for partition := range a.store.cfg.Partitions {
			a.looks[partition] = a.store.owner(partition) != nil
		}
	}
	return err
}

// trim deletes what was before a partition's copies, once nobody reads it: the tables have it, and its
// entries their ledgers.
func (a *archiver) trim(ctx context.Context, partition int, archive log.Archive) error {
	moved := a.store.tail.movedTo(partition)
	if moved.Offset < archive.Barrier {
		return nil
	}
	if err := a.store.cfg.Log.Mark(ctx, map[int]log.Position{partition: moved}); err != nil {
		return err
	}
	return a.store.cfg.Log.Trim(ctx, partition, archive.Barrier)
}

// archive copies what the tables have of some partitions to the log.
func (s *Store) archive(ctx context.Context, owners map[int]*log.Owner, now time.Time) error {
	copying := map[int]*copying{}
	for partition, owner := range owners {
		barrier, err := owner.Checkpoint(ctx)
		if err != nil {
			continue // another owner's now
		}
		copying[partition] = newCopying(owner, barrier)
	}
	// What was before the checkpoints is in the tables and in the ledgers before the tables are read.
	if err := errors.Join(s.Seal(ctx), s.Flush(ctx)); err != nil {
		return err
	}
	err := s.tables.Each(ctx, func(r state.Record) error {
		if c := copying[s.partitionOf(&r)]; c != nil {
			return c.add(ctx, &r)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("copying the state to its log: %w", err)
	}
	done := map[int]log.Archive{}
	for partition, c := range copying {
		if c.end(ctx) {
			done[partition] = log.Archive{Barrier: c.barrier, End: c.owner.Position().Offset, At: now, Bytes: c.bytes}
		}
	}
	return s.cfg.Log.NoteArchives(ctx, done)
}

// copying is the copying of one partition.
type copying struct {
	owner   *log.Owner
	barrier int64
	records []log.Record
	size    int
	count   uint64
	bytes   int64
	lost    bool // another node copies it
}

func newCopying(owner *log.Owner, barrier int64) *copying {
	return &copying{owner: owner, barrier: barrier}
}

// add copies what a record holds.
func (c *copying) add(ctx context.Context, r *state.Record) error {
	records, err := encode(r)
	if err != nil || c.lost {
		return err
	}
	for _, one := range records {
		one.Key = copyPrefix + one.Key
		c.records, c.size = append(c.records, one), c.size+len(one.Key)+len(one.Value)
	}
	if c.size < copiesAtOnce {
		return nil
	}
	return c.flush(ctx)
}

// flush appends what was added.
func (c *copying) flush(ctx context.Context) error {
	if len(c.records) == 0 || c.lost {
		return nil
	}
	err := c.owner.Save(ctx, c.records)
	if errors.Is(err, log.ErrLost) {
		c.lost = true
		return nil
	}
	c.count, c.bytes = c.count+uint64(len(c.records)), c.bytes+int64(c.size)
	c.records, c.size = nil, 0
	return err
}

// end appends the record that says that all was copied, and reports whether it did.
func (c *copying) end(ctx context.Context) bool {
	if c.flush(ctx) != nil || c.lost {
		return false
	}
	value := binary.BigEndian.AppendUint64(make([]byte, 0, 16), uint64(c.barrier))
	return c.owner.Save(ctx, []log.Record{{Key: copyPrefix, Value: binary.BigEndian.AppendUint64(value, c.count)}}) == nil
}

// isCopy reports whether a record is one of an archive.
func isCopy(r *log.Record) bool { return strings.HasPrefix(r.Key, copyPrefix) }
