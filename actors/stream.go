package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"svc"
	"svc/protos"
)

// History is what the store knows of the recent past, for a beginning generation.
type History interface {
	// RecentIDs yields the events that arrived since an instant, except those of
	// one block, by the hash of their visitor and the key of their id, roughly in
	// the order in which they arrived; of more than limit it yields the newest.
	RecentIDs(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(visitor uint64, key [2]uint64)) error
	// RecentErrors is RecentIDs for errors, by the number of their issue.
	RecentErrors(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(issue uint64, key [2]uint64)) error
	// RecentMetrics is RecentIDs for metric points whose repetitions are known, by the
	// hash of their metric's name.
	RecentMetrics(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(metric uint64, key [2]uint64)) error
	// Cumulatives yields what the cumulative series had reached of which a point
	// arrived since an instant, without the points of one block.
	Cumulatives(ctx context.Context, since time.Time, exceptBlock uint64, yield func(svc.CumulativeSeries)) error
	// OpenSessions yields the sessions of which an event arrived since an
	// instant, folded over all their events except those of one block.
	OpenSessions(ctx context.Context, since time.Time, exceptBlock uint64, yield func(svc.OpenSession) bool) error
}

// DuplicateWindow is how long an event's id is remembered, unless RecentIDs
// newer ones of its partition came in since.
const DuplicateWindow = 24 * time.Hour

// Stream carries the records of this node's partitions to their intakes. It is
// told by the log's consumer which partitions the node owns; a block that a
// crash left pending is completed before anything else is read.
type Stream struct {
	config StreamConfig

	mu         sync.Mutex
	generation *generation
	last       *generation
}

// StreamConfig is what a stream needs.
type StreamConfig struct {
	Partitions int
	Ownership  *Ownership
	Actors     teller
	Sink       *Sink
	Log        Committer
	History    History
	// Watch is loaded before the first record of a generation; it may be nil.
	Watch *Watch
	Evict func(partition int)
	// Go runs what takes a while; nil starts a goroutine.
	Go     func(work func())
	Now    func() time.Time
	Logger *slog.Logger
}

// NewStream returns a stream without partitions.
func NewStream(config StreamConfig) *Stream {
	if config.Go == nil {
		config.Go = func(work func()) { go work() }
	}
	return &Stream{config: config}
}

// generation is one epoch of ownership.
type generation struct {
	number     int32
	partitions []int
	// cancel ends the reading of the states; loaded is closed once every intake
	// has its own.
	cancel context.CancelFunc
	loaded chan struct{}
	// ready is closed once no block is pending; failed is set before where
	// completing it went wrong.
	ready  chan struct{}
	failed error
	// pending is the block to complete first; lasts holds its last offset in
	// each of its partitions that were not read so far.
	pending uint64
	mu      sync.Mutex
	lasts   map[int]int64
}

// Assigned begins a generation: it settles what a crash left pending and returns
// where to start reading. The intakes' states are read from the store meanwhile;
// records wait for them, everything else does not.
func (s *Stream) Assigned(ctx context.Context, assignment svc.LogAssignment) (map[int]int64, error) {
	pending, found, err := judge(assignment.Partitions)
	if err != nil {
		return nil, err
	}
	g := &generation{number: assignment.Generation, loaded: make(chan struct{}), ready: make(chan struct{}), lasts: map[int]int64{}}
	starts := map[int]int64{}
	for _, position := range assignment.Partitions {
		g.partitions = append(g.partitions, position.Partition)
		starts[position.Partition] = position.Offset
	}
	switch found {
	case nonePending:
	case notBegun, stored:
		settled := pending.settle(found, assignment.Partitions)
		if err := s.config.Log.Commit(ctx, g.number, settled); err != nil {
			return nil, fmt.Errorf("settling an interrupted block: %w", err)
		}
		for _, position := range settled {
			starts[position.Partition] = position.Offset
		}
	case undecided:
		g.pending = pending.id
		for _, span := range pending.spans {
			g.lasts[span.partition] = span.last
		}
	}
	s.start(ctx, g)
	return starts, nil
}

// start makes a generation the present one.
func (s *Stream) start(ctx context.Context, g *generation) {
	s.release(g)
	s.config.Ownership.begin(g.number, g.partitions)
	s.config.Sink.begin(g.number, g.pending != 0)
	s.mu.Lock()
	s.generation = g
	s.mu.Unlock()
	if g.pending == 0 {
		close(g.ready)
	} else {
		s.config.Logger.Info("completing the block of an interrupted run", "partitions", len(g.lasts))
	}
	ctx, g.cancel = context.WithCancel(ctx)
	s.config.Go(func() { s.load(ctx, g) })
}

