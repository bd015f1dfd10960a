package pipeline

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// readTime is how long after a read somebody is taken to read on: longer than the pauses in
	// which an open page of the console asks again.
	readTime = time.Minute
	// firstReadTime bounds how long the first read waits for the blocks that are not stored.
	firstReadTime = time.Second
)

// readers knows whether anybody reads what the sinks of a node store. A nil readers always has some.
type readers struct {
	now  func() time.Time
	last atomic.Int64 // in nanoseconds since 1970
}

// reading says whether somebody read lately.
func (r *readers) reading() bool {
	return r == nil || r.now().UnixNano()-r.last.Load() < int64(readTime)
}

// enter notes a read, and says whether nobody read before it for a while.
func (r *readers) enter() (first bool) {
	now := r.now().UnixNano()
	return now-r.last.Swap(now) >= int64(readTime)
}

// await waits until what was folded so far is stored or given up. It waits for no store that takes nothing.
func (s *Sink) await(ctx context.Context) {
	for _, concluded := range s.unstored() {
		select {
		case <-concluded:
		case <-ctx.Done():
			return
		}
	}
}

// unstored returns what the blocks that hold records close once they are stored.
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
