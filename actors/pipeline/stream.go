package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"svc/actors/attempt"
	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/metric"
)

// History reads the recent past from the store, for a beginning generation.
type History interface {
	// RecentIDs yields the events that arrived since an instant, except the events of one block. It yields the hash of
	// their visitor and the key of their id, roughly in the order of their arrival. If there are more than limit, it
	// yields the newest.
	RecentIDs(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(thread uint64, key [2]uint64)) error
	// RecentErrors does the same for errors, by the number of their issue.
	RecentErrors(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(issue uint64, key [2]uint64)) error
	// RecentMetrics does the same for metric points that can be recognized as repetitions, by the hash of their
	// metric's name.
	RecentMetrics(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(metric uint64, key [2]uint64)) error
	// RecentBillings does the same for billing items, by the hash of their subject, with the rate that is valid.
	RecentBillings(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(subject uint64, name [2]uint64, rate int64)) error
	// RecentTallies yields the last tally of every source with a tally since an instant, without the tallies of one
	// block.
	RecentTallies(ctx context.Context, since time.Time, exceptBlock uint64, yield func(ingest.TallyMark)) error
	// Cumulatives yields the totals of the cumulative series with a point that arrived since an instant, without the
	// points of one block.
	Cumulatives(ctx context.Context, since time.Time, exceptBlock uint64, yield func(metric.CumulativeSeries)) error
	// Sessions calls open with the sessions that had an arrival within a span before the last arrival. Their state is
	// that of their events, except the events of one block. It calls ended with the names of sessions that had an
	// arrival since an instant but not within the span: thread, whether it is a bot, and the hash of the id. It may
	// call open several times for a session, with parts that different rows carry. If there are more than the limits,
	// it leaves out the ones with the earliest arrivals.
	Sessions(ctx context.Context, q event.SessionsQuery, open func(event.OpenSession), ended func(event.SessionName)) error
}

// DuplicateWindow is how long an event's id is remembered, unless RecentIDs newer ones of its partition arrived since.
const DuplicateWindow = 24 * time.Hour

// Stream passes the records of this node's partitions to their intakes. The consumer of the log notifies it of the
// partitions that the node owns. A block that a crash left pending is completed before anything else of its shard is
// read (recovery.go). The shards are independent: a store that is away delays only its own partitions.
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
	// completing holds a token while a generation completes blocks, and guards completions, a map by the numbers of the
	// blocks.
	completing  chan struct{}
	completions map[uint64]*completion
	// working are the goroutines of the stream.
	working sync.WaitGroup
}

// StreamConfig holds the dependencies of a stream.
type StreamConfig struct {
	Shape     domain.LogShape
	Ownership *Ownership
	Actors    teller
	Sinks     *Sinks
	Log       RecordLog
	// History returns the recent past in the store of a shard.
	History func(shard int) History
	// Intakes configures the intakes that make the rows of a completed block.
	Intakes IntakeConfig
	Evict   func(partition int)
	// Claims are the claims of the partitions' actors.
	Claims Claims
	// Moves knows the environments that do not live on the shard that their numbers name.
	Moves  Moves
	Now    func() time.Time
	Logger *slog.Logger
}

// Moves holds the environments that live on another shard than the one that their numbers name.
type Moves interface {
	// Hear makes this node use the shard of an environment.
	Hear(environment uint64, shard int)
	// Note stores the shard of an environment durably. It may be repeated, and needs the stores of both shards.
	Note(ctx context.Context, environment uint64, shard int) error
	// Learn makes this node read the places of the environments that have numbers of a shard.
	Learn(ctx context.Context, shard int) error
}

// Claims are the rights to write the state of partitions' actors.
type Claims interface {
	// Assign begins a generation in which this node is to hold the claims of some partitions.
	Assign(generation uint32, partitions []int)
	// Await returns once this node holds the claim of a partition.
	Await(ctx context.Context, partition int) error
}

// RecordLog is the part of the log that recovery needs.
type RecordLog interface {
	Committer
	// Committed returns the positions of partitions, including partitions of other nodes.
	Committed(ctx context.Context, partitions []int) ([]event.LogPosition, error)
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

// Run waits until ctx ends, which must be after the last generation. Then it ends the work of the stream and waits for
// it.
func (s *Stream) Run(ctx context.Context) error {
	<-ctx.Done()
	for _, shard := range s.shards {
		shard.stop()
	}
	return nil
}

// stop ends the work of the stream and waits for it.
func (s *shardStream) stop() {
	s.mu.Lock()
	if s.generation != nil {
		s.generation.cancel()
	}
	s.mu.Unlock()
	s.completing <- struct{}{} // no generation can take it any more
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
	// undecided are the blocks with an insert that may or may not have happened. unbegun are the blocks with texts that
	// must be gone before anything goes past them.
	undecided, unbegun []pendingBlock
	// moves are the moves that an earlier generation decided and may not have noted. words are the positions of this
	// node that carried their texts, without the texts.
	moves []moved
	words []event.LogPosition
	// states are the states of partitions that were read, until their intakes have them.
	states map[int]*begin
	// kept are the partitions with intakes that continue with their state.
	kept []int
	// cancel ends the reading of the states. loaded is closed once every intake has its state and nothing is pending.
	cancel context.CancelFunc
	loaded chan struct{}
	// clean says that everything that was folded is stored and committed.
	clean bool
}

func (g *generation) owns(partition int) bool { return slices.Contains(g.partitions, partition) }

// ready reports whether every intake has received its state.
func (g *generation) ready() bool {
	select {
	case <-g.loaded:
		return true
	default:
		return false
	}
}

// Assigned begins a generation: it resolves the pending blocks of a crash as far as that takes no time, and returns the
// offsets at which to start reading. Afterwards blocks are completed and the intakes' states are read from the store;
// records wait for that, everything else does not.
func (s *Stream) Assigned(ctx context.Context, assignment event.LogAssignment) (map[int]int64, error) {
	starts := map[int]int64{}
	begun := make([]*generation, len(s.shards))
	var owned []int
	for n, shard := range s.shards {
		g := &generation{number: assignment.Generation, states: map[int]*begin{}, loaded: make(chan struct{})}
		var own []event.LogPosition
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

// start makes a generation the current one.
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

// Records passes records of one partition to its intake and waits until they are in a block. Records of a shard that
// this node does not know wait for a node that does.
func (s *Stream) Records(ctx context.Context, partition int, records []event.LogRecord, _ int64) error {
	if shard := partition / s.config.Shape.Partitions; shard < len(s.shards) {
		return s.shards[shard].records(ctx, partition, records)
	}
	<-ctx.Done()
	return ctx.Err()
}

// records implements Records for the partitions of a shard.
func (s *shardStream) records(ctx context.Context, partition int, records []event.LogRecord) error {
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

// ending implements Ending for the partitions of a shard.
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

// Revoked ends the generation: nothing is folded any more. Its actors continue to serve until the next generation names
// their owners, or the lease ends.
func (s *Stream) Revoked(int32) {
	for _, shard := range s.shards {
		shard.revoked()
	}
}

// revoked implements Revoked for the partitions of a shard.
func (s *shardStream) revoked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation == nil {
		return // it never began; the kept partitions follow from the previous generation
	}
	s.last, s.generation = s.generation, nil
	s.last.cancel()
}

// release stops the actors of partitions that this node loses. If a generation passed without this node, others may
// have written, and no partition is kept.
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
