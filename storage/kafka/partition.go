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

// partition queues the payloads of one partition. Payloads gather in the last block while earlier blocks are under way.
// Records therefore grow with the load, and an idle partition adds no delay.
//
// A partition with queued payloads is scheduled: either its leader's lane lists it, or the lane that sends for it holds
// it. At most one block of a partition is under way, and it is repeated until it is resolved, which preserves the
// order. Lock order: the mutex of a partition before the mutex of a lane.
type partition struct {
	id       int
	producer *Producer

	mu        sync.Mutex
	leader    *lane
	blocks    []*block
	queued    int
	scheduled bool
	closed    bool

	// The following fields belong to the lane that holds the partition. due is the earliest time of the next attempt.
	// failure is the error of the last attempt.
	sending *block
	wait    time.Duration
	due     time.Time
	failure error

	// sequence is the number of the block to send under identity. identity is nil before the first block. A spent
	// identity is replaced before the next attempt.
	identity *identity
	spent    bool
	sequence int32
}

// admit refuses a call with n bytes if the queue is full. A call counts as at most half of the queue, so that a call
// above the whole limit finds room too.
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

// move makes another lane the leader's lane. If the partition is listed, it moves there and is due at once. If its lane
// holds it, it moves when the attempt has ended.
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

// postpone returns the partition to its lane. The next attempt is due after wait, or at the deadline of the block if
// that is earlier.
func (p *partition) postpone(now time.Time, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due = now.Add(wait)
	if p.sending.deadline.Before(p.due) {
		p.due = p.sending.deadline
	}
	p.leader.push(p)
}

// retry postpones the partition by a pause that grows with every failure.
func (p *partition) retry(now time.Time, failure error) {
	p.failure = failure
	p.wait = min(max(2*p.wait, retryFirst), retryLast)
	p.postpone(now, p.wait)
}

// resolve resolves the waiters of the sent block and recycles the block. It schedules the partition again if more
// blocks are queued.
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
