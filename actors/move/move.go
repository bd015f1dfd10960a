// Package move moves an environment from one shard to another while a node continues to store items. The rows are
// copied; the last of them are copied while the shard is held and stores nothing. The decision stands in the log.
package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/actors/pipeline"
	"svc/domain"
)

const (
	// quick is the time in which the new rows must be copied before the last hold begins, if that happens within rounds
	// rounds.
	quick  = time.Second
	rounds = 20
)

// Mover moves environments.
type Mover struct {
	Store  Store
	Stream Stream
	// BlockAt returns the least number of a block of an instant.
	BlockAt func(at time.Time) uint64
	// Hold bounds each span of time in which a shard stores nothing.
	Hold time.Duration
	Now  func() time.Time
	// Step is called between two steps with the name of the next one, and ends the move with its error. It
	// may be nil.
	Step func(name string) error
}

// Store is the part of the store that a move needs.
type Store interface {
	ShardCount() int
	ShardOf(environment uint64) int
	// CopyOf begins a copy of an environment to a shard, which must not have any of its rows.
	CopyOf(ctx context.Context, environment uint64, to int) (Copy, error)
	ClearMoved(ctx context.Context, environment uint64, shard int) error
	NotePlace(ctx context.Context, environment uint64, shard int) error
	WithoutChanges(run func() error) error
	WithoutRows(run func() error) error
}

// Copy is a copy of an environment under way. Link, List and Finish are called while the shard stores nothing.
type Copy interface {
	// Link links the present rows, and Fill copies them.
	Link(ctx context.Context, now time.Time, blockAt func(time.Time) uint64) error
	Fill(ctx context.Context) error
	// List finds the blocks that were stored since, and Add copies them.
	List(ctx context.Context) error
	Add(ctx context.Context) error
	// Finish copies the rest, and fails if the copy differs from the environment.
	Finish(ctx context.Context) error
}

// Stream stores the items that arrive.
type Stream interface {
	Hold(ctx context.Context, shard int) (*pipeline.Held, error)
}

// Moved reports the result of a move.
type Moved struct {
	Environment uint64 `json:"environment"`
	From        int    `json:"from"`
	To          int    `json:"to"`
	// HeldMs is the longest time in which the environment's home stored nothing, in milliseconds.
	HeldMs int64 `json:"heldMs"`
}

// Move moves an environment to a shard:
//
//  1. Rows that an earlier attempt left on the new shard are removed.
//  2. The tables of the old one are linked while the shard is held, and copied while it is not.
//  3. Rows that were stored meanwhile are copied, round after round, until that is quick.
//  4. The shard is held: the rest is copied, the decision is committed next to the log's positions, and the place is
//     noted.
//  5. Remaining rows on other shards are removed.
//
// Until the decision the old place is in force, and after it the new one, even if the process ends; the same call then
// continues. Reads are answered from the place that is in force. One process at a time moves an environment.
func (m *Mover) Move(ctx context.Context, environment uint64, to int) (*Moved, error) {
	moved := &Moved{Environment: environment, To: to}
	// Before the shard can be held, the place of the environment is uncertain: this node may not know of a decision.
	err := m.held(ctx, moved, func(context.Context, *pipeline.Held) error { moved.From = m.Store.ShardOf(environment); return nil })
	if err != nil {
		return nil, err
	}
	if moved.From != moved.To {
		if err := m.Store.WithoutChanges(func() error { return m.move(ctx, moved) }); err != nil {
			return nil, err
		}
	}
	if err := m.step("clear"); err != nil {
		return nil, err
	}
	for shard := range m.Store.ShardCount() {
		if shard == moved.To {
			continue
		}
		if err := m.Store.ClearMoved(ctx, environment, shard); err != nil {
			return nil, fmt.Errorf("the environment lives on shard %d, and what shard %d has of it is not removed yet; repeat the command: %w", moved.To, shard, err)
		}
	}
	return moved, nil
}

func (m *Mover) step(name string) error {
	if m.Step == nil {
		return nil
	}
	return m.Step(name)
}

// move copies the environment and moves it to the new shard.
func (m *Mover) move(ctx context.Context, moved *Moved) error {
	if err := m.Store.ClearMoved(ctx, moved.Environment, moved.To); err != nil {
		return err
	}
	if err := m.step("copy"); err != nil {
		return err
	}
	c, err := m.Store.CopyOf(ctx, moved.Environment, moved.To)
	if err != nil {
		return err
	}
	if err := m.held(ctx, moved, func(ctx context.Context, _ *pipeline.Held) error { return c.Link(ctx, m.Now(), m.BlockAt) }); err != nil {
		return err
	}
	if err := m.step("fill"); err != nil {
		return err
	}
	if err := c.Fill(ctx); err != nil {
		return err
	}
	for range rounds {
		begun := m.Now()
		if err := m.step("add"); err != nil {
			return err
		}
		if err := m.held(ctx, moved, func(ctx context.Context, _ *pipeline.Held) error { return c.List(ctx) }); err != nil {
			return err
		}
		if err := c.Add(ctx); err != nil {
			return err
		}
		if m.Now().Sub(begun) < quick {
			break
		}
	}
	if err := m.step("finish"); err != nil {
		return err
	}
	return m.held(ctx, moved, func(ctx context.Context, held *pipeline.Held) error {
		return m.Store.WithoutRows(func() error { return m.finish(ctx, moved, c, held) })
	})
}

// finish copies the rest and decides.
func (m *Mover) finish(ctx context.Context, moved *Moved, c Copy, held *pipeline.Held) error {
	if err := c.Finish(ctx); err != nil {
		return err
	}
	if err := m.step("decide"); err != nil {
		return err
	}
	if err := held.Decide(ctx, moved.Environment, moved.To); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the move took place
	err := m.step("note")
	if err == nil {
		err = m.Store.NotePlace(ctx, moved.Environment, moved.To)
	}
	if err == nil {
		err = held.Decided(ctx)
	}
	if err != nil {
		held.Abandon() // the text of the move stays until the next generation has noted it
		return fmt.Errorf("%w: %w", pipeline.ErrUndecided, err)
	}
	return nil
}

// held runs a function while the shard with the partitions of the environment stores nothing.
func (m *Mover) held(ctx context.Context, moved *Moved, run func(ctx context.Context, held *pipeline.Held) error) error {
	ctx, cancel := context.WithTimeout(ctx, m.Hold)
	defer cancel()
	begun := m.Now()
	held, err := m.Stream.Hold(ctx, domain.ShardOf(moved.Environment))
	if err == nil {
		err = run(ctx, held)
		held.Release()
	}
	moved.HeldMs = max(moved.HeldMs, m.Now().Sub(begun).Milliseconds())
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil && !errors.Is(err, pipeline.ErrUndecided) {
		return domain.Errorf(domain.CodeUnavailable, "Nothing was moved: the shard cannot be held for longer than %s, and that was not enough. Repeat the command when less is sent.", m.Hold)
	}
	return err
}
