package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"svc/storage/groupcommit"
	"svc/storage/kafka"
)

const (
	// followWait is how long a broker holds a question that finds nothing new. It bounds the age of
	// what a quiet follower knows.
	followWait = 500 * time.Millisecond
	// gatherTime is the pause after records were read, so that a busy log is not read one by one.
	// It ends at once when a caller waits for records.
	gatherTime = 3 * time.Millisecond
)

// Sink receives what a follower reads. Calls for one partition do not overlap.
type Sink struct {
	// Each receives entries of a partition, in order, void ones included, and the position after
	// them.
	Each func(partition int, entries []Entry, at Position)

	// Gap is called when the log cannot be read on from where it was read: what followed was
	// trimmed, or the log lost its end. What is known of the partition holds no more; the entries
	// that follow begin with the start of the log.
	Gap func(partition int)
}

// Follower reads all partitions of a log, with one question under way at each leader.
type Follower struct {
	log    *Log
	client *kgo.Client
	sink   Sink
	end    context.CancelFunc
	done   chan struct{}
	syncs  *groupcommit.Committer[struct{}]

	mu    sync.Mutex
	at    []Position      // guarded by mu
	known []time.Duration // when each partition was last known to be read to its end; guarded by mu
	moved chan struct{}   // closed at the next progress; guarded by mu
	hurry chan struct{}   // closed when somebody waits; guarded by mu
}

// Follow returns a follower that reads from the given positions on, one for each partition, until
// ctx ends or it is closed.
func (l *Log) Follow(ctx context.Context, from []Position, sink Sink) (*Follower, error) {
	if len(from) != l.cfg.Partitions {
		return nil, errors.New("a follower needs a position for each partition")
	}
	client, err := connect(l.cfg)
	if err != nil {
		return nil, err
	}
	f := &Follower{
		log: l, client: client, sink: sink, done: make(chan struct{}), at: append([]Position(nil), from...),
		known: make([]time.Duration, len(from)), moved: make(chan struct{}), hurry: make(chan struct{}),
	}
	f.syncs = groupcommit.New(f.sync)
	began := kafka.SinceBoot()
	for p := range f.known {
		f.known[p] = began
	}
	ctx, f.end = context.WithCancel(ctx)
	go f.run(ctx)
	return f, nil
}

// Close ends the follower and returns after the last call of its sink.
func (f *Follower) Close() {
	f.end()
	<-f.done
}

// Positions returns what was read of each partition.
func (f *Follower) Positions() []Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Position(nil), f.at...)
}

// Lag returns the time since it was last certain that everything in the log is read. It counts
// the time in which the process is stopped.
func (f *Follower) Lag() time.Duration {
	now := kafka.SinceBoot()
	f.mu.Lock()
	defer f.mu.Unlock()
	lag := time.Duration(0)
	for _, known := range f.known {
		lag = max(lag, now-known)
	}
	return lag
}

// Sync returns once the sink has everything that was in the log when Sync was called. Callers share
// the questions about where the log ends.
func (f *Follower) Sync(ctx context.Context) error {
	if err := f.syncs.Commit(ctx); err != nil {
		return fmt.Errorf("reading up to the end of the log of state: %w", err)
	}
	return nil
}

// sync asks where the log ends and waits until that is read.
func (f *Follower) sync(ctx context.Context, _ []struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	ends, err := f.log.Ends(ctx)
	if err != nil {
		return err
	}
	return f.Await(ctx, ends)
}

