package integrity

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"svc/storage/kafka"
)

// Facts that the store holds about an installation.
const (
	// FirstStartFact is recorded once the secrets of the first start were shown.
	FirstStartFact = "first start"
	// KeyFact is the fingerprint of the master key that seals secrets.
	KeyFact = "key"
	// LogFact is the id of the log.
	LogFact = "log"
	// RebuildFact says whether a rebuild of the store has ended.
	RebuildFact = "rebuild"
	// RebuildUnderWay is its value until then.
	RebuildUnderWay = "under way"
	// RestoredFact is the time at which the data set was last restored from a backup or rebuilt from the log.
	RestoredFact = "restored"
	// dataSetFact is the random id of the whole data set.
	dataSetFact = "data set"
	// shardsFact is the number of shards. shardFact is the shard's own number, in the tables of every shard after the
	// first.
	shardsFact = "shards"
	shardFact  = "shard"
)

// Identity checks that a store, the log that filled it, and the key that sealed its secrets belong together.
type Identity struct {
	Inspection *Inspection
	Store      Store
	Log        Log
	State      State
	Consumer   Consumer
	// Key returns the fingerprint of the present master key.
	Key func() (string, error)
	// Group reads the partitions of the log.
	Group      string
	Partitions []int
	// Progress is the file of [Progress].
	Progress string
	// NewID returns a random id with a prefix.
	NewID func(prefix string) string

	// Known is the file of the node's notes for the time while the store is unavailable.
	Known string
	// Returned completes the opening of a shard's store that was unavailable.
	Returned func(ctx context.Context, shard int) error

	set   string // the id of the data set, once Check knows it
	known known
	// restored is the time of the RestoredFact. Unlike known, it may be read at any time.
	restored atomic.Pointer[time.Time]
}

// NoteRestored records the time of a restore or a rebuild.
func NoteRestored(ctx context.Context, store Store, now time.Time) error {
	return store.ReplaceFact(ctx, RestoredFact, now.UTC().Format(time.RFC3339Nano))
}

