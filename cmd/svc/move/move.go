// Package move moves an environment from one shard to another while a server serves it: the rows are
// copied, the last of them while nothing of them is stored, and the decision stands in the log.
package move

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"svc"
	"svc/actors/pipeline"
	"svc/http/admin"
	"svc/storage/clickhouse/moves"
)

const (
	// DefaultHold bounds each span of time in which nothing of a shard is stored.
	DefaultHold = 20 * time.Second
	// quick is the time in which what came meanwhile is copied before the last span begins, if rounds are
	// enough for that.
	quick  = time.Second
	rounds = 20
)

// Mover moves the environments of a running server.
type Mover struct {
	Store  Store
	Stream Stream
	// Environment finds an environment of an application by its address and slug.
	Environment func(app, slug string) (svc.Environment, error)
	// Erasing reports whether rows of people of an environment are being removed.
	Erasing func(environment uint64) bool
	// Replicated is true where the servers replicate the tables, which copies do not know.
	Replicated bool
	// BlockAt returns the least number of a block of an instant.
	BlockAt func(at time.Time) uint64
	// Hold bounds each span of time in which nothing of a shard is stored.
	Hold   time.Duration
	Now    func() time.Time
	Logger *slog.Logger
	// Step is called between two steps with the name of the next one, and ends the move with its error. It
	// may be nil.
	Step func(name string) error

	running sync.Mutex
}

// Store is the store as a move sees it.
type Store interface {
	ShardCount() int
	ShardOf(environment uint64) int
	CopyOf(ctx context.Context, environment uint64, to int) (*moves.Copy, error)
	ClearMoved(ctx context.Context, environment uint64, shard int) error
	NotePlace(ctx context.Context, environment uint64, shard int) error
	WithoutChanges(run func() error) error
	WithoutRows(run func() error) error
}

// Stream stores what comes in.
type Stream interface {
	Hold(ctx context.Context, shard int) (*pipeline.Held, error)
}

// Moved is what a move did.
type Moved struct {
	Environment uint64 `json:"environment"`
	From        int    `json:"from"`
	To          int    `json:"to"`
	// HeldMs is the longest time in which nothing of the environment's home was stored, in milliseconds.
	HeldMs int64 `json:"heldMs"`
}

// Move implements [admin.Moves]:
//
//  1. What an earlier attempt left on the new shard is removed.
//  2. The tables of the old one are linked while the shard is held, and copied while it is not.
//  3. What came meanwhile is copied, round after round, until that is quick.
//  4. The shard is held: the rest is copied, the decision is committed beside the log's positions, and the place
//     is noted.
//  5. What is left on other shards is removed.
//
// Until the decision the old place is in force, and after it the new one, whatever ends the process; the same
// command goes on. Reads are answered from the place that is in force.
func (m *Mover) Move(ctx context.Context, spec admin.MoveSpec) (any, error) {
	if !m.running.TryLock() {
		return nil, svc.Errorf(svc.CodeConflict, "Another environment is being moved.")
	}
	defer m.running.Unlock()
	environment, err := m.check(spec)
	if err != nil {
		return nil, err
	}
	moved := &Moved{Environment: environment, From: m.Store.ShardOf(environment), To: *spec.Store}
	if moved.From != moved.To {
		if err := m.Store.WithoutChanges(func() error { return m.move(ctx, moved) }); err != nil {
			return nil, told(err)
		}
		m.Logger.Info("an environment was moved", "environment", environment, "from", moved.From, "to", moved.To)
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

// check returns the number of the environment of a command that can be carried out.
func (m *Mover) check(spec admin.MoveSpec) (uint64, error) {
	last := m.Store.ShardCount() - 1
	switch {
	case last == 0:
		return 0, svc.Errorf(svc.CodeConflict, "SVC_CLICKHOUSE_DSN names one store; append another to move environments to.")
	case m.Replicated:
		return 0, svc.Errorf(svc.CodeConflict, "SVC_CLICKHOUSE_CLUSTER is set, and copies between clusters of replicas are not supported.")
	case spec.Store == nil || *spec.Store < 0 || *spec.Store > last:
		return 0, svc.Invalid(svc.FieldError{Field: "store", Code: "invalid_value", Message: fmt.Sprintf("The store is the place of a DSN in SVC_CLICKHOUSE_DSN, from 0 to %d.", last)})
	}
	environment, err := m.Environment(spec.App, spec.Environment)
	if err != nil {
		return 0, err
	}
	if m.Erasing(environment.Number) && m.Store.ShardOf(environment.Number) != *spec.Store {
		return 0, svc.Errorf(svc.CodeConflict, "An erasure of a person of this environment is under way; move it once that is complete.")
	}
	return environment.Number, nil
}

// told has the operator know what can be done about an error.
func told(err error) error {
	switch {
	case errors.Is(err, pipeline.ErrShared):
		return svc.Errorf(svc.CodeConflict, "Another node stores items of this shard. Stop all nodes but this one for the time of the move; what is sent meanwhile is taken by this one.")
	case errors.Is(err, svc.ErrFenced), errors.Is(err, pipeline.ErrUndecided):
		return svc.Errorf(svc.CodeUnavailable, "The partitions of the log changed hands at the moment of the move, and it is not known yet whether it took place; repeat the command.")
	}
	return err
}

func (m *Mover) step(name string) error {
	if m.Step == nil {
		return nil
	}
	return m.Step(name)
}

// move copies the environment and has it live on the new shard.
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
func (m *Mover) finish(ctx context.Context, moved *Moved, c *moves.Copy, held *pipeline.Held) error {
	if err := c.Finish(ctx); err != nil {
		return err
	}
	if err := m.step("decide"); err != nil {
		return err
	}
	if err := held.Decide(ctx, moved.Environment, moved.To); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it took place
	err := m.step("note")
	if err == nil {
		err = m.Store.NotePlace(ctx, moved.Environment, moved.To)
	}
	if err == nil {
		err = held.Decided(ctx)
	}
	if err != nil {
		held.Abandon() // the word of it stays until the next generation has noted it
		return fmt.Errorf("%w: %w", pipeline.ErrUndecided, err)
	}
	return nil
}

// held runs a function while nothing of the shard is stored whose partitions have the environment's items.
func (m *Mover) held(ctx context.Context, moved *Moved, run func(ctx context.Context, held *pipeline.Held) error) error {
	ctx, cancel := context.WithTimeout(ctx, m.Hold)
	defer cancel()
	begun := m.Now()
	held, err := m.Stream.Hold(ctx, svc.ShardOf(moved.Environment))
	if err == nil {
		err = run(ctx, held)
		held.Release()
	}
	moved.HeldMs = max(moved.HeldMs, m.Now().Sub(begun).Milliseconds())
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil && !errors.Is(err, pipeline.ErrUndecided) {
		return svc.Errorf(svc.CodeUnavailable, "Nothing was moved: the shard cannot be held for longer than %s, and that was not enough. Repeat the command when less is sent.", m.Hold)
	}
	return err
}
