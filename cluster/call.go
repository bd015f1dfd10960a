package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"svc/protos"
)

// Pauses between attempts of a call; each is doubled and shaken.
const (
	firstPause = 5 * time.Millisecond
	longPause  = 200 * time.Millisecond
	// DefaultCallTime bounds a call whose context has no deadline.
	DefaultCallTime = 10 * time.Second
)

type rankKey struct{}

// WithRank marks a context as belonging to an actor of a rank, so that its calls
// are checked to go down.
func WithRank(ctx context.Context, rank int) context.Context {
	return context.WithValue(ctx, rankKey{}, rank)
}

// Call sends a message to the activation of (kind, identity) and returns its
// answer. A request that was not executed is repeated with growing pauses until
// the context ends; a request that may have been executed never is. The error
// is ErrUnavailable, ErrRank, or the context's.
func (c *Cluster) Call(ctx context.Context, call *protos.Call) (*protos.Answer, error) {
	kind := c.kinds[call.GetKind()]
	if kind == nil {
		return nil, fmt.Errorf("unknown actor kind %q", call.GetKind())
	}
	if rank, isActor := ctx.Value(rankKey{}).(int); isActor && kind.Rank >= rank {
		return nil, fmt.Errorf("%w: rank %d to %s", ErrRank, rank, kind.Name)
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DefaultCallTime)
		defer cancel()
	}
	release, err := c.enter(kind)
	if err != nil {
		return nil, err
	}
	defer release()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		answer, err := c.attempt(ctx, kind, call)
		if !errors.Is(err, ErrMoved) {
			return answer, err
		}
		c.config.Metrics.Retries.WithLabelValues(kind.Name).Inc()
		shaken := pause/2 + rand.N(pause) //nolint:gosec // only spreads retries
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, kind.Name, ctx.Err())
		case <-time.After(shaken):
		}
	}
}

// enter takes one of the kind's places for requests under way.
func (c *Cluster) enter(kind *Kind) (release func(), err error) {
	select {
	case c.flight[kind.Name] <- struct{}{}:
	default:
		c.config.Metrics.Refused.WithLabelValues(kind.Name).Inc()
		return nil, fmt.Errorf("%w: too many %s requests under way", ErrUnavailable, kind.Name)
	}
	gauge := c.config.Metrics.InFlight.WithLabelValues(kind.Name)
	gauge.Inc()
	return func() { gauge.Dec(); <-c.flight[kind.Name] }, nil
}

// attempt makes one try; ErrMoved means that it was not executed.
func (c *Cluster) attempt(ctx context.Context, kind *Kind, call *protos.Call) (*protos.Answer, error) {
	generation, owned := c.config.Placement.Owned(kind.partitionOf(call.GetIdentity(), c.config.Partitions))
	if !owned {
		return nil, ErrMoved
	}
	r, err := c.activation(kind, call.GetIdentity())
	if err != nil {
		return nil, err
	}
	r.used.Store(time.Now().UnixNano()) //nolint:forbidigo // idleness is measured on the wall clock of the host
	request := newRequest(call, generation)
	c.system.Root.Send(r.pid, request)
	select {
	case reply := <-request.reply:
		return reply.answer, reply.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.gone:
		// The actor stopped with the request still in its mailbox: either it was
		// answered just before, or the mailbox was thrown away with it.
		select {
		case reply := <-request.reply:
			return reply.answer, reply.err
		default:
			return nil, ErrMoved
		}
	}
}

// Tell hands a message to the activation of (kind, identity) on this node,
// without an answer. It reports ErrMoved where the node does not own it.
func (c *Cluster) Tell(kindName, identity string, message any) error {
	kind := c.kinds[kindName]
	if kind == nil {
		return fmt.Errorf("unknown actor kind %q", kindName)
	}
	if _, owned := c.config.Placement.Owned(kind.partitionOf(identity, c.config.Partitions)); !owned {
		return ErrMoved
	}
	r, err := c.activation(kind, identity)
	if err != nil {
		return err
	}
	r.used.Store(time.Now().UnixNano()) //nolint:forbidigo // idleness is measured on the wall clock of the host
	c.system.Root.Send(r.pid, message)
	return nil
}
