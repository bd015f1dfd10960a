package health

import (
	"context"
	"log/slog"
	"time"
)

// positionsLong is how long a cluster should keep the positions of a service that is off.
const positionsLong = 30 * 24 * time.Hour

// PositionsKeeper is the log as far as its memory of positions is concerned.
type PositionsKeeper interface {
	PositionsKept(ctx context.Context) (time.Duration, error)
}

// WarnOfForgottenPositions says where the log forgets how far it was stored while the service is off: it is read
// again from its beginning then, and what is older than the time for which ids are known is stored twice.
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
