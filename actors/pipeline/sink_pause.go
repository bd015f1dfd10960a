package pipeline

import (
	"context"
	"sync"
)

// pause is [Sinks.Pause] of one sink.
func (s *Sink) pause(ctx context.Context) (resume func(), err error) {
	select {
	case s.flushing <- struct{}{}:
		return sync.OnceFunc(func() { <-s.flushing }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
