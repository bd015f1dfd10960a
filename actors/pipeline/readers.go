package pipeline

import (
	"context"
	"sync"
	"time"
)

const (
	// readTime is how long after a read somebody is taken to read on: longer than the pauses in
	// which an open page of the console asks again.
	readTime = time.Minute
	// firstReadTime bounds how long the first readers wait for the blocks that are not stored.
	firstReadTime = time.Second
)

// readers knows whether anybody reads what the sinks of a node store.
type readers struct {
	now func() time.Time

	mu   sync.Mutex
	last time.Time
	// unstored are closed once the blocks are stored that the first reader found open; over is closed
	// when nobody waits for them any more.
	unstored []<-chan struct{}
	over     chan struct{}
}

// reading says whether somebody read lately.
func (r *readers) reading() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now().Sub(r.last) < readTime
}

// enter notes a reader. The first for a while has hurry store what was folded so far, and name it.
func (r *readers) enter(hurry func() []<-chan struct{}) (unstored []<-chan struct{}, over <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if now.Sub(r.last) >= readTime {
		done := make(chan struct{})
		time.AfterFunc(firstReadTime, func() { close(done) })
		r.unstored, r.over = hurry(), done
	}
	r.last = now
	return r.unstored, r.over
}

// wait returns once what the first reader found open is stored, or is waited for no longer. Readers who come meanwhile, as
// those of one page do, wait for the same.
func (r *readers) wait(ctx context.Context, hurry func() []<-chan struct{}) {
	unstored, over := r.enter(hurry)
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
// nothing.
func (s *Sink) unstored() (concluded []<-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing {
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
