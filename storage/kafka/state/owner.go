package state

import (
	"context"
	"fmt"
	"sync"
)

// Owner writes one partition. Its methods may be called concurrently.
type Owner struct {
	log       *Log
	partition int
	// met is called with the keys of void records.
	met func(keys []string)

	ctx context.Context //nolint:containedctx // the ownership lasts as long as it, beyond any call
	end context.CancelFunc
	// lost is closed once another owner is known.
	lost  chan struct{}
	first int64 // the offset of its first barrier
	queue queue

	// Only the goroutine of the queue writes.
	writer writer

	mu     sync.Mutex
	next   int64              // the offset of the next record, as far as known; guarded by mu
	reign  Reign              // the current reign; guarded by mu
	reigns map[Reign]struct{} // all reigns of this owner; guarded by mu
	over   bool               // lost is closed; guarded by mu
}

// Take makes this process the owner of a partition. It passes the entries from a position up to the new barrier to
// each, in order and including void ones. The returned owner lasts until another owner takes the partition, ctx ends,
// or it is closed.
//
// Later, met is called with the keys of void records as they appear. The caller then saves their current values again,
// or removes the keys that have none. Calls of met may overlap, and must not wait for a save.
//
// Take returns [ErrLost] if another process takes the partition at the same time, and [ErrGap] if the log lacks the
// records after the position.
func (l *Log) Take(ctx context.Context, partition int, from Position, each func([]Entry), met func(keys []string)) (*Owner, error) {
	o, err := l.take(ctx, partition, from, each, met)
	if err != nil {
		return nil, fmt.Errorf("taking partition %d: %w", partition, err)
	}
	return o, nil
}

func (l *Log) take(ctx context.Context, partition int, from Position, each func([]Entry), met func(keys []string)) (*Owner, error) {
	who, err := l.raise(ctx, partition, nil)
	if err != nil {
		return nil, err
	}
	o := &Owner{
		log: l, partition: partition, met: met, lost: make(chan struct{}), reign: newReign(),
		writer: writer{log: l, partition: partition, who: who},
	}
	o.reigns = map[Reign]struct{}{o.reign: {}}
	o.queue.flush = o.store
	o.ctx, o.end = context.WithCancel(ctx)
	if err := o.begin(from, each); err != nil {
		o.end()
		return nil, err
	}
	l.enter(o)
	return o, nil
}

// enter registers an owner, so that followers of this process report barriers and void records to it.
func (l *Log) enter(o *Owner) {
	l.mu.Lock()
	before, seen := l.owners[o.partition], l.barriers[o.partition]
	l.owners[o.partition] = o
	l.mu.Unlock()
	if before != nil {
		before.lose()
	}
	if seen.Offset > o.first && !o.isMine(seen.Reign) {
		o.lose()
	}
}

// leave unregisters an owner.
func (l *Log) leave(o *Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owners[o.partition] == o {
		delete(l.owners, o.partition)
	}
}

// begin appends the first barrier and reads up to it.
func (o *Owner) begin(from Position, each func([]Entry)) error {
	offset, err := o.announce()
	if err != nil {
		return err
	}
	if from.Offset > offset {
		return fmt.Errorf("%w: it ends at offset %d", ErrGap, offset)
	}
	at := &cursor{at: from}
	if err := o.log.until(o.ctx, o.partition, at, offset+1, each); err != nil {
		return err
	}
	if at.at.Reign != o.reign {
		return ErrLost
	}
	o.first, o.next = offset, at.at.Offset
	return nil
}

// announce appends the first barrier. If the broker refuses the producer and no newer producer exists, announce raises
// the epoch and tries again: an extra barrier does no harm.
func (o *Owner) announce() (int64, error) {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		offset, _, err := o.writer.append(o.ctx, barrier, o.reign, []Record{o.barrier(o.reign)})
		switch {
		case err == nil:
			return offset, nil
		case fenced(err):
			return 0, fmt.Errorf("%w: %w", ErrLost, err)
		case o.ctx.Err() != nil:
			return 0, err
		}
		pause(o.ctx, wait)
		if o.writer.who, err = o.log.raise(o.ctx, o.partition, &o.writer.who); fenced(err) {
			return 0, fmt.Errorf("%w: %w", ErrLost, err)
		} else if err != nil {
			return 0, err
		}
	}
}

// barrier returns the record that begins a reign.
func (o *Owner) barrier(reign Reign) Record {
	return Record{Key: barrierKey(reign), Value: []byte(o.log.cfg.Name)}
}

// Save appends records, all or none, and returns once they are stored and count. Saves are stored in the order of their
// calls. After an [ErrUnknown] the records may count now or later; after any other error they do not and never will.
func (o *Owner) Save(ctx context.Context, records []Record) error {
	if err := o.queue.do(ctx, owned, records); err != nil {
		return fmt.Errorf("saving to partition %d: %w", o.partition, err)
	}
	return nil
}

// Position returns the position after the last record of this owner that is known to count.
func (o *Owner) Position() Position {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Position{o.next, o.reign}
}

// Lost returns a channel that is closed once the partition is known to have another owner, or the log is not the one
// that this owner has read. While nothing is saved, a [Follower] of the same [Log] detects this.
func (o *Owner) Lost() <-chan struct{} { return o.lost }

// Close ends the owner's right to write. It first waits until the pending saves are stored or refused, for at most the
// time of a request.
func (o *Owner) Close() {
	o.queue.close(ErrLost)
	done := make(chan struct{})
	go func() {
		o.queue.idle.Wait()
		close(done)
	}()
	ctx, cancel := context.WithTimeout(o.ctx, requestTime)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
	}
	o.end()
	<-done
	o.log.leave(o)
}

// lose ends the owner because another owner exists.
func (o *Owner) lose() {
	o.queue.close(ErrLost)
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over = true
		close(o.lost)
	}
}

// isOver reports whether the owner is known to be lost.
func (o *Owner) isOver() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.over
}

// isMine reports whether a reign belongs to this owner.
func (o *Owner) isMine(reign Reign) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, mine := o.reigns[reign]
	return mine
}

// advance sets the position after the records that are known to count.
func (o *Owner) advance(next int64, reign Reign) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.next, o.reign = next, reign
}

// Checkpoint appends a barrier of this owner and returns its offset. The log may be trimmed up to it once all live
// records are saved again after it and no reader needs the records before it. The rest then begins with a barrier and
// holds the whole state.
func (o *Owner) Checkpoint(ctx context.Context) (int64, error) {
	s := &save{kind: barrier, records: []Record{{}}, done: make(chan error, 1)}
	if err := o.queue.wait(ctx, s); err != nil {
		return 0, fmt.Errorf("beginning a checkpoint of partition %d: %w", o.partition, err)
	}
	return s.offset, nil
}
