package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// lease is how long this member may assume that no other node owns its partitions. The coordinator reassigns the
// partitions of a silent member when its session ends. That is at the earliest one session after the last accepted
// heartbeat was sent. The member stops assuming earlier, by a clock that also runs while the machine sleeps.
//
// A lease covers reads only while no rebalance is under way, because a rebalance ends a generation without waiting for
// any session. A write, and a read during a rebalance, need [Consumer.Confirm].
type lease struct {
	// term is how long one accepted heartbeat is valid.
	term time.Duration
	now  func() time.Duration

	mu      sync.Mutex
	session session
	sent    time.Duration
	// rebalancing means that the session's generation may end at any time.
	rebalancing bool
}

// leaseShare returns how long a member trusts the lease of a session: two thirds of the session. The rest allows for a
// slow clock and a late wake-up.
func leaseShare(session time.Duration) time.Duration { return session * 2 / 3 }

// begin makes a session the current one. The session is not trusted before its first heartbeat was accepted.
func (l *lease) begin(s session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session, l.sent, l.rebalancing = s, l.now()-l.term, false
}

// rebalance records that a rebalance is under way, or that this member is about to request one. The next generation
// begins once all members have joined it, and other members may learn of it before this one.
func (l *lease) rebalance(s session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == s {
		l.rebalancing = true
	}
}

func (l *lease) stable(generation int32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session.generation == generation && !l.rebalancing
}

// renew records that a heartbeat was accepted; sent is the time at which it was sent.
func (l *lease) renew(s session, sent time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == s {
		l.sent = max(l.sent, sent)
	}
}

// suspend stops trusting a session until the next heartbeat is accepted.
func (l *lease) suspend(s session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == s {
		l.sent = l.now() - l.term
	}
}

// end records that a session is over.
func (l *lease) end(s session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == s {
		l.session = session{}
	}
}

func (l *lease) current() session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// holds reports whether a generation may be trusted now.
func (l *lease) holds(generation int32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return generation > 0 && l.session.generation == generation && l.now()-l.sent < l.term
}

// Holds reports whether this member may still assume that no other node owns its partitions of a generation. It is true
// while the last heartbeat that the coordinator accepted is recent, by a clock that continues while the process is
// stopped.
func (c *Consumer) Holds(generation int32) bool { return c.lease.holds(generation) }

// Settled reports whether no rebalance is known to be under way. A rebalance cannot end before this member has taken
// part in it, so the member knows of every rebalance that has ended.
func (c *Consumer) Settled(generation int32) bool { return c.lease.stable(generation) }

// Confirm returns nil if the coordinator confirms, after the call began, that a generation is the current one. If the
// coordinator refuses, Confirm returns [ErrFenced]: another member may own the partitions. Every later owner sees data
// that was durable before a successful call.
func (c *Consumer) Confirm(ctx context.Context, generation int32) error {
	s := c.lease.current()
	if generation < 1 || s.generation != generation {
		return fmt.Errorf("confirming generation %d: %w", generation, ErrFenced)
	}
	return c.beats.do(ctx, s, c.beat)
}

// beat sends one heartbeat and records the answer. While a rebalance is under way, the generation stays valid: no
// member gets an assignment before the rebalance ends.
func (c *Consumer) beat(s session) error {
	sent := c.lease.now()
	ctx, cancel := context.WithTimeout(context.Background(), c.lease.term)
	defer cancel()
	err := c.heartbeater.beat(ctx, s)
	switch {
	case errors.Is(err, kafkago.RebalanceInProgress):
		c.lease.rebalance(s)
		fallthrough
	case err == nil:
		c.lease.renew(s, sent)
		return nil
	case fenced(err):
		c.lease.end(s)
		return fmt.Errorf("confirming generation %d: %w: %w", s.generation, ErrFenced, err)
	}
	// A coordinator that restarted may have forgotten its members, and other members may have joined already.
	c.lease.suspend(s)
	return fmt.Errorf("confirming generation %d: %w", s.generation, err)
}

// keep renews the lease until ctx ends, even between two generations, when the client library sends no heartbeats. It
// logs when the lease runs out.
func (c *Consumer) keep(ctx context.Context) {
	tick := time.NewTicker(c.cfg.Heartbeat)
	defer tick.Stop()
	for lost := (session{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s := c.lease.current()
		if s.generation == 0 {
			continue
		}
		if !c.lease.holds(s.generation) && lost != s {
			lost = s
			c.cfg.Logger.Error("the lease ran out: this node serves nothing until the coordinator answers", "generation", s.generation)
		}
		err := c.beats.do(ctx, s, c.beat)
		switch {
		case err != nil && ctx.Err() == nil:
			c.cfg.Logger.Warn("renewing the lease", "generation", s.generation, "error", err)
		case lost == s && c.lease.holds(s.generation):
			lost = session{}
			c.cfg.Logger.Info("the lease stands again", "generation", s.generation)
		}
	}
}

// sharedBeats lets concurrent callers share heartbeats. A caller never gets the result of a heartbeat that was sent
// before its call.
type sharedBeats struct {
	mu      sync.Mutex
	running *beatRound
	next    *beatRound
}

type beatRound struct {
	session session
	done    chan struct{}
	err     error
}

// do returns the result of a heartbeat that was sent after the call.
func (b *sharedBeats) do(ctx context.Context, s session, send func(session) error) error {
	b.mu.Lock()
	if b.next != nil && b.next.session != s {
		// A round of another generation is about to start; it is not shared.
		b.mu.Unlock()
		return send(s)
	}
	if b.next == nil {
		b.next = &beatRound{session: s, done: make(chan struct{})}
	}
	mine := b.next
	if b.running == nil {
		b.running, b.next = mine, nil
		go b.run(mine, send)
	}
	b.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run sends rounds until no caller waits for another.
func (b *sharedBeats) run(round *beatRound, send func(session) error) {
	for round != nil {
		round.err = send(round.session)
		close(round.done)
		b.mu.Lock()
		b.running, b.next = b.next, nil
		round = b.running
		b.mu.Unlock()
	}
}
