package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"svc/protos"
)

// Pauses between attempts of a call. Each pause doubles the one before, up to longPause, and gets jitter.
const (
	firstPause = 5 * time.Millisecond
	longPause  = 200 * time.Millisecond
	// DefaultCallTime limits a call if its context has no deadline.
	DefaultCallTime = 10 * time.Second
)

type rankKey struct{}

// WithRank marks a context as belonging to an actor of a rank. Its calls are then checked to go to lower ranks only.
func WithRank(ctx context.Context, rank int) context.Context {
	return context.WithValue(ctx, rankKey{}, rank)
}

// Call sends a message to the activation of (kind, identity), on any node, and returns its answer. A request that was
// not executed is repeated with growing pauses until the context ends. A request that may have been executed is
// repeated only if the call is marked repeatable. The error is ErrUnavailable, ErrPanicked, ErrRank, or the context's.
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
		if !c.again(ctx, kind, pause) {
			return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, kind.Name, ctx.Err())
		}
	}
}

// again waits before the next attempt. It returns false if ctx ends first.
func (c *Cluster) again(ctx context.Context, kind *Kind, pause time.Duration) bool {
	c.config.Metrics.Retries.WithLabelValues(kind.Name).Inc()
	shaken := pause/2 + rand.N(pause)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(shaken):
		return true
	}
}

// enter takes a slot for a request under way of the kind. It returns ErrUnavailable if all are taken.
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

// attempt makes one attempt, on this node or on the node that owns the identity. ErrMoved means that the call may be
// repeated.
func (c *Cluster) attempt(ctx context.Context, kind *Kind, call *protos.Call) (*protos.Answer, error) {
	if c.config.Wire != nil {
		partition := kind.partitionOf(call.GetIdentity(), c.config.Partitions)
		if _, owned := c.config.Placement.Owned(partition); !owned {
			return c.there(ctx, partition, call)
		}
	}
	return c.here(ctx, kind, call)
}

// here makes one attempt on this node. ErrMoved means that the call was not executed.
func (c *Cluster) here(ctx context.Context, kind *Kind, call *protos.Call) (*protos.Answer, error) {
	r, generation, err := c.activation(kind, call.GetIdentity())
	if err != nil {
		return nil, err
	}
	request := newRequest(call, generation)
	request.left = ctx.Done()
	c.system.Root.Send(r.pid, request)
	select {
	case reply := <-request.reply:
		return c.confirm(ctx, kind, call.GetIdentity(), r, generation, reply)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.gone:
		// The actor stopped with the request still in its mailbox. The request was either answered just before, or
		// dropped with the mailbox.
		select {
		case reply := <-request.reply:
			return c.confirm(ctx, kind, call.GetIdentity(), r, generation, reply)
		default:
			return nil, ErrMoved
		}
	}
}

// confirm returns an answer once it is certain that no other node can have owned the identity meanwhile. That is
// certain if the generation is unchanged, or if a later one left the activation in place. During a rebalance, confirm
// asks the coordinator, since other nodes may know the outcome earlier. Between two generations it waits. It withholds
// the answer of an owner that was replaced: its write may have been overtaken, and its read may be stale.
func (c *Cluster) confirm(ctx context.Context, kind *Kind, identity string, r *resident, generation uint32, with reply) (*protos.Answer, error) {
	if with.err != nil {
		return nil, with.err
	}
	for pause, gone := firstPause, r.gone; ; pause = min(2*pause, longPause) {
		now, owned := c.owned(kind, identity)
		switch {
		case owned && (now == generation || c.resides(kind, identity, r)):
			if c.config.Unsettled != nil && c.config.Unsettled(now) {
				if err := c.fence(ctx, kind, identity, r, now); err != nil {
					return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, kind.Name, err)
				}
			}
			return with.answer, nil
		case owned || gone == nil:
			return nil, fmt.Errorf("%w: %s changed its owner while it answered", ErrUnavailable, kind.Name)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, kind.Name, ctx.Err())
		case <-gone:
			gone = nil
		case <-time.After(pause):
		}
	}
}

// fence returns nil once it is certain that data read in a generation, before the call, was the latest state. It asks
// the log's coordinator after the read. The coordinator must name the generation as the current one, or the next
// generation must have left the activation in place.
func (c *Cluster) fence(ctx context.Context, kind *Kind, identity string, r *resident, generation uint32) error {
	if c.config.Fence == nil {
		return nil
	}
	err := c.config.Fence(ctx, generation)
	if err == nil || !errors.Is(err, ErrMoved) {
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		switch now, owned := c.owned(kind, identity); {
		case !c.resides(kind, identity, r):
			return fmt.Errorf("%w: %s changed its owner while it answered", ErrUnavailable, kind.Name)
		case owned && now != generation:
			// The current generation may also be over by now, so fence asks about it.
			return c.fence(ctx, kind, identity, r, now)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s: %w", ErrUnavailable, kind.Name, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// Tell sends a message to the activation of (kind, identity) on this node, without an answer. It returns ErrMoved if
// the node does not own the identity. If the message has a method Bounce, it is called when the actor stops first or
// panics on the message.
func (c *Cluster) Tell(kindName, identity string, message any) error {
	kind := c.kinds[kindName]
	if kind == nil {
		return fmt.Errorf("unknown actor kind %q", kindName)
	}
	r, _, err := c.activation(kind, identity)
	if err != nil {
		return err
	}
	c.system.Root.Send(r.pid, message)
	return nil
}
