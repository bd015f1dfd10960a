package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"svc"
	"svc/actors/attempt"
)

// History reads the recent past from the store, for a beginning generation.
type History interface {
	// RecentIDs yields the events that arrived since an instant, except those of
	// one block, by the hash of their visitor and the key of their id, roughly in
	// the order in which they arrived; of more than limit it yields the newest.
	RecentIDs(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(thread uint64, key [2]uint64)) error
	// RecentErrors is RecentIDs for errors, by the number of their issue.
	RecentErrors(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(issue uint64, key [2]uint64)) error
	// RecentMetrics is RecentIDs for metric points whose repetitions are known, by the
	// hash of their metric's name.
	RecentMetrics(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(metric uint64, key [2]uint64)) error
	// RecentBillings is RecentIDs for billing items, by the hash of their subject and with the rate that holds.
	RecentBillings(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(subject uint64, name [2]uint64, rate int64)) error
	// RecentTallies yields the last tally of every source of which one arrived since an instant,
	// without those of one block.
	RecentTallies(ctx context.Context, since time.Time, exceptBlock uint64, yield func(svc.TallyMark)) error
	// Cumulatives yields what the cumulative series had reached of which a point
	// arrived since an instant, without the points of one block.
	Cumulatives(ctx context.Context, since time.Time, exceptBlock uint64, yield func(svc.CumulativeSeries)) error
	// Sessions calls open with the sessions of which an event arrived within a span
	// before the last arrival, as of their events except those of one block, and ended
	// with the visitors of those that were heard of since an instant and not within the
	// span, whether they are bots, and the hashes of the sessions' ids. It may call open
	// several times for a session, with what different rows know of it. Of more than so
	// many it leaves those out that were heard of first.
	Sessions(ctx context.Context, q svc.SessionsQuery, open func(svc.OpenSession), ended func(svc.SessionName)) error
}

// DuplicateWindow is how long an event's id is remembered, unless RecentIDs
// newer ones of its partition came in since.
const DuplicateWindow = 24 * time.Hour

// Stream carries the records of this node's partitions to their intakes. It is
// told by the log's consumer which partitions the node owns; a block that a
// crash left pending is completed before anything else of its shard is read (recovery.go).
// The shards of the store go their ways: one that is away holds up its own partitions.
type Stream struct {
	config StreamConfig
	shards []*shardStream
}

// shardStream is the stream of the partitions of one shard.
type shardStream struct {
	config  StreamConfig
	shard   int
	sink    *Sink
	history History

	mu         sync.Mutex
	generation *generation
	last       *generation

	// door is closed while the shard is held.
	door door
	// completing holds a token while a generation completes blocks, and guards completions, which
	// are kept by the numbers of their blocks.
	completing  chan struct{}
	completions map[uint64]*completion
	// working are the goroutines of the stream.
	working sync.WaitGroup
}

// StreamConfig holds the dependencies of a stream.
type StreamConfig struct {
	Shape     svc.LogShape
	Ownership *Ownership
	Actors    teller
	Sinks     *Sinks
	Log       RecordLog
	// History returns what a shard's store knows of the recent past.
	History func(shard int) History
	// Intakes configures the intakes that make the rows of a completed block.
	Intakes IntakeConfig
	Evict   func(partition int)
	// Claims are those of the partitions' actors.
	Claims Claims
	// Moves knows which environments do not live where their numbers say.
	Moves  Moves
	Now    func() time.Time
	Logger *slog.Logger
}

// Moves are the environments that live on another shard than their numbers name.
type Moves interface {
	// Hear has this node know on which shard an environment lives.
	Hear(environment uint64, shard int)
	// Note notes that durably. It may be repeated, and needs the stores of both shards.
	Note(ctx context.Context, environment uint64, shard int) error
	// Learn has this node know where the environments live whose numbers name a shard.
	Learn(ctx context.Context, shard int) error
}

// Claims are the rights to write the state of partitions' actors.
type Claims interface {
	// Assign begins a generation, in which this node is to have the claims of some partitions.
	Assign(generation uint32, partitions []int)
	// Await returns once this node has the claim of a partition.
	Await(ctx context.Context, partition int) error
}

// RecordLog is the log as far as recovery needs it.
type RecordLog interface {
	Committer
	// Committed returns the positions of partitions, no matter which node owns them.
	Committed(ctx context.Context, partitions []int) ([]svc.LogPosition, error)
	RecordReader
}

// NewStream returns a stream without partitions.
func NewStream(config StreamConfig) *Stream {
	s := &Stream{config: config}
	for shard, sink := range config.Sinks.all {
		s.shards = append(s.shards, &shardStream{
			config: config, shard: shard, sink: sink, history: config.History(shard),
			completing: make(chan struct{}, 1), completions: map[uint64]*completion{},
		})
	}
	return s
}

// Run waits until ctx ends, which is to be after the last generation, and then ends what the stream
// began and waits for it.
func (s *Stream) Run(ctx context.Context) error {
	<-ctx.Done()
	for _, shard := range s.shards {
		shard.stop()
	}
	return nil
}

// stop ends what the stream began and waits for it.
func (s *shardStream) stop() {
	s.mu.Lock()
	if s.generation != nil {
		s.generation.cancel()
	}
	s.mu.Unlock()
	s.completing <- struct{}{} // no generation takes it any more
	for _, c := range s.completions {
		c.cancel()
	}
	s.working.Wait()
}

