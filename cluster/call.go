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
		c.config.Metrics.Retries.WithLabelValues(kind.Name).Inc()
		shaken := pause/2 + rand.N(pause)
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
	r, generation, err := c.activation(kind, call.GetIdentity())
	if err != nil {
		return nil, err
	}
	request := newRequest(call, generation)
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
// left the activation in place. Between two generations it waits; an answer of
// an owner that was replaced is withheld, for its write may have been overtaken.
func (c *Cluster) confirm(ctx context.Context, kind *Kind, identity string, r *resident, generation uint32, with reply) (*protos.Answer, error) {
	if with.err != nil {
		return nil, with.err
	}
	for pause, gone := firstPause, r.gone; ; pause = min(2*pause, longPause) {
		now, owned := c.owned(kind, identity)
		switch {
		case owned && (now == generation || c.resides(kind, identity, r)):
			return with.answer, nil
		case owned || gone == nil:
			return nil, fmt.Errorf("%w: %s was owned anew while it answered", ErrUnavailable, kind.Name)
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
