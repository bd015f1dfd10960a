package state

import (
	"context"
	"fmt"
	"sync"
)

// batchBytes limits the saves that are appended together. One save may exceed it.
const batchBytes = 512 << 10

// queue collects the saves of concurrent callers, in the order of their calls, while the previous batch is under way.
type queue struct {
	// flush appends records of a kind and returns the offset of the first. Its error distinguishes whether they may be
	// in the log.
	flush func(kind, []Record) (int64, error)

	mu      sync.Mutex
	waiting []*save
	running bool
	closed  error // if set, the error of later saves
	idle    sync.WaitGroup
}

// save is the pending save of one caller.
type save struct {
	kind    kind
	records []Record
	size    int
	offset  int64 // offset of the first record, once done has nil
	done    chan error
}

// do returns once records are flushed. If the caller's context ends first, the error distinguishes whether they were
// sent.
func (q *queue) do(ctx context.Context, what kind, records []Record) error {
	if len(records) == 0 {
		return nil
	}
	size, err := sizeOf(records)
	if err != nil {
		return err
	}
	return q.wait(ctx, &save{kind: what, records: records, size: size, done: make(chan error, 1)})
}

// wait enqueues a save and waits for its result, like do. A save without records is a barrier.
func (q *queue) wait(ctx context.Context, s *save) error {
	if err := q.add(s); err != nil {
		return err
	}
	select {
	case err := <-s.done:
		return err
	case <-ctx.Done():
	}
	if q.remove(s) {
		return fmt.Errorf("nothing was saved: %w", ctx.Err())
	}
	return fmt.Errorf("%w: %w", ErrUnknown, ctx.Err())
}

func (q *queue) add(s *save) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed != nil {
		return q.closed
	}
	q.waiting = append(q.waiting, s)
	if !q.running {
		q.running = true
		q.idle.Go(q.run)
	}
	return nil
}

// remove withdraws a save. It returns false if the save no longer waits.
func (q *queue) remove(s *save) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for n, other := range q.waiting {
		if other == s {
			q.waiting = append(q.waiting[:n:n], q.waiting[n+1:]...)
			return true
		}
	}
	return false
}

// run flushes the waiting saves until none is left.
func (q *queue) run() {
	for {
		saves := q.take()
		if len(saves) == 0 {
			return
		}
		var records []Record
		for _, s := range saves {
			records = append(records, s.records...)
		}
		offset, err := q.flush(saves[0].kind, records)
		for _, s := range saves {
			s.offset = offset
			offset += int64(len(s.records))
			s.done <- err
		}
	}
}

// take returns the saves of the next batch. A barrier is a batch of its own.
func (q *queue) take() (saves []*save) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size, n := 0, 0
	for n < len(q.waiting) && (n == 0 || q.joins(n, size)) {
		size += q.waiting[n].size
		n++
	}
	saves, q.waiting = q.waiting[:n:n], q.waiting[n:]
	q.running = n > 0
	return saves
}

// joins reports whether the save at index n joins the batch of the saves before it.
func (q *queue) joins(n, size int) bool {
	return q.waiting[n].kind != barrier && q.waiting[0].kind != barrier && size+q.waiting[n].size <= batchBytes
}

// close refuses later saves with an error.
func (q *queue) close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed == nil {
		q.closed = err
	}
}