// Await returns once the sink has what stands before the given offsets, one for each partition.
func (f *Follower) Await(ctx context.Context, ends []int64) error {
	for {
		moved, reached := f.reached(ends)
		if reached {
			return nil
		}
		select {
		case <-moved:
		case <-f.done:
			return context.Canceled
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reached reports whether the offsets are read, and has the next pause left out if they are not.
func (f *Follower) reached(ends []int64) (moved chan struct{}, reached bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, end := range ends {
		if f.at[p].Offset < end {
			select {
			case <-f.hurry:
			default:
				close(f.hurry)
			}
			return f.moved, false
		}
	}
	return nil, true
}

// run reads until ctx ends. After trouble the leaders are looked for again.
func (f *Follower) run(ctx context.Context) {
	defer close(f.done)
	defer f.client.Close()
	for wait := firstPause; ctx.Err() == nil; {
		began := time.Now()
		err := f.round(ctx)
		if ctx.Err() != nil {
			return
		}
		level := slog.LevelDebug
		if final(err) {
			level = slog.LevelError
		}
		f.log.cfg.Logger.Log(ctx, level, "following the log of state", "error", err)
		if time.Since(began) > time.Second {
			wait = firstPause
		}
		pause(ctx, wait)
		wait = min(2*wait, lastPause)
		f.log.sender.forget()
	}
}

// round reads from all leaders until one of them fails.
func (f *Follower) round(ctx context.Context) error {
	leaders, err := f.log.leadersOf(ctx)
	if err != nil {
		return err
	}
	if err := f.discover(ctx); err != nil {
		return err
	}
	led := map[int32][]int{}
	for partition, leader := range leaders {
		led[leader] = append(led[leader], partition)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for leader, partitions := range led {
		all.Go(func() { cancel(f.read(ctx, leader, partitions)) })
	}
	all.Wait()
	return context.Cause(ctx)
}

// discover has the client know the brokers.
func (f *Follower) discover(ctx context.Context) error {
	_, err := f.log.askLeaders(ctx, f.client)
	return err
}

// read reads what one broker leads, until something fails.
func (f *Follower) read(ctx context.Context, leader int32, partitions []int) error {
	cursors := map[int]*cursor{}
	for _, p := range partitions {
		cursors[p] = f.cursor(p)
		if err := f.log.begin(ctx, p, cursors[p]); err != nil {
			return err
		}
		f.move(p, cursors[p].at, 0)
	}
	for ctx.Err() == nil {
		from := make(map[int]int64, len(cursors))
		for p, at := range cursors {
			from[p] = at.at.Offset
		}
		asked := kafka.SinceBoot()
		answer, err := f.log.fetch(ctx, f.client, leader, from, followWait)
		if err != nil {
			return err
		}
		read := 0
		for _, part := range answer {
			n, err := f.take(ctx, cursors[part.partition], part, asked)
			if err != nil {
				return err
			}
			read += n
		}
		if read > 0 {
			f.gather(ctx)
		}
	}
	return ctx.Err()
}

// cursor returns a cursor at what was read of a partition. It tells the partition's owner of
// barriers.
func (f *Follower) cursor(partition int) *cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &cursor{at: f.at[partition], barrier: func(reign Reign, offset int64) { f.log.sawBarrier(partition, reign, offset) }}
}

// take hands on what a broker sent of a partition, and returns how many entries.
func (f *Follower) take(ctx context.Context, at *cursor, part fetched, asked time.Duration) (int, error) {
	if isGap(part.err) {
		f.log.cfg.Logger.Error("the log of state has a gap", "partition", part.partition, "after", at.at.Offset)
		f.sink.Gap(part.partition)
		at.at = Position{}
		if err := f.log.begin(ctx, part.partition, at); err != nil {
			return 0, err
		}
		f.move(part.partition, at.at, 0)
		return 0, nil
	}
	if part.err != nil {
		return 0, part.err
	}
	before := at.at
	entries, err := at.read(part.batches)
	if err != nil {
		return 0, err
	}
	if len(entries) > 0 {
		f.log.sawVoid(part.partition, entries)
		f.sink.Each(part.partition, entries, at.at)
	}
	if at.at.Offset < part.end {
		asked = 0
	}
	if at.at != before || asked > 0 {
		f.move(part.partition, at.at, asked)
	}
	return len(entries), nil
}

// move notes what was read of a partition, and when that was known to be all, unless asked is 0.
func (f *Follower) move(partition int, at Position, asked time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at[partition] != at {
		f.at[partition] = at
		close(f.moved)
		f.moved = make(chan struct{})
	}
	f.known[partition] = max(f.known[partition], asked)
}

// gather waits a little for further records, unless somebody waits for those that are there.
func (f *Follower) gather(ctx context.Context) {
	f.mu.Lock()
	hurry := f.hurry
	f.mu.Unlock()
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-hurry:
		f.mu.Lock()
		f.hurry = make(chan struct{})
		f.mu.Unlock()
	case <-timer.C:
	case <-ctx.Done():
	}
}

// sawBarrier tells the owner of a partition in this process of a barrier.
func (l *Log) sawBarrier(partition int, reign Reign, offset int64) {
	l.mu.Lock()
	o := l.owners[partition]
	if offset > l.barriers[partition].Offset {
		l.barriers[partition] = Position{offset, reign}
	}
	l.mu.Unlock()
	if o != nil && offset > o.first && !o.isMine(reign) {
		o.lose()
	}
}

// sawVoid tells the owner of a partition in this process of void records.
func (l *Log) sawVoid(partition int, entries []Entry) {
	l.mu.Lock()
	o := l.owners[partition]
	l.mu.Unlock()
	if o == nil {
		return
	}
	var void []string
	for _, e := range entries {
		if e.Void && e.Offset > o.first {
			void = append(void, e.Key)
		}
	}
	if len(void) > 0 {
		o.met(void)
	}
}
