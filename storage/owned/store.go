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

	"svc/domain"
	"svc/storage/clickhouse/state"
	"svc/storage/groupcommit"
	log "svc/storage/kafka/state"
)

const (
	// DefaultTail is the default limit of the tail, in bytes. Further saves are refused until the tables catch up.
	DefaultTail = 256 << 20
	// retry is the retry delay for a caller while the log does not answer.
	retry = time.Second
	// startTime limits how long Begin reads the log.
	startTime = 10 * time.Second
)

// Config configures a [Store].
type Config struct {
	Log        *log.Log
	Partitions int
	// PartitionOf returns the partition of an owner's actor.
	PartitionOf func(owner string) int
	// TenantOf returns the tenant of an owner. While the tables do not follow, the saves of one tenant leave room for
	// other tenants. If it is nil, each owner is a tenant of its own.
	TenantOf func(owner string) string
	// Changed receives the changed entities on all nodes, in the order of the log. When [Store.Await] returns, Changed
	// has received everything that Await waits for. It may be nil.
	Changed func(entities []domain.Entity)
	// Gap is called if the log lacks entries that Changed should have received. It may be nil.
	Gap func()
	// Seal gives pending entries their places in the ledger of an organization. Entries of one partition come in the
	// order of the log. An entry that has a place already retains it. If Seal is nil, the entries stay pending.
	Seal func(ctx context.Context, org string, left []domain.LeftEntry) error
	// Tail limits the tail, in bytes. Zero means DefaultTail.
	Tail   int
	Logger *slog.Logger
}

// Tables receive the records of the log.
type Tables interface {
	// Move stores records. It is idempotent.
	Move(ctx context.Context, records []state.Record) error
	// Each calls each with all moved records, one for each thing, until each returns an error.
	Each(ctx context.Context, each func(r state.Record) error) error
	// Wakeups yields all wake-ups with the versions of their writes.
	Wakeups(ctx context.Context, yield func(w domain.Wakeup, version uint64)) error
}

// Store stores the state of actors. It is the journal of the tables. Its methods may be called concurrently.
type Store struct {
	cfg  Config
	tail *tail
	// copies caches recently loaded entities.
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

// Begin follows the log until Close, and moves its records to the tables. It returns once this node has read the log up
// to its current end.
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

// Close moves the rest of the tail to the tables, if the store answers, and stops.
func (s *Store) Close() {
	if s.follower == nil {
		return
	}
	s.stop()
	s.working.Wait()
	s.follower.Close()
}

// heard applies the entries that the follower has read.
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

// gap starts a partition again, because the log lacks the entries after the current position.
func (s *Store) gap(partition int) {
	s.tail.reset(partition)
	s.copies.forget(func(owner string) bool { return s.cfg.PartitionOf(owner) == partition })
	if s.cfg.Gap != nil {
		s.cfg.Gap()
	}
}

// unavailable means that a write or read is not possible now. The caller sees shown; cause is for the server's log.
type unavailable struct{ shown, cause error }

func (e *unavailable) Error() string   { return e.shown.Error() + " " + e.cause.Error() }
func (e *unavailable) Unwrap() []error { return []error{e.shown, e.cause} }

func away(what string, cause error) error {
	return &unavailable{domain.Unavailable(what, retry), cause}
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

// partitionOf returns the partition of a record's content.
func (s *Store) partitionOf(r *state.Record) int {
	for _, entities := range [][]domain.Entity{r.Entities, r.Sealed} {
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

// owner returns this process's claim of a partition, or nil.
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
	w := state.Waiting{Entities: map[string][]domain.Entity{}, Whole: map[string]bool{}}
	loading := map[string]bool{} // the value is true if the owner has only entities, so that its load may be cached
	for _, owner := range owners {
		entities, copied := s.copies.get(owner, without)
		waiting := s.tail.waiting(s.cfg.PartitionOf(owner), owner)
		w.Entities[owner] = slices.Concat(entities, waiting.entities, waiting.sealed)
		w.Whole[owner] = copied || waiting.whole
		if !copied {
			loading[owner] = len(waiting.sealed) == 0
		}
	}
	w.Loaded = func(found map[string][]domain.Entity) {
		for owner, plain := range loading {
			var kept []domain.Entity
			if plain {
				kept = found[owner]
			}
			s.copies.put(owner, without, kept)
		}
	}
	return w, nil
}

// reach returns once this node has read the last saves of some owners.
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

// Await returns once this node has read everything that was in the log before the call.
func (s *Store) Await(ctx context.Context) error {
	if err := s.follower.Sync(ctx); err != nil {
		return away("The log", err)
	}
	return nil
}

// Lag returns the time since this node last knew that it had read the whole log.
func (s *Store) Lag() time.Duration { return s.follower.Lag() }

// Waits returns the approximate number of saved bytes that may not be in the tables.
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

// move moves the tail to the tables: the tail of all partitions if any caller wants all, otherwise the tail of this
// process's partitions.
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

// Take makes this process the only writer of a partition. It returns once this node has read all earlier saves.
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

// Close gives up the claim.
func (c *Claim) Close() {
	c.end()
	c.store.mu.Lock()
	if c.store.owners[c.partition] == c.Owner {
		delete(c.store.owners, c.partition)
	}
	c.store.mu.Unlock()
	c.Owner.Close()
}
