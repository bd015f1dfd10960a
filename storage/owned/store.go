package owned

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync"
	"time"

	"svc"
	"svc/storage/clickhouse/state"
	"svc/storage/groupcommit"
	log "svc/storage/kafka/state"
)

const (
	// DefaultTail bounds the bytes of the tail; saves beyond it are refused until the tables follow.
	DefaultTail = 256 << 20
	// retry is when a caller may try again while the log does not answer.
	retry = time.Second
	// startTime bounds the reading of the log by a call that begins to follow it.
	startTime = 10 * time.Second
)

// Config configures a [Store].
type Config struct {
	Log        *log.Log
	Partitions int
	// PartitionOf returns the partition of an owner: that in which its actor lives.
	PartitionOf func(owner string) int
	// TenantOf returns whose an owner is: while the tables do not follow, one tenant's saves leave
	// room for the others'. Nil takes each owner for a tenant.
	TenantOf func(owner string) string
	// Changed receives the entities that changed, on all nodes, in the order of the log. What
	// [Store.Await] waits for was received. It may be nil.
	Changed func(entities []svc.Entity)
	// Gap is called when the log does not have some of what would have been received. It may be
	// nil.
	Gap func()
	// Seal gives entries that changes left their places in the ledger of an organization, those of
	// one partition in the order of the log. Those that have a place keep it. Nil leaves all where
	// they are.
	Seal func(ctx context.Context, org string, left []svc.LeftEntry) error
	// Tail is DefaultTail where it is zero.
	Tail   int
	Logger *slog.Logger
}

// Tables are where the log's records go.
type Tables interface {
	// Move stores records; storing them again changes nothing.
	Move(ctx context.Context, records []state.Record) error
	// Each calls each with all records that were moved, one for each thing, until it fails.
	Each(ctx context.Context, each func(r state.Record) error) error
	// Wakeups yields all wake-ups with the versions of their writes.
	Wakeups(ctx context.Context, yield func(w svc.Wakeup, version uint64)) error
}

// Store keeps what actors own. It is the journal of the tables. Its methods may be called from
// any number of goroutines at the same time.
type Store struct {
	cfg  Config
	tail *tail
	// copies are what was loaded lately.
	copies *copies
	moves  *groupcommit.Committer[bool]
	seals  *groupcommit.Committer[bool]

	wakeups wakeups
	learns  *groupcommit.Committer[learning]

	mu     sync.Mutex
	owners map[int]*log.Owner // the claims of this process; guarded by mu

	tables   Tables
	follower *log.Follower
	running  context.Context //nolint:containedctx // the store works from Begin to Close
	stop     context.CancelFunc
	working  sync.WaitGroup
}

// New returns a store that does not follow the log yet.
func New(cfg Config) *Store {
	if cfg.Tail == 0 {
		cfg.Tail = DefaultTail
	}
	if cfg.TenantOf == nil {
		cfg.TenantOf = func(owner string) string { return owner }
	}
	s := &Store{cfg: cfg, tail: newTail(cfg.Partitions, cfg.TenantOf), copies: newCopies(copyBytes), owners: map[int]*log.Owner{}, stop: func() {}}
	s.wakeups.partitions = map[int]*schedule{}
	s.moves, s.seals, s.learns = groupcommit.New(s.move), groupcommit.New(s.seal), groupcommit.New(s.readWakeups)
	return s
}

// Begin follows the log until Close, and moves what it holds to the tables. It returns once the
// log is known as far as it reaches now.
func (s *Store) Begin(ctx context.Context, tables Tables) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	from, err := s.cfg.Log.Marks(ctx)
	if err == nil {
		s.follower, err = s.cfg.Log.Follow(context.WithoutCancel(ctx), from, log.Sink{Each: s.heard, Gap: s.gap})
	}
	if err != nil {
		stop()
		return away("The log", err)
	}
	s.tail.dropAll(from)
	s.tables, s.stop, s.running = tables, stop, running
	mover := &mover{store: s}
	s.working.Go(func() { mover.run(running) })
	s.working.Go(func() { s.keepSealing(running) })
	s.working.Go(func() { (&archiver{store: s}).run(running) })
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return s.Await(ctx)
}

// Close moves what is left to the tables, as far as the store answers, and ends.
func (s *Store) Close() {
	if s.follower == nil {
		return
	}
	s.stop()
	s.working.Wait()
	s.follower.Close()
}

// heard takes what the follower read.
func (s *Store) heard(partition int, entries []log.Entry, at log.Position) {
	entities, wakeups, broken := s.tail.apply(partition, entries, at)
	if len(wakeups) > 0 {
		s.wakeups.note(partition, wakeups)
	}
	for _, entry := range broken {
		s.cfg.Logger.Error("a record of the log of state cannot be read", "partition", partition, "offset", entry.Offset)
	}
	s.copies.note(entities)
	if s.cfg.Changed != nil && len(entities) > 0 {
		s.cfg.Changed(entities)
	}
}

// gap begins a partition again, of which the log does not have what follows.
func (s *Store) gap(partition int) {
	s.tail.reset(partition)
	s.copies.forget(func(owner string) bool { return s.cfg.PartitionOf(owner) == partition })
	if s.cfg.Gap != nil {
		s.cfg.Gap()
	}
}

// unavailable says that a write or read cannot be done now; the cause is for the log.
type unavailable struct{ shown, cause error }

func (e *unavailable) Error() string   { return e.shown.Error() + " " + e.cause.Error() }
func (e *unavailable) Unwrap() []error { return []error{e.shown, e.cause} }

func away(what string, cause error) error {
	return &unavailable{svc.Unavailable(what, retry), cause}
}

