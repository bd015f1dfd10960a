package health

import (
	"context"
	"log/slog"
	"time"
)

// positionsLong is how long a cluster should retain the positions of a service that is off.
const positionsLong = 30 * 24 * time.Hour

// PositionsKeeper reports how long the log retains positions.
type PositionsKeeper interface {
	PositionsKept(ctx context.Context) (time.Duration, error)
}

// WarnOfForgottenPositions warns if the log forgets the committed positions while the service is off. The log is then
// read again from its beginning, and records older than the retention of known ids are stored twice.
func WarnOfForgottenPositions(ctx context.Context, log PositionsKeeper, logger *slog.Logger) {
	kept, err := log.PositionsKept(ctx)
	switch {
	case err != nil:
		logger.Info("the log does not say how long it keeps positions; see offsets.retention.minutes in docs/several-nodes.md", "error", err)
	case kept < positionsLong:
		logger.Warn("the log forgets positions soon: a service that is off for longer stores again what the log still keeps; raise offsets.retention.minutes of its brokers",
			"kept", kept, "advised", positionsLong)
	}
}
