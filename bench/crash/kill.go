package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"svc/bench/harness"
)

// moment is the time of a kill.
type moment string

const (
	// atLoad kills while requests are in progress, at any stage.
	atLoad moment = "load"
	// atAck kills before the client that received an answer does anything else.
	atAck moment = "ack"
	// atFlush kills within one flush interval after a block was stored.
	atFlush moment = "flush"
	// atDrain kills when everything is acknowledged but not all of it is stored.
	atDrain moment = "drain"
	// atStart kills under load and then again, up to three times, before the server is ready.
	atStart moment = "start"
	// atDouble kills under load and again at the first answer after the restart.
	atDouble moment = "double"
	// atStop stops the server in order under load.
	atStop moment = "stop"
)

func moments() []moment {
	return []moment{atLoad, atAck, atFlush, atDrain, atStart, atDouble, atStop, atPoison}
}

// flushInterval is short, so that many blocks are cut and kills hit them.
const flushInterval = 100 * time.Millisecond

// ackTime limits the wait for the clients to reach a mark.
const ackTime = 60 * time.Second

// killer ends and restarts the server.
type killer struct {
	server *harness.Server
	load   *load
	random *rand.Rand
	// budget is the number of new events that each kill adds.
	budget int
	// kills counts by moment; starts are the times to readiness.
	kills  map[moment]int
	starts harness.Latency
	// last is the newest of them.
	last time.Duration
	// usual is the time to readiness of the first start.
	usual time.Duration
	// poison is sent along with the load; nil in the scenario of a full disk.
	poison *poison
	// billing is sent along with the load; nil in the scenario of a full disk.
	billing *billing
	// flags are evaluated before every fourth kill; struck counts the kills.
	flags  *evaluations
	struck int
}

// strike lets load through and kills at one moment, then restarts.
func (k *killer) strike(ctx context.Context, at moment) error {
	if k.struck++; k.struck%4 == 1 {
		if err := k.flags.before(ctx); err != nil {
			return fmt.Errorf("evaluating a flag: %w", err)
		}
	}
	base := k.load.acked.Load()
	k.load.allow(k.budget)
	k.billing.tickets <- k.budget / billingShare
	mark := base + int64(float64(k.budget)*(0.1+0.7*k.random.Float64()))
	if at == atPoison {
		k.kills[atPoison]++
		return k.poison.strike(ctx)
	}
	k.poison.send() // the kill may hit any stage of its treatment
	var err error
	switch at {
	case atAck:
		err = k.killOnAck(ctx, mark)
	case atFlush:
		err = k.killInFlush(ctx, mark)
	case atDrain:
		// Duplicates count as acknowledged too, so that the mark is reached shortly before the budget is spent.
		if err = k.reach(ctx, base+int64(k.budget)*9/10); err == nil {
			k.kill(atDrain)
		}
	case atDouble:
		if err = k.killAtMark(ctx, mark); err == nil {
			err = k.reopen(ctx)
		}
		if err == nil {
			k.load.allow(k.budget / 10)
			err = k.killOnAck(ctx, k.load.acked.Load()+1)
		}
	case atStart:
		if err = k.killAtMark(ctx, mark); err == nil {
			err = k.killStarts(ctx)
		}
	case atStop:
		if err = k.reach(ctx, mark); err == nil {
			k.kills[atStop]++
			err = k.server.Stop()
		}
	case atLoad, atPoison:
		err = k.killAtMark(ctx, mark)
	}
	if err != nil {
		return fmt.Errorf("killing at %s: %w", at, err)
	}
	return k.reopen(ctx)
}

func (k *killer) kill(at moment) {
	k.server.Kill()
	k.kills[at]++
}

func (k *killer) reopen(ctx context.Context) error {
	took, err := k.server.Open(ctx)
	if err != nil {
		return fmt.Errorf("restarting: %w", err)
	}
	k.starts.Record(took)
	k.last = took
	return nil
}

// reach waits until the clients have received acknowledgements for a number of events.
func (k *killer) reach(ctx context.Context, mark int64) error {
	return harness.Poll(ctx, fmt.Sprintf("%d acknowledged events", mark), ackTime, time.Millisecond, func(context.Context) (bool, string) {
		acked := k.load.acked.Load()
		return acked >= mark, fmt.Sprint(acked)
	})
}

func (k *killer) killAtMark(ctx context.Context, mark int64) error {
	if err := k.reach(ctx, mark); err != nil {
		return err
	}
	k.kill(atLoad)
	return nil
}

// killOnAck arms the clients and waits until one of them has killed.
func (k *killer) killOnAck(ctx context.Context, mark int64) error {
	armed := &trigger{at: mark, done: make(chan struct{}), fire: func() { k.kill(atAck) }}
	k.load.trigger.Store(armed)
	defer k.load.trigger.Store(nil)
	k.load.celebrate(0) // the mark may have been passed before the trigger was set, even by the last answer
	return harness.Poll(ctx, "the kill at an answer", ackTime, time.Millisecond, func(context.Context) (bool, string) {
		select {
		case <-armed.done:
			return true, ""
		default:
			return false, fmt.Sprintf("%d of %d acknowledged", k.load.acked.Load(), mark)
		}
	})
}

// killInFlush waits for a block to be stored and kills at a random time of the following flush interval.
func (k *killer) killInFlush(ctx context.Context, mark int64) error {
	if err := k.reach(ctx, mark); err != nil {
		return err
	}
	before := -1.0
	err := harness.Poll(ctx, "a stored block", ackTime, 2*time.Millisecond, func(ctx context.Context) (bool, string) {
		metrics, err := k.server.Scrape(ctx)
		if err != nil {
			return false, err.Error()
		}
		blocks := metrics[harness.MetricBlocks]
		if before < 0 {
			before = blocks
		}
		return blocks > before || metrics.Lag() <= 0, fmt.Sprintf("%v blocks", blocks)
	})
	if err != nil {
		return err
	}
	if err := k.linger(ctx, flushInterval+flushInterval/2); err != nil {
		return err
	}
	k.kill(atFlush)
	return nil
}

// killStarts starts the server up to three times and kills it before it is ready, at a random part of its usual time.
func (k *killer) killStarts(ctx context.Context) error {
	for range 1 + k.random.IntN(3) {
		if err := k.server.Start(); err != nil {
			return err
		}
		if err := k.linger(ctx, k.usual); err != nil {
			return err
		}
		k.kill(atStart)
	}
	return nil
}

// linger waits a random time, so that the kill hits no particular instruction.
func (k *killer) linger(ctx context.Context, atMost time.Duration) error {
	return harness.Pause(ctx, time.Duration(k.random.Int64N(int64(atMost)+1)))
}
