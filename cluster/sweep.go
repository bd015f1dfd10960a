package cluster

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/protos"
)

// Due is one durable wake-up that is due.
type Due struct {
	Kind, Identity, Name string
}

// Wakeups lists the durable wake-ups of the identities that this node owns.
type Wakeups interface {
	// Due yields wake-ups that are due at a time until yield returns false. It yields a wake-up again later, unless its
	// actor has replaced or removed it.
	Due(at time.Time, yield func(Due) bool)
}

// WakeMethod is the method of the call that delivers a wake-up; the payload is its name. The actor treats it as a hint
// and checks its own state. After it has done the due work, it replaces or removes the wake-up.
const WakeMethod = "wake"

// Sweeper calls the actors of this node that have due wake-ups. A crash loses none: a wake-up stays due until its actor
// removes it.
type Sweeper struct {
	Cluster *Cluster
	Store   Wakeups
	Every   time.Duration
	Logger  *slog.Logger
	Now     func() time.Time
}

// sweepBatch limits the wake-ups of one round. Wake-ups of identities that other nodes own do not count, so any number
// of them delays none of this node's wake-ups.
const sweepBatch = 1000

// sweepAtOnce limits the number of actors that are called in parallel. An actor that is slow or cannot be loaded then
// delays only a few others.
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
	_ = waking.Wait() // failures are logged, and the wake-up is due again in the next round
}

// wake delivers one wake-up to its actor.
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
