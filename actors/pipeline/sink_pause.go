package pipeline

import (
	"context"
	"sync"
)

// Pause returns once no block is under way, and has none begin before resume is called: what was
// stored is committed. What comes in meanwhile is folded into the open block.
func (s *Sink) Pause(ctx context.Context) (resume func(), err error) {
	select {
	case s.flushing <- struct{}{}:
		return sync.OnceFunc(func() { <-s.flushing }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