// load gives the intakes their states, as soon as the store answers.
func (s *Stream) load(ctx context.Context, g *generation) {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		err := s.begin(ctx, g, g.pending)
		if err == nil {
			close(g.loaded)
			return
		}
		if ctx.Err() != nil {
			return
		}
		s.config.Logger.Warn("reading the intakes' states failed", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// begin gives every intake the state of its partition as the store has it,
// without the rows of one block.
func (s *Stream) begin(ctx context.Context, g *generation, exceptBlock uint64) error {
	states := make(map[int]*begin, len(g.partitions))
	for _, partition := range g.partitions {
		states[partition] = &begin{
			generation: g.number, ids: newRecentIDs(RecentIDs), errorIDs: newRecentIDs(RecentErrors), metricIDs: newRecentIDs(RecentMetrics),
			sessions: newStitcher(), cumulatives: newCumulatives(),
		}
	}
	if err := s.remember(ctx, states, exceptBlock); err != nil {
		return err
	}
	if err := s.config.Watch.load(ctx, g.partitions); err != nil {
		return err
	}
	for partition, state := range states {
		if err := s.config.Actors.Tell(kindIntake, intakeIdentity(partition), state); err != nil {
			return fmt.Errorf("waking intake %d: %w", partition, err)
		}
	}
	return nil
}

// remember fills the states of intakes from the store.
func (s *Stream) remember(ctx context.Context, states map[int]*begin, exceptBlock uint64) error {
	of := func(visitor uint64) *begin { return states[int(visitor%uint64(s.config.Partitions))] }
	now := s.config.Now()
	err := s.config.History.RecentIDs(ctx, now.Add(-DuplicateWindow), exceptBlock, RecentIDs*s.config.Partitions, func(visitor uint64, key [2]uint64) {
		if state := of(visitor); state != nil {
			state.ids.add(key)
		}
	})
	if err != nil {
		return fmt.Errorf("reading recent ids: %w", err)
	}
	err = s.config.History.RecentErrors(ctx, now.Add(-DuplicateWindow), exceptBlock, RecentErrors*s.config.Partitions, func(issue uint64, key [2]uint64) {
		if state := of(issue); state != nil {
			state.errorIDs.add(key)
		}
	})
	if err != nil {
		return fmt.Errorf("reading recent errors: %w", err)
	}
	if err := s.rememberMetrics(ctx, states, exceptBlock); err != nil {
		return err
	}
	since := now.Add(-stitchTime * time.Millisecond)
	err = s.config.History.OpenSessions(ctx, since, exceptBlock, func(open svc.OpenSession) bool {
		visitor := protos.VisitorHash(open.Environment, svc.Visitor(open.DistinctID, open.AnonymousID))
		if state := of(visitor); state != nil {
			state.sessions.restore(visitor, open.Session)
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("reading open sessions: %w", err)
	}
	for _, state := range states {
		state.sessions.turnMs = now.UnixMilli()
	}
	return nil
}

// rememberMetrics fills what the states know of metrics from the store.
func (s *Stream) rememberMetrics(ctx context.Context, states map[int]*begin, exceptBlock uint64) error {
	now := s.config.Now()
	err := s.config.History.RecentMetrics(ctx, now.Add(-DuplicateWindow), exceptBlock, RecentMetrics*s.config.Partitions, func(metric uint64, key [2]uint64) {
		if state := states[int(metric%uint64(s.config.Partitions))]; state != nil {
			state.metricIDs.add(key)
		}
	})
	if err != nil {
		return fmt.Errorf("reading recent metric points: %w", err)
	}
	var broken error
	err = s.config.History.Cumulatives(ctx, now.Add(-cumulativeHistory), exceptBlock, func(series svc.CumulativeSeries) {
		if state := states[protos.PartitionOfMetric(series.Environment, series.Name, s.config.Partitions)]; state != nil {
			broken = errors.Join(broken, state.cumulatives.restore(series))
		}
	})
	if err := errors.Join(err, broken); err != nil {
		return fmt.Errorf("reading cumulative series: %w", err)
	}
	return nil
}

// errNoGeneration is the answer for records outside a generation.
var errNoGeneration = errors.New("no generation is under way")

// Records carries records of one partition to its intake and waits until they
// are in a block.
func (s *Stream) Records(ctx context.Context, partition int, records []svc.LogRecord, _ int64) error {
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
	records, err := s.complete(ctx, g, partition, records)
	if err != nil || len(records) == 0 {
		return err
	}
	select {
	case <-g.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	if g.failed != nil {
		return g.failed
	}
	if err := s.config.Sink.wait(ctx, g.number); err != nil {
		return err
	}
	return foldRecords(ctx, s.config.Actors, partition, &fold{g.number, records, make(chan error, 1)})
}

// complete folds what belongs to the pending block and returns what is behind
// it. The partition that brings the last record stores the block and opens the
// way for all.
func (s *Stream) complete(ctx context.Context, g *generation, partition int, records []svc.LogRecord) ([]svc.LogRecord, error) {
	g.mu.Lock()
	last, belongs := g.lasts[partition]
	g.mu.Unlock()
	if !belongs {
		return records, nil
	}
	cut := 0
	for cut < len(records) && records[cut].Offset <= last {
		cut++
	}
	if cut > 0 {
		if err := foldRecords(ctx, s.config.Actors, partition, &fold{g.number, records[:cut], make(chan error, 1)}); err != nil {
			return nil, err
		}
	}
	if cut == len(records) && (cut == 0 || records[cut-1].Offset < last) {
		return nil, nil
	}
	g.mu.Lock()
	delete(g.lasts, partition)
	remaining := len(g.lasts)
	g.mu.Unlock()
	if remaining > 0 {
		return records[cut:], nil
	}
	if err := s.config.Sink.flushAs(ctx, g.pending); err != nil {
		g.failed = fmt.Errorf("completing a block: %w", err)
	}
	close(g.ready)
	return records[cut:], g.failed
}

// Revoked ends the generation: the node stops serving its partitions. Their
// actors stay in memory until the next generation says who owns them.
func (s *Stream) Revoked(int32) {
	s.config.Ownership.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.generation = s.generation, nil
	if s.last != nil {
		s.last.cancel()
	}
}

// release stops the actors of partitions that this node does not keep. Where a
// generation passed without this node, others may have written, and nothing is
// kept.
func (s *Stream) release(next *generation) {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last == nil {
		return
	}
	unbroken := next.number == last.number+1
	for _, partition := range last.partitions {
		if !unbroken || !slices.Contains(next.partitions, partition) {
			s.config.Evict(partition)
		}
	}
}
