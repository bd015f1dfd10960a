package harness

import (
	"context"
	"fmt"
	"time"
)

// Poll calls check at an interval until it returns true. At the deadline it fails with the awaited condition and the
// last result of check.
func Poll(ctx context.Context, what string, limit, interval time.Duration, check func(context.Context) (done bool, seen string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		done, seen := check(ctx)
		if done {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last seen: %s", what, context.Cause(ctx), seen)
		}
	}
}

// Pause waits, and fails if ctx ends before.
func Pause(ctx context.Context, span time.Duration) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
