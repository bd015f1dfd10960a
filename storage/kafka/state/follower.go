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
	// followWait is how long a broker holds a request that finds nothing new. It limits the staleness of an idle
	// follower.
	followWait = 500 * time.Millisecond
	// gatherTime is the pause after records were read, so that a busy log is not read record by record. The pause ends
	// at once when a caller waits for records.
	gatherTime = 3 * time.Millisecond
)

// Sink receives the entries that a follower reads. Calls for one partition do not overlap.
type Sink struct {
	// Each receives entries of a partition in order, including void ones, and the position after them.
	Each func(partition int, entries []Entry, at Position)

	// Gap is called when the follower cannot continue at its position, because the records after it were trimmed or the
	// log lost its end. Everything known of the partition is then invalid. The next entries begin at the start of the
	// log.
	Gap func(partition int)
}

// Follower reads all partitions of a log. It has one request under way at each leader.
type Follower struct {
	log    *Log
	client *kgo.Client
	sink   Sink
	end    context.CancelFunc
	done   chan struct{}
	syncs  *groupcommit.Committer[struct{}]

	mu    sync.Mutex
	at    []Position      // guarded by mu
	known []time.Duration // the last time each partition was known to be read to its end; guarded by mu
	moved chan struct{}   // closed at the next progress; guarded by mu
	hurry chan struct{}   // closed when a caller waits; guarded by mu
}

// Follow returns a follower that reads from the given positions, one for each partition, until ctx ends or it is
// closed.
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

// Positions returns the position up to which each partition was read.
func (f *Follower) Positions() []Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Position(nil), f.at...)
}

// Lag returns the time since the follower last knew that it had read the whole log. It includes time in which the
// process is stopped.
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

// Sync returns once the sink has everything that was in the log at the time of the call. Concurrent callers share the
// requests for the end of the log.
func (f *Follower) Sync(ctx context.Context) error {
	if err := f.syncs.Commit(ctx); err != nil {
		return fmt.Errorf("reading up to the end of the log of state: %w", err)
	}
	return nil
}

// sync reads the end offsets of the log and waits until the follower has reached them.
func (f *Follower) sync(ctx context.Context, _ []struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	ends, err := f.log.Ends(ctx)
	if err != nil {
		return err
	}
	return f.Await(ctx, ends)
}

// Await returns once the sink has all records before the given offsets, one for each partition.
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

// reached reports whether the offsets are read. If they are not, it cancels the next pause and returns the channel that
// is closed at the next progress.
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

// run reads until ctx ends. After an error it looks up the leaders again.
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

// discover loads the list of brokers into the client.
func (f *Follower) discover(ctx context.Context) error {
	_, err := f.log.askLeaders(ctx, f.client)
	return err
}

// read reads the partitions that one broker leads, until an error occurs.
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

// cursor returns a cursor at the position of a partition. It reports barriers to the partition's owner in this process.
func (f *Follower) cursor(partition int) *cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &cursor{at: f.at[partition], barrier: func(reign Reign, offset int64) { f.log.sawBarrier(partition, reign, offset) }}
}

// take passes a broker's records of a partition to the sink. It returns the number of entries.
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

// move stores the position of a partition. asked is a time at which the partition was known to be read to its end, or
// 0.
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

// gather waits for further records, unless a caller waits for the ones that were read.
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

// sawBarrier reports a barrier to the owner of a partition in this process.
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

// sawVoid reports void records to the owner of a partition in this process.
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