// Restored returns the time of the last restore or rebuild after a successful Check, and the zero time if there was none.
func (i *Identity) Restored() time.Time {
	if at := i.restored.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// Store holds the facts of an installation.
type Store interface {
	Facts(ctx context.Context) (map[string]string, error)
	// NoteFact records a fact that has no value yet, and returns its value.
	NoteFact(ctx context.Context, name, value string) (string, error)
	ReplaceFact(ctx context.Context, name, value string) error
	// Used reports whether anything is stored.
	Used(ctx context.Context) (bool, error)
	// ShardCount returns the number of configured shards; the facts of shards after the first are in their own tables.
	ShardCount() int
	ShardFacts(ctx context.Context, shard int) (map[string]string, error)
	NoteShardFact(ctx context.Context, shard int, name, value string) error
	// Away reports whether a shard has been unavailable so far. Admit opens it and lets a function check it before
	// others may use it.
	Away(shard int) bool
	Admit(ctx context.Context, shard int, look func(ctx context.Context) error) error
}

// Log is the topic of accepted events.
type Log interface {
	ClusterID(ctx context.Context) (string, error)
	Ranges(ctx context.Context) (map[int]kafka.Range, error)
	Reset(ctx context.Context, group string, positions []kafka.Position) error
}

// State is the log of the actors' state.
type State interface {
	// Leave marks everything in the log as stored, so that a new store does not receive it.
	Leave(ctx context.Context) error
}

// Consumer knows the stored offsets of the log.
type Consumer interface {
	Committed(ctx context.Context, partitions []int) ([]kafka.Position, error)
}

// Check records the identity of the data in a new store, and compares it in an existing one. The store, the log and the
// key must belong together, and the log must still contain all unstored records. While the store of shard 0 is
// unavailable, the node uses the notes of its last successful comparison.
func (i *Identity) Check(ctx context.Context) error {
	if i.Store.Away(0) {
		i.Inspection.refused = nil // from a previous attempt
		return i.checkKnown(ctx)
	}
	return i.check(ctx)
}

// check compares with the store.
func (i *Identity) check(ctx context.Context) error {
	i.Inspection.refused = nil // from a previous attempt
	facts, err := i.Store.Facts(ctx)
	if err != nil {
		return err
	}
	if facts[RebuildFact] == RebuildUnderWay {
		return errors.New("a rebuild of the store was interrupted: go on with `svc admin rebuild`")
	}
	used, err := i.Store.Used(ctx)
	if err != nil {
		return err
	}
	_, known := facts[dataSetFact]
	if used && !known { // from a version without facts, which has had its first start
		if _, err := i.Store.NoteFact(ctx, FirstStartFact, "shown"); err != nil {
			return err
		}
	}
	for _, check := range []func() error{
		func() error { return i.checkKey(ctx, facts[KeyFact]) },
		func() error { return i.checkLog(ctx, facts[LogFact]) },
		func() error { return i.checkPositions(ctx, used || known) },
		i.Inspection.Verdict,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	if i.Inspection.repairing && !i.Inspection.applying && i.Inspection.found > 0 {
		return nil // an inspection changes nothing
	}
	set, err := i.Store.NoteFact(ctx, dataSetFact, i.NewID("set_"))
	if err != nil {
		return err
	}
	if err := i.checkShards(ctx, facts, set); err != nil {
		return err
	}
	_, shown := facts[FirstStartFact]
	return i.note(ctx, shown || used && !known, facts[RestoredFact])
}

// checkKey compares the master key with the key that sealed the stored secrets.
func (i *Identity) checkKey(ctx context.Context, noted string) error {
	own, err := i.Key()
	if err != nil {
		return err
	}
	if noted == "" {
		noted, err = i.Store.NoteFact(ctx, KeyFact, own)
	}
	if err != nil || noted == own {
		return err
	}
	return i.Inspection.Report(Finding{
		What:  fmt.Sprintf("the master key is %s, and what is stored was sealed with the key %s: secrets of channels and model providers could not be read any more; put the right key back into vault.key or SVC_MASTER_KEY", own, noted),
		Would: "takes the present key: channels and credentials of model providers have to be entered again, and open consoles end",
		Apply: func() error { return i.Store.ReplaceFact(ctx, KeyFact, own) },
	})
}

// checkLog compares the log with the log that filled the store.
func (i *Identity) checkLog(ctx context.Context, noted string) error {
	own, err := i.Log.ClusterID(ctx)
	if err != nil || own == "" {
		return err // a cluster without an id
	}
	if noted == "" {
		noted, err = i.Store.NoteFact(ctx, LogFact, own)
	}
	if err != nil || noted == own {
		return err
	}
	return i.Inspection.Report(Finding{
		What:  fmt.Sprintf("the log is another one (%s) than the store was filled from (%s); %s", own, noted, lastProgress(i.Progress)),
		Would: "goes on with this log from its beginning",
		Apply: func() error { return i.Store.ReplaceFact(ctx, LogFact, own) },
	})
}

// checkPositions compares the stored offsets with the offsets of the log.
func (i *Identity) checkPositions(ctx context.Context, filled bool) error {
	positions, err := i.Consumer.Committed(ctx, i.Partitions)
	if err != nil {
		return err
	}
	ranges, err := i.Log.Ranges(ctx)
	if err != nil {
		return err
	}
	var lost, stored, kept int64
	back := make([]kafka.Position, 0, len(positions))
	for _, p := range positions {
		at := ranges[p.Partition]
		lost += max(0, p.Offset-at.End)
		stored += p.Offset
		kept += at.End - at.Start
		back = append(back, kafka.Position{Partition: p.Partition, Offset: at.Start})
	}
	switch {
	case lost > 0:
		return i.Inspection.Report(Finding{
			What:  fmt.Sprintf("%d records were stored and the log now ends %d records before them: it lost its end, and with it what was accepted and not stored; %s", stored, lost, lastProgress(i.Progress)),
			Would: fmt.Sprintf("goes on from the beginning of what the log has (%d records); what was stored before is not stored again", kept),
			Apply: func() error { return i.Log.Reset(ctx, i.Group, back) },
		})
	case !filled && stored > startOf(ranges):
		return i.Inspection.Report(Finding{
			What:  fmt.Sprintf("the store is empty, and %d records of this log were stored: the store was lost, or this is another one; fill it again from the log (svc admin rebuild) or from a backup (svc restore)", stored),
			Would: fmt.Sprintf("begins a new store, with a first start of its own, and gives up what was decided so far; what the log still has (%d records) is read again, but belongs to applications that were lost", kept),
			Apply: func() error {
				if err := i.State.Leave(ctx); err != nil {
					return err // until the log is reset, the next check finds the same
				}
				return i.Log.Reset(ctx, i.Group, back)
			},
		})
	}
	return nil
}

func startOf(ranges map[int]kafka.Range) (sum int64) {
	for _, at := range ranges {
		sum += at.Start
	}
	return sum
}
