package cluster

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/protos"
)

// Due is one durable wake-up whose time has come.
type Due struct {
	Kind, Identity, Name string
}

// Wakeups knows the durable wake-ups of what this node owns.
type Wakeups interface {
	// Due yields wake-ups that are due at an instant until yield returns false. It yields one
	// again later, unless its actor has replaced or removed it.
	Due(at time.Time, yield func(Due) bool)
}

// WakeMethod is the method of the call that delivers a wake-up; the payload is
// its name. The actor treats it as a hint, checks its own state, and replaces or
// removes the wake-up when it has done what was due.
const WakeMethod = "wake"

// Sweeper pokes the actors of this node whose durable wake-ups are due. Nothing
// is lost with a process: a wake-up stays due until its actor removes it.
type Sweeper struct {
	Cluster *Cluster
	Store   Wakeups
	Every   time.Duration
	Logger  *slog.Logger
	Now     func() time.Time
}

// sweepBatch bounds the wake-ups of one round, not counting those that other nodes
// own: however many of these are due, they hold up none of this node.
const sweepBatch = 1000

// sweepAtOnce bounds the actors that are woken at the same time: one that takes its time, or cannot
// be loaded, holds up few others.
const sweepAtOnce = 16

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.sweep(ctx)
		}
	}
}

func (s *Sweeper) sweep(ctx context.Context) {
	var due []Due
	s.Store.Due(s.Now(), func(wake Due) bool {
		if s.Cluster.Owns(wake.Kind, wake.Identity) {
			due = append(due, wake)
		}
		return len(due) < sweepBatch
	})
	var waking errgroup.Group
	waking.SetLimit(sweepAtOnce)
	for _, wake := range due {
		waking.Go(func() error {
			s.wake(ctx, wake)
			return nil
		})
	}
	_ = waking.Wait() // what failed is logged, and due in the next round
}

// wake tells one actor that it is due.
func (s *Sweeper) wake(ctx context.Context, wake Due) {
	call := &protos.Call{Kind: wake.Kind, Identity: wake.Identity, Method: WakeMethod, Payload: []byte(`"` + wake.Name + `"`)}
	answer, err := s.Cluster.Call(ctx, call)
	if err == nil && answer.GetFailure() != nil {
		err = errors.New("the actor refused it")
	}
	if err == nil {
		s.Cluster.config.Metrics.Wakeups.Inc()
	} else if ctx.Err() == nil {
		s.Logger.Warn("wake-up failed", "kind", wake.Kind, "error", err)
	}
}
