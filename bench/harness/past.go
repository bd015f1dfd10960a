package harness

import (
	"context"
	"fmt"
	"time"
)

const (
	pastConnections = 8
	pastBatch       = 500
)

// Past sends events that are spread over the last days to the environment production, in the order of their time, and
// waits until all are counted. The limit applies to the sending and, separately, to the wait.
func (s *Server) Past(ctx context.Context, events, days int, limit time.Duration) (Outcome, Usage, error) {
	began := time.Now().AddDate(0, 0, -days)
	step := float64(time.Since(began)-time.Minute) * pastConnections / float64(events)
	return s.Store(ctx, Load{
		Path: "/api/v1/batch", Connections: pastConnections, Batch: pastBatch, Events: events, Seed: 1,
		Time: func(sent int) time.Time { return began.Add(time.Duration(step * float64(sent))) },
	}, limit)
}

// Store sends a load to the environment production and waits until all of it is stored. The usage covers both. The
// limit applies to the sending and, separately, to the wait. It fails if a request failed.
func (s *Server) Store(ctx context.Context, load Load, limit time.Duration) (Outcome, Usage, error) {
	load.Address, load.Key, load.Duration = s.Address, s.Keys["production"].Secret, limit
	meter, err := StartMeter(s.PID())
	if err != nil {
		return Outcome{}, Usage{}, err
	}
	outcome := load.Run(ctx)
	if err := s.AwaitDrained(ctx, limit); err != nil {
		return Outcome{}, Usage{}, err
	}
	usage, err := meter.Read()
	if err != nil {
		return Outcome{}, Usage{}, err
	}
	if outcome.Failures > 0 {
		return Outcome{}, Usage{}, fmt.Errorf("loading: %d requests failed, the first: %s", outcome.Failures, outcome.FirstFailure)
	}
	return outcome, usage, nil
}
