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

// Call sends a message to the activation of (kind, identity), on whatever node it
// lives, and returns its answer. A request that was not executed is repeated with growing pauses until
// the context ends; a request that may have been executed never is. The error
// is ErrUnavailable, ErrPanicked, ErrRank, or the context's.
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

// again waits before the next attempt; it reports false where ctx ends first.
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

// attempt makes one try, here or on the node that owns the identity; ErrMoved
// means that it may be repeated.
func (c *Cluster) attempt(ctx context.Context, kind *Kind, call *protos.Call) (*protos.Answer, error) {
	if c.config.Wire != nil {
		partition := kind.partitionOf(call.GetIdentity(), c.config.Partitions)
		if _, owned := c.config.Placement.Owned(partition); !owned {
			return c.there(ctx, partition, call)
		}
	}
	return c.here(ctx, kind, call)
}

// here makes one try on this node; ErrMoved means that it was not executed.
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
		// The actor stopped with the request still in its mailbox: either it was
		// answered just before, or the mailbox was thrown away with it.
		select {
		case reply := <-request.reply:
			return c.confirm(ctx, kind, call.GetIdentity(), r, generation, reply)
		default:
			return nil, ErrMoved
		}
	}
}

// confirm gives an answer out once it is certain that no other node can have
// owned the identity meanwhile: the generation is still the same, or a later one
// left the activation in place. While a rebalance is under way, the coordinator is
// asked, since others may know its outcome earlier. Between two generations it waits;
// an answer of an owner that was replaced is withheld, for its write may have been
// overtaken, and its read may be old.
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

// fence returns nil once it is certain that what was read before the call in a generation was
// the last state: the log's coordinator said, after the read, that the generation is the present
// one, or the next one left the activation in place.
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
			// The present generation may itself be over by now; it is asked about.
			return c.fence(ctx, kind, identity, r, now)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s: %w", ErrUnavailable, kind.Name, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// Tell hands a message to the activation of (kind, identity) on this node,
// without an answer. It reports ErrMoved where the node does not own it. A
// message with a method Bounce has it called where the actor stops first, or
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
