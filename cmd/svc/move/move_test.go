package move

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/pipeline"
	"svc/domain"
	"svc/http/admin"
	"svc/storage/clickhouse/moves"
)

// number is the number of production of acme/web.
const number = 1<<33 | 5

// stores are some stores that record the calls of a move.
type stores struct {
	count, place int
	done         []string
}

func (s *stores) ShardCount() int    { return s.count }
func (s *stores) ShardOf(uint64) int { return s.place }

func (s *stores) CopyOf(context.Context, uint64, int) (*moves.Copy, error) {
	s.done = append(s.done, "copy")
	return nil, nil //nolint:nilnil // no test comes to use it
}

func (s *stores) ClearMoved(_ context.Context, _ uint64, shard int) error {
	s.done = append(s.done, fmt.Sprint("clear ", shard))
	return nil
}

func (s *stores) NotePlace(context.Context, uint64, int) error {
	s.done = append(s.done, "note")
	return nil
}

func (s *stores) WithoutChanges(run func() error) error { return run() }
func (s *stores) WithoutRows(run func() error) error    { return run() }

// holding answers for the stream when a shard is to be held.
type holding func(ctx context.Context) error

func (h holding) Hold(ctx context.Context, _ int) (*pipeline.Held, error) { return nil, h(ctx) }

// mover moves environments between two stores; production of acme/web is on the first.
func mover(hold holding) (*Mover, *stores) {
	some := &stores{count: 2}
	return &Mover{
		Store: some, Stream: hold, Hold: DefaultHold, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Environment: func(app, slug string) (domain.Environment, error) {
			if app != "acme/web" || slug != "production" {
				return domain.Environment{}, domain.NotFound("environment")
			}
			return domain.Environment{Slug: slug, Number: number}, nil
		},
		Erasing: func(uint64) bool { return false },
	}, some
}

func to(store int) admin.MoveSpec {
	return admin.MoveSpec{App: "acme/web", Environment: "production", Store: &store}
}

// problem is the client's view of an error: its code, and the name of the wrong field, if any.
func problem(err error) string {
	var told *domain.Error
	if !errors.As(err, &told) {
		return fmt.Sprint(err)
	}
	if len(told.Fields) > 0 {
		return string(told.Code) + " " + told.Fields[0].Field + ": " + told.Fields[0].Message
	}
	return string(told.Code) + ": " + told.Message
}

// TestAMoveIsRefused tests every reason for which a move does not begin. Each answer describes the remedy, and nothing
// was changed.
func TestAMoveIsRefused(t *testing.T) {
	for name, one := range map[string]struct {
		spec   admin.MoveSpec
		change func(m *Mover, some *stores)
		want   string
	}{
		"one store":             {to(0), func(_ *Mover, some *stores) { some.count = 1 }, "conflict: SVC_CLICKHOUSE_DSN names one store; append another"},
		"replicas":              {to(1), func(m *Mover, _ *stores) { m.Replicated = true }, "conflict: SVC_CLICKHOUSE_CLUSTER is set"},
		"no store":              {admin.MoveSpec{App: "acme/web", Environment: "production"}, nil, "invalid_request store: The store is the place of a DSN in SVC_CLICKHOUSE_DSN, from 0 to 1."},
		"below the first store": {to(-1), nil, "invalid_request store: "},
		"beyond the last store": {to(2), nil, "invalid_request store: "},
		"unknown application":   {admin.MoveSpec{App: "acme/shop", Environment: "production", Store: to(1).Store}, nil, "not_found: "},
		"unknown environment":   {admin.MoveSpec{App: "acme/web", Environment: "staging", Store: to(1).Store}, nil, "not_found: "},
		"an erasure": {
			to(1), func(m *Mover, _ *stores) { m.Erasing = func(n uint64) bool { return n == number } },
			"conflict: An erasure of a person of this environment is under way; move it once that is complete.",
		},
		"another move": {to(1), func(m *Mover, _ *stores) { m.running.Lock() }, "conflict: Another environment is being moved."},
	} {
		t.Run(name, func(t *testing.T) {
			m, some := mover(func(context.Context) error { t.Error("the shard was held"); return nil })
			if one.change != nil {
				one.change(m, some)
			}
			moved, err := m.Move(t.Context(), one.spec)
			if got := problem(err); moved != nil || !strings.HasPrefix(got, one.want) {
				t.Errorf("%v, %q, want %q", moved, got, one.want)
			}
			if len(some.done) > 0 {
				t.Errorf("a refused move did %q", some.done)
			}
		})
	}
}

// TestAShardThatCannotBeHeld makes the log refuse to hold a shard. The environment stays, and the answer describes the
// remedy.
func TestAShardThatCannotBeHeld(t *testing.T) {
	for name, one := range map[string]struct {
		hold holding
		want string
	}{
		"another node stores": {func(context.Context) error { return fmt.Errorf("holding: %w", pipeline.ErrShared) }, "conflict: Another node stores items of this shard. Stop all nodes but this one"},
		"the owner changed":   {func(context.Context) error { return fmt.Errorf("holding: %w", domain.ErrFenced) }, "unavailable: The partitions of the log changed hands"},
		"it takes too long":   {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "unavailable: Nothing was moved: the shard cannot be held for longer than 20s"},
		"the store went away": {func(context.Context) error { return domain.Errorf(domain.CodeUnavailable, "The store is away.") }, "unavailable: The store is away."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, some := mover(one.hold)
				moved, err := m.Move(t.Context(), to(1))
				if got := problem(err); moved != nil || !strings.HasPrefix(got, one.want) {
					t.Errorf("%v, %q, want %q", moved, got, one.want)
				}
				if len(some.done) > 0 {
					t.Errorf("the stores did %s, and where the environment lives is not known", some.done)
				}
				if !m.running.TryLock() {
					t.Error("no other move can begin")
				}
			})
		})
	}
}

// TestAMoveToItsPlace finishes an earlier move: an environment that is already at its place is removed from all other
// shards. The place is certain once the shard was held.
func TestAMoveToItsPlace(t *testing.T) {
	held := 0
	m, some := mover(func(context.Context) error { held++; return nil })
	some.count = 3
	m.Erasing = func(uint64) bool { return true } // irrelevant, because nothing is copied
	if _, err := m.Move(t.Context(), to(0)); err != nil || fmt.Sprint(some.done) != "[clear 1 clear 2]" || held != 1 {
		t.Errorf("%v, the stores did %q, the shard was held %d times", err, some.done, held)
	}
}
