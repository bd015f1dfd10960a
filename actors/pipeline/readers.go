package pipeline

import (
	"context"
	"sync"
	"time"
)

const (
	// readTime is how long a read counts as continuing: a page asks one question after the other.
	readTime = 500 * time.Millisecond
	// firstReadTime bounds how long the first readers wait for blocks that are not stored.
	firstReadTime = time.Second
)

// readers tracks whether the stored rows of a node are being read.
type readers struct {
	now func() time.Time

	mu sync.Mutex
	// Reads have been active since then, and count as active until then.
	since, until time.Time
	// unstored are the blocks that the first reader found open; each is closed once its block is stored. over is closed
	// when the wait for them ends.
	unstored []<-chan struct{}
	over     chan struct{}
}

// readFor reports whether reads are active, and have been for at least a time.
func (r *readers) readFor(atLeast time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	return now.Before(r.until) && now.Sub(r.since) >= atLeast
}

// enter adds a reader for a time. For the first one after a pause, it calls hurry, which stores the folded records
// early and returns their blocks.
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

// wait returns once the blocks that the first reader found open are stored, or the wait for them ends. Later readers
// within that time, such as the other questions of one page, wait for the same blocks.
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

// unstored returns the channels that the blocks with records close once they are stored or given up. It returns none if
// the store fails or hangs, or takes less than arrives: then the end of a block says little about the accepted records.
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

// elapses waits for the end of an interval. It returns false if the next block must begin earlier.
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

// interval returns the longest time between the beginnings of the latest two blocks.
func (s *Sink) interval() time.Duration {
	if s.config.readers.readFor(s.config.Unread) {
		return s.config.Interval
	}
	return max(s.config.Interval, s.config.Unread)
}
