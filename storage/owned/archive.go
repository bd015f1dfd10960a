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

// The log of state holds the whole state, so that empty tables can be filled from it ([Rebuild]). From time to time the
// owner of a partition begins a checkpoint, copies the partition's rows from the tables to the log, and appends one
// more record that confirms the copy. Everything before the checkpoint is then obsolete and is trimmed. Followers
// ignore the copies, because they have read the originals.

// copyPrefix begins the keys of copies. The record that confirms a complete copy has only this prefix as its key.
const copyPrefix = "="

const (
	// archiveLook is the pause between two checks whether anything must be copied or trimmed. It is also the minimum
	// age of trimmed records.
	archiveLook = 10 * time.Minute
	// archiveAge is the age after which a changed partition is copied again. Removed data leaves the log within that
	// time and one archiveLook.
	archiveAge = 12 * time.Hour
	// archiveSlack is the number of bytes that a partition may have beyond twice the size of its copies.
	archiveSlack = 16 << 20
	// copiesAtOnce limits the bytes of one save of copies.
	copiesAtOnce = 256 << 10
)

// archiver copies the state of this process's partitions to the log. Only its own goroutine uses it.
type archiver struct {
	store *Store
	known map[int]log.Archive // by partition
	looks map[int]bool        // partitions that were checked since they were taken
}

// run copies partitions without a copy at once, and others by age and size, until ctx ends.
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

// hasNew reports whether a partition was taken since the last check.
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

// look copies the partitions that are due. It trims partitions with a copy that is older than archiveLook.
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

// trim deletes the records before a partition's copies once no reader needs them: their changes are in the tables, and
// their entries in the ledgers.
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

// archive copies the rows of some partitions from the tables to the log.
func (s *Store) archive(ctx context.Context, owners map[int]*log.Owner, now time.Time) error {
	copying := map[int]*copying{}
	for partition, owner := range owners {
		barrier, err := owner.Checkpoint(ctx)
		if err != nil {
			continue // the partition now belongs to another owner
		}
		copying[partition] = newCopying(owner, barrier)
	}
	// Everything before the checkpoints must be in the tables and in the ledgers before the tables are read.
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

// copying is the state of copying one partition.
type copying struct {
	owner   *log.Owner
	barrier int64
	records []log.Record
	size    int
	count   uint64
	bytes   int64
	lost    bool // another node now owns and copies the partition
}

func newCopying(owner *log.Owner, barrier int64) *copying {
	return &copying{owner: owner, barrier: barrier}
}

// add adds the content of a record.
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

// flush appends the added records to the log.
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

// end appends the record that confirms a complete copy. It returns false if that fails.
func (c *copying) end(ctx context.Context) bool {
	if c.flush(ctx) != nil || c.lost {
		return false
	}
	value := binary.BigEndian.AppendUint64(make([]byte, 0, 16), uint64(c.barrier))
	return c.owner.Save(ctx, []log.Record{{Key: copyPrefix, Value: binary.BigEndian.AppendUint64(value, c.count)}}) == nil
}

// isCopy reports whether a record is a copy or confirms one.
func isCopy(r *log.Record) bool { return strings.HasPrefix(r.Key, copyPrefix) }