// generation is one epoch of ownership of the partitions of one shard.
type generation struct {
	number     int32
	partitions []int
	// starts are the offsets from which the partitions are read.
	starts map[int]int64
	// undecided are the blocks whose insert may or may not have happened, unbegun
	// those whose texts must be gone before anything goes past them.
	undecided, unbegun []pendingBlock
	// moves are those that an earlier generation decided and may not have noted, words the positions of this node
	// that say so, without their text.
	moves []moved
	words []svc.LogPosition
	// states are those of partitions that were read, until their intakes have them.
	states map[int]*begin
	// kept are the partitions whose intakes go on with the state they have.
	kept []int
	// cancel ends the reading of the states; loaded is closed once every intake
	// has its own and nothing is pending.
	cancel context.CancelFunc
	loaded chan struct{}
	// clean says that everything that was folded is stored and committed.
	clean bool
}

func (g *generation) owns(partition int) bool { return slices.Contains(g.partitions, partition) }

// ready reports whether every intake has had its state.
func (g *generation) ready() bool {
	select {
	case <-g.loaded:
		return true
	default:
		return false
	}
}

// Assigned begins a generation: it resolves what a crash left pending, as far as
// that takes no time, and returns where to start reading. Blocks are completed and
// the intakes' states are read from the store meanwhile; records wait for that,
// everything else does not.
func (s *Stream) Assigned(ctx context.Context, assignment svc.LogAssignment) (map[int]int64, error) {
	starts := map[int]int64{}
	begun := make([]*generation, len(s.shards))
	var owned []int
	for n, shard := range s.shards {
		g := &generation{number: assignment.Generation, states: map[int]*begin{}, loaded: make(chan struct{})}
		var own []svc.LogPosition
		for _, position := range assignment.Partitions {
			if position.Partition/s.config.Shape.Partitions == n {
				own, g.partitions = append(own, position), append(g.partitions, position.Partition)
			}
		}
		var err error
		if g.starts, err = shard.survey(ctx, g, own); err != nil {
			return nil, err
		}
		maps.Copy(starts, g.starts)
		begun[n], owned = g, append(owned, g.partitions...)
	}
	for n, shard := range s.shards {
		shard.release(begun[n])
		shard.sink.begin(assignment.Generation)
	}
	s.config.Claims.Assign(uint32(assignment.Generation), begun[0].partitions)
	s.config.Ownership.begin(assignment.Generation, owned)
	for n, shard := range s.shards {
		shard.start(ctx, begun[n])
	}
	return starts, nil
}

// start makes a generation the present one.
func (s *shardStream) start(ctx context.Context, g *generation) {
	ctx, g.cancel = context.WithCancel(ctx)
	s.mu.Lock()
	s.generation = g
	s.mu.Unlock()
	s.working.Go(func() {
		if attempt.Until(ctx, s.config.Logger, "preparing a generation", func() error {
			return attempt.Contained(func() error { return s.prepare(ctx, g) })
		}) == nil {
			close(g.loaded)
		}
	})
}

// errNoGeneration is the answer for records outside a generation.
var errNoGeneration = errors.New("no generation is under way")

// Records carries records of one partition to its intake and waits until they
// are in a block. Those of a shard that this node does not know wait for one that does.
func (s *Stream) Records(ctx context.Context, partition int, records []svc.LogRecord, _ int64) error {
	if shard := partition / s.config.Shape.Partitions; shard < len(s.shards) {
		return s.shards[shard].records(ctx, partition, records)
	}
	<-ctx.Done()
	return ctx.Err()
}

// records is Records of the partitions of a shard.
func (s *shardStream) records(ctx context.Context, partition int, records []svc.LogRecord) error {
	s.mu.Lock()
	g := s.generation
	s.mu.Unlock()
	if g == nil {
		return errNoGeneration
	}
	select {
	case <-g.loaded:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.door.enter(ctx); err != nil {
		return err
	}
	defer s.door.leave()
	room := newTicket(g.number, partition, records)
	if err := s.sink.enter(ctx, room); err != nil {
		return err
	}
	defer s.sink.leave(room)
	return foldRecords(ctx, s.config.Actors, partition, &fold{g.number, records, make(chan error, 1)})
}

// Ending stores everything that was folded in a generation that is about to end,
// so that the next owner of the partitions finds nothing pending.
func (s *Stream) Ending(ctx context.Context, number int32) {
	var ending sync.WaitGroup
	for _, shard := range s.shards {
		ending.Go(func() { shard.ending(ctx, number) })
	}
	ending.Wait()
}

// ending is Ending of the partitions of a shard.
func (s *shardStream) ending(ctx context.Context, number int32) {
	s.mu.Lock()
	g := s.generation
	s.mu.Unlock()
	if g == nil || g.number != number {
		return
	}
	if err := s.sink.drain(ctx, number); err != nil {
		s.config.Logger.Warn("a generation ends with an open block; its records will be read again", "shard", s.shard, "error", err)
		return
	}
	g.clean = true
}

// Revoked ends the generation: nothing is folded any more. Its actors serve on
// until the next generation names their owners, or the lease runs out.
func (s *Stream) Revoked(int32) {
	for _, shard := range s.shards {
		shard.revoked()
	}
}

// revoked is Revoked of the partitions of a shard.
func (s *shardStream) revoked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation == nil {
		return // it never began, and what is kept follows from the generation before
	}
	s.last, s.generation = s.generation, nil
	s.last.cancel()
}

// release stops the actors of partitions that this node does not keep. Where a
// generation passed without this node, others may have written, and nothing is
// kept.
func (s *shardStream) release(next *generation) {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last == nil {
		return
	}
	unbroken := next.number == last.number+1
	for _, partition := range last.partitions {
		if !unbroken || !next.owns(partition) {
			s.config.Evict(partition)
		} else if last.clean && last.ready() {
			next.kept = append(next.kept, partition)
		}
	}
}
