package actors

import (
	"context"
	"log/slog"
	"time"
)

// untilDone repeats work until it succeeds or ctx ends.
func untilDone(ctx context.Context, logger *slog.Logger, doing string, work func() error) error {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		err := work()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		logger.Warn("trying again", "doing", doing, "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