// Append implements [state.Journal].
func (s *Store) Append(ctx context.Context, r state.Record, free bool) error {
	if err := s.room(&r); err != nil {
		return err
	}
	records, err := encode(&r)
	if err != nil {
		return err
	}
	partition := s.partitionOf(&r)
	if free {
		err = s.cfg.Log.Append(ctx, partition, records)
	} else if owner := s.owner(partition); owner != nil {
		err = owner.Save(ctx, records)
	} else {
		err = log.ErrLost
	}
	if err != nil && !errors.Is(err, log.ErrTooLarge) {
		return away("The log", err)
	}
	return err
}

// partitionOf returns the partition of what a record holds.
func (s *Store) partitionOf(r *state.Record) int {
	for _, entities := range [][]svc.Entity{r.Entities, r.Sealed} {
		if len(entities) > 0 {
			return s.cfg.PartitionOf(entities[0].Owner)
		}
	}
	if len(r.Wakeups) > 0 {
		return s.cfg.PartitionOf(r.Wakeups[0].Kind + "/" + r.Wakeups[0].Identity)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.Key))
	return int(h.Sum32() % uint32(s.cfg.Partitions))
}

// owner returns this process's claim of a partition, nil where it has none.
func (s *Store) owner(partition int) *log.Owner {
	s.mu.Lock()
	owner := s.owners[partition]
	s.mu.Unlock()
	if owner == nil {
		return nil
	}
	select {
	case <-owner.Lost():
		return nil
	default:
		return owner
	}
}

// Waiting implements [state.Journal].
func (s *Store) Waiting(ctx context.Context, owners, without []string) (state.Waiting, error) {
	if err := s.reach(ctx, owners); err != nil {
		return state.Waiting{}, err
	}
	w := state.Waiting{Entities: map[string][]svc.Entity{}, Whole: map[string]bool{}}
	loading := map[string]bool{} // whether what is found are entities only
	for _, owner := range owners {
		entities, copied := s.copies.get(owner, without)
		waiting := s.tail.waiting(s.cfg.PartitionOf(owner), owner)
		w.Entities[owner] = slices.Concat(entities, waiting.entities, waiting.sealed)
		w.Whole[owner] = copied || waiting.whole
		if !copied {
			loading[owner] = len(waiting.sealed) == 0
		}
	}
	w.Loaded = func(found map[string][]svc.Entity) {
		for owner, plain := range loading {
			var kept []svc.Entity
			if plain {
				kept = found[owner]
			}
			s.copies.put(owner, without, kept)
		}
	}
	return w, nil
}

// reach returns once this node knows the last saves of some owners.
func (s *Store) reach(ctx context.Context, owners []string) error {
	ends := make([]int64, s.cfg.Partitions)
	for _, owner := range owners {
		partition := s.cfg.PartitionOf(owner)
		claim := s.owner(partition)
		if claim == nil {
			return s.Await(ctx)
		}
		ends[partition] = claim.Position().Offset
	}
	if err := s.follower.Await(ctx, ends); err != nil {
		return away("The log", err)
	}
	return nil
}

// Await returns once this node has heard of everything that was in the log before the call.
func (s *Store) Await(ctx context.Context) error {
	if err := s.follower.Sync(ctx); err != nil {
		return away("The log", err)
	}
	return nil
}

// Lag returns for how long this node has not known that it is at the end of the log.
func (s *Store) Lag() time.Duration { return s.follower.Lag() }

// Waits returns about how many bytes were saved that may not be in the tables.
func (s *Store) Waits() int { return s.tail.size() }

// Flush implements [state.Journal].
func (s *Store) Flush(ctx context.Context) error {
	if err := s.Await(ctx); err != nil {
		return err
	}
	if err := s.moves.Commit(ctx, true); err != nil {
		return away("The store", err)
	}
	return nil
}

// move moves to the tables what the tail holds of all partitions, if a caller wants all, else
// of those that this process owns.
func (s *Store) move(ctx context.Context, all []bool) error {
	wanted := func(int) bool { return true }
	if !anyOf(all) {
		wanted = func(partition int) bool { return s.owner(partition) != nil }
	}
	c := s.tail.collect(wanted)
	if len(c.records) > 0 {
		if err := s.tables.Move(ctx, c.records); err != nil {
			return fmt.Errorf("moving saves to the tables: %w", err)
		}
	}
	s.tail.moved(c)
	return nil
}

func anyOf(all []bool) bool {
	for _, one := range all {
		if one {
			return true
		}
	}
	return false
}

// Claim is the right of this process to write a partition.
type Claim struct {
	*log.Owner
	store     *Store
	partition int
	end       context.CancelFunc
}

// Take makes this process the one that writes a partition. It returns once the node knows what
// was saved before.
func (s *Store) Take(ctx context.Context, partition int) (*Claim, error) { //nolint:contextcheck // learning goes on after the call
	from := s.follower.Positions()[partition]
	owner, err := s.cfg.Log.Take(ctx, partition, from, func([]log.Entry) {}, func([]string) {})
	if err != nil {
		return nil, err
	}
	ends := make([]int64, s.cfg.Partitions)
	ends[partition] = owner.Position().Offset
	if err := s.follower.Await(ctx, ends); err != nil {
		owner.Close()
		return nil, err
	}
	s.mu.Lock()
	s.owners[partition] = owner
	s.mu.Unlock()
	learning, end := context.WithCancel(s.running)
	s.working.Go(func() { s.learn(learning, partition) })
	return &Claim{owner, s, partition, end}, nil
}

// Close gives the claim up.
func (c *Claim) Close() {
	c.end()
	c.store.mu.Lock()
	if c.store.owners[c.partition] == c.Owner {
		delete(c.store.owners, c.partition)
	}
	c.store.mu.Unlock()
	c.Owner.Close()
}
