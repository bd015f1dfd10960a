// Package move is the operator's command that moves an environment from one store to another while a server serves it.
package move

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"svc/actors/move"
	"svc/actors/pipeline"
	"svc/domain"
	"svc/http/admin"
	"svc/storage/clickhouse/moves"
)

// DefaultHold limits each period in which nothing of a shard is stored.
const DefaultHold = 20 * time.Second

// Mover moves the environments of a running server.
type Mover struct {
	Store  Store
	Stream move.Stream
	// Environment finds an environment of an application by its address and slug.
	Environment func(app, slug string) (domain.Environment, error)
	// Erasing reports whether rows of people of an environment are being removed.
	Erasing func(environment uint64) bool
	// Replicated is true if the servers replicate the tables, which copies do not support.
	Replicated bool
	// BlockAt returns the least block number of an instant.
	BlockAt func(at time.Time) uint64
	// Hold limits each period in which nothing of a shard is stored.
	Hold   time.Duration
	Now    func() time.Time
	Logger *slog.Logger
	// Step is called between two steps with the name of the next one, and ends the move if it returns an error. It may
	// be nil.
	Step func(name string) error

	running sync.Mutex
}

// Store is the store as a move uses it.
type Store interface {
	ShardCount() int
	ShardOf(environment uint64) int
	CopyOf(ctx context.Context, environment uint64, to int) (*moves.Copy, error)
	ClearMoved(ctx context.Context, environment uint64, shard int) error
	NotePlace(ctx context.Context, environment uint64, shard int) error
	WithoutChanges(run func() error) error
	WithoutRows(run func() error) error
}

// copies adapts the store's copies to the mover.
type copies struct{ Store }

func (c copies) CopyOf(ctx context.Context, environment uint64, to int) (move.Copy, error) {
	return c.Store.CopyOf(ctx, environment, to)
}

// Move implements [admin.Moves].
func (m *Mover) Move(ctx context.Context, spec admin.MoveSpec) (any, error) {
	if !m.running.TryLock() {
		return nil, domain.Errorf(domain.CodeConflict, "Another environment is being moved.")
	}
	defer m.running.Unlock()
	environment, err := m.check(spec)
	if err != nil {
		return nil, err
	}
	mover := move.Mover{Store: copies{m.Store}, Stream: m.Stream, BlockAt: m.BlockAt, Hold: m.Hold, Now: m.Now, Step: m.Step}
	moved, err := mover.Move(ctx, environment, *spec.Store)
	if err != nil {
		return nil, told(err)
	}
	if moved.From != moved.To {
		m.Logger.Info("an environment was moved", "environment", environment, "from", moved.From, "to", moved.To)
	}
	return moved, nil
}

// check returns the number of a command's environment if the command can be executed.
func (m *Mover) check(spec admin.MoveSpec) (uint64, error) {
	last := m.Store.ShardCount() - 1
	switch {
	case last == 0:
		return 0, domain.Errorf(domain.CodeConflict, "SVC_CLICKHOUSE_DSN names one store; append another to move environments to.")
	case m.Replicated:
		return 0, domain.Errorf(domain.CodeConflict, "SVC_CLICKHOUSE_CLUSTER is set, and copies between clusters of replicas are not supported.")
	case spec.Store == nil || *spec.Store < 0 || *spec.Store > last:
		return 0, domain.Invalid(domain.FieldError{Field: "store", Code: "invalid_value", Message: fmt.Sprintf("The store is the place of a DSN in SVC_CLICKHOUSE_DSN, from 0 to %d.", last)})
	}
	environment, err := m.Environment(spec.App, spec.Environment)
	if err != nil {
		return 0, err
	}
	if m.Erasing(environment.Number) && m.Store.ShardOf(environment.Number) != *spec.Store {
		return 0, domain.Errorf(domain.CodeConflict, "An erasure of a person of this environment is under way; move it once that is complete.")
	}
	return environment.Number, nil
}

// told turns an error into one that describes the operator's remedy.
func told(err error) error {
	switch {
	case errors.Is(err, pipeline.ErrShared):
		return domain.Errorf(domain.CodeConflict, "Another node stores items of this shard. Stop all nodes but this one for the time of the move; what is sent meanwhile is taken by this one.")
	case errors.Is(err, domain.ErrFenced), errors.Is(err, pipeline.ErrUndecided):
		return domain.Errorf(domain.CodeUnavailable, "The partitions of the log changed hands at the moment of the move, and it is not known yet whether it took place; repeat the command.")
	}
	return err
}
