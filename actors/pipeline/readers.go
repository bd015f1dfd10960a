package pipeline

import (
	"context"
	"sync"
	"time"
)

const (
	// readTime is how long after a read somebody is taken to read on, as a page does that asks one question after the other.
	readTime = 500 * time.Millisecond
	// firstReadTime bounds how long the first readers wait for the blocks that are not stored.
	firstReadTime = time.Second
)

// readers knows whether anybody reads what the sinks of a node store.
type readers struct {
	now func() time.Time

	mu sync.Mutex
	// Somebody reads since and until then.
	since, until time.Time
	// unstored are closed once the blocks are stored that the first reader found open; over is closed
	// when nobody waits for them any more.
	unstored []<-chan struct{}
	over     chan struct{}
}

// readFor says whether somebody reads and has done so for a time.
func (r *readers) readFor(atLeast time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	return now.Before(r.until) && now.Sub(r.since) >= atLeast
}

// enter notes somebody who reads for a time. The first for a while has hurry store what was folded so far, and name it.
func (r *readers) enter(lasting time.Duration, hurry func() []<-chan struct{}) (unstored []<-chan struct{}, over <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if !now.Before(r.until) {
		done := make(chan struct{})
		time.AfterFunc(firstReadTime, func() { close(done) })
		r.unstored, r.over, r.since = hurry(), done, now
	}
	if until := now.Add(max(lasting, readTime)); until.After(r.until) {
		r.until = until
	}
	return r.unstored, r.over
}

// wait returns once what the first reader found open is stored, or is waited for no longer. Readers who come meanwhile, as
// those of one page do, wait for the same.
func (r *readers) wait(ctx context.Context, lasting time.Duration, hurry func() []<-chan struct{}) {
	unstored, over := r.enter(lasting, hurry)
	for _, concluded := range unstored {
		select {
		case <-concluded:
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// unstored returns what the blocks that hold records close once they are stored or given up; none of a store that takes
// nothing or hangs, nor of one that takes less than arrives: there the end of a block says little about what was accepted.
func (s *Sink) unstored() (concluded []<-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing || s.storing != nil && (s.storing.wasFull || s.config.Now().Sub(s.storing.taken) >= firstReadTime) {
		return nil
	}
	if s.storing != nil {
		concluded = append(concluded, s.storing.concluded)
	}
	if len(s.open.ranges) > 0 {
		concluded = append(concluded, s.open.concluded)
	}
	return concluded
}

// elapses waits for the end of an interval. It is false where the next block is to be begun before it.
func (s *Sink) elapses(ctx context.Context, interval <-chan time.Time) bool {
	select {
	case <-interval:
		return true
	case <-s.room.wanted:
	case <-s.hurried:
	case <-ctx.Done():
	}
	return false
}

// interval is the time between the beginnings of the latest two blocks, at most.
func (s *Sink) interval() time.Duration {
	if s.config.readers.readFor(s.config.Unread) {
		return s.config.Interval
	}
	return max(s.config.Interval, s.config.Unread)
}
