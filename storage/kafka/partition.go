package kafka

import (
	"fmt"
	"sync"
	"time"
)

const (
	// retryFirst and retryLast bound the pause between two attempts.
	retryFirst = 5 * time.Millisecond
	retryLast  = 200 * time.Millisecond
)

// partition queues the payloads of one partition. They gather in the last block
// while earlier ones are under way, so that records grow with the load and an
// idle partition adds no delay.
//
// A partition with queued payloads is scheduled: it is either in the list of
// its leader's lane or held by the one lane that sends for it. At most one of
// its blocks is under way, and it is repeated until it is resolved, which keeps
// the order. The mutex is taken before that of a lane.
type partition struct {
	id       int
	producer *Producer

	mu        sync.Mutex
	leader    *lane
	blocks    []*block
	queued    int
	scheduled bool
	closed    bool

	// The rest belongs to the lane that holds the partition. due is the
	// earliest time of the next attempt, failure the end of the last one.
	sending *block
	wait    time.Duration
	due     time.Time
	failure error

	// sequence is the number of the block to send, under an identity that is nil
	// before the first block. A spent identity is replaced before the next attempt.
	identity *identity
	spent    bool
	sequence int32
}

// admit refuses a call that brings n bytes where the queue is full. A large call counts as
// half of the queue, so that one above the whole limit finds room as well.
func (p *partition) admit(n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	limit := p.producer.cfg.MaxQueuedBytes
	if p.queued+min(n, limit/2) > limit {
		return fmt.Errorf("%w: queue of partition %d is full", ErrNotAppended, p.id)
	}
	return nil
}

// add copies a payload into the open block. The waiter is resolved with the
// block unless add returns an error.
func (p *partition) add(payload []byte, deadline time.Time, w *waiter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("%w: producer has stopped", ErrNotAppended)
	}
	p.open(len(payload)).add(payload, deadline, w)
	p.queued += len(payload)
	if !p.scheduled {
		p.scheduled = true
		p.producer.busy.Add(1)
		p.leader.push(p)
	}
	return nil
}

// open returns the block that takes a payload of n bytes.
func (p *partition) open(n int) *block {
	if len(p.blocks) > 0 {
		last := p.blocks[len(p.blocks)-1]
		if last.size+n <= p.producer.cfg.MaxRecordBytes {
			return last
		}
	}
	b := p.producer.blocks.Get().(*block)
	p.blocks = append(p.blocks, b)
	return b
}

func (p *partition) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queued
}

// close refuses later payloads.
func (p *partition) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// move makes another lane the leader's. A waiting partition is due at once
// there; one that is held by its lane follows when the attempt has ended.
func (p *partition) move(to *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := p.leader
	p.leader = to
	if from != to && from.remove(p) {
		p.due = time.Time{}
		to.push(p)
	}
}

// next returns the block to send, which counts as queued until it is resolved.
func (p *partition) next(now time.Time) *block {
	if p.sending != nil {
		return p.sending
	}
	p.mu.Lock()
	b := p.blocks[0]
	rest := copy(p.blocks, p.blocks[1:])
	p.blocks[rest] = nil
	p.blocks = p.blocks[:rest]
	p.mu.Unlock()
	b.seal(now)
	p.sending = b
	return b
}

// postpone gives the partition back to its lane for an attempt after wait, or
// when nobody waits for the block any more.
func (p *partition) postpone(now time.Time, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due = now.Add(wait)
	if p.sending.deadline.Before(p.due) {
		p.due = p.sending.deadline
	}
	p.leader.push(p)
}

// retry is postpone with a pause that grows with every failure.
func (p *partition) retry(now time.Time, failure error) {
	p.failure = failure
	p.wait = min(max(2*p.wait, retryFirst), retryLast)
	p.postpone(now, p.wait)
}

// resolve resolves the waiters of the block that was sent, recycles it and gives
// up the partition.
func (p *partition) resolve(err error) {
	b := p.sending
	p.count(err)
	if err != nil {
		err = fmt.Errorf("%w: producing to partition %d: %w", outcomeOf(b), p.id, err)
	}
	p.mu.Lock()
	p.sending, p.wait, p.due, p.failure = nil, 0, time.Time{}, nil
	p.queued -= b.size
	if len(p.blocks) > 0 {
		p.leader.push(p)
	} else {
		p.scheduled = false
		p.producer.busy.Done()
	}
	p.mu.Unlock()
	for _, w := range b.waiters {
		w.resolve(err, 1)
	}
	if b.reset() {
		p.producer.blocks.Put(b)
	}
}

// outcomeOf returns the error of a block that was given up.
func outcomeOf(b *block) error {
	if b.unsure {
		return ErrUnavailable
	}
	return ErrNotAppended
}
