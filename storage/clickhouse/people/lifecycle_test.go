package people_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain"
	"svc/domain/goal"
	"svc/storage/clickhouse/people"
)

// rounds records the calls of the rules.
type rounds struct {
	start time.Time
	fails atomic.Bool

	mu    sync.Mutex
	calls []string
	ties  int
}

// noted returns the recorded calls, and the number of checks of merges.
func (r *rounds) noted() (calls []string, ties int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls), r.ties
}

func (r *rounds) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf("%s: ", time.Since(r.start).Round(time.Minute))+fmt.Sprintf(format, args...))
}

func (r *rounds) Activate(_ context.Context, environment uint64, goals []goal.Goal, from, to time.Time) error {
	r.note("%d reaches %s in %s", environment, goals[0].ID, to.Sub(from))
	return nil
}

func (r *rounds) ForgetGone(context.Context) error {
	r.note("forget")
	if r.fails.Load() {
		return errors.New("the store is away")
	}
	return nil
}

func (r *rounds) TieMerged(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ties++
	if r.ties <= 2 {
		return errors.New("the store is away")
	}
	return nil
}

func (r *rounds) SecondLinks(context.Context) (uint64, error) { return 3, nil }

// TestTheRulesRunEveryHour runs a day of rounds. Only the node that owns them may call the store, for the events of the
// hour and of a day before. ForgetGone must run once a day, or again in the next round if it failed.
func TestTheRulesRunEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := &rounds{start: time.Now()}
		r.fails.Store(true)
		var owns atomic.Bool
		var linked atomic.Uint64
		rules := people.Lifecycle{
			Store: r, Owns: owns.Load, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Linked: linked.Store,
			Apps: func() []domain.Application {
				return []domain.Application{{Slug: "away"}, {Slug: "web", Environments: []domain.Environment{{Number: 7}, {Number: 8}}}}
			},
			Goals: func(_ context.Context, ref domain.AppRef) ([]goal.Goal, error) {
				if ref.App == "away" {
					return nil, errors.New("its actor is away")
				}
				return []goal.Goal{{ID: "gol_1"}}, nil
			},
		}
		ended := make(chan error)
		go func() { ended <- rules.Run(ctx) }()
		pass := func(span time.Duration) (calls []string, ties int) {
			time.Sleep(span)
			synctest.Wait() // the calls of the round are recorded
			return r.noted()
		}
		if calls, ties := pass(90 * time.Minute); len(calls) != 0 || linked.Load() != 0 || ties != 0 {
			t.Errorf("a node that owns nothing looks: %v, %d ties", calls, ties)
		}
		owns.Store(true)
		if _, ties := pass(3 * time.Minute); ties != 3 {
			t.Errorf("merges were looked at %d times, want two that fail and one more", ties)
		}
		pass(57 * time.Minute)
		r.fails.Store(false)
		calls, _ := pass(time.Hour)
		want := []string{
			"2h0m0s: 7 reaches gol_1 in 26h0m0s", "2h0m0s: 8 reaches gol_1 in 26h0m0s", "2h0m0s: forget",
			"3h0m0s: 7 reaches gol_1 in 26h0m0s", "3h0m0s: 8 reaches gol_1 in 26h0m0s", "3h0m0s: forget",
		}
		if !reflect.DeepEqual(calls, want) || linked.Load() != 3 {
			t.Errorf("got  %q\nwant %q; %d links", calls, want, linked.Load())
		}
		first := len(calls)
		calls, ties := pass(24 * time.Hour)
		if last := calls[len(calls)-1]; len(calls) != first+2*24+1 || last != "27h0m0s: forget" || ties != 3+26 {
			t.Errorf("the next day: %d calls, the last %s; %d ties", len(calls)-first, last, ties)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestSecondLinksAreCounted counts the links of shared devices: all links of an anonymous id after its first person, in
// each environment.
func TestSecondLinksAreCounted(t *testing.T) {
	db := open(t)
	err := db.conn.Exec(t.Context(), "INSERT INTO links VALUES (1, 10, 20, now()), (1, 10, 21, now()), (1, 10, 22, now()), (1, 11, 20, now()), (1, 20, 20, now()), (1, 20, 21, now()), (1, 20, 22, now()), (2, 10, 20, now())", nil)
	if err != nil {
		t.Fatal(err)
	}
	if links, err := db.SecondLinks(t.Context()); err != nil || links != 2 {
		t.Errorf("%d second links, %v", links, err)
	}
	// Aliases tie the devices 12 and 13 to person 12. They also tie the devices 40 and 10, and the id 22, to person 20.
	for _, statement := range []string{
		"INSERT INTO links VALUES (1, 12, 20, now()), (1, 13, 22, now()), (1, 40, 20, now()), (2, 12, 20, now())",
		"INSERT INTO roots (environment, visitor, root, edges) VALUES (1, 12, 12, 1), (1, 13, 12, 1), (1, 40, 20, 4), (1, 20, 20, 4), (1, 22, 20, 4), (1, 10, 20, 4)",
	} {
		if err := db.conn.Exec(t.Context(), statement, nil); err != nil {
			t.Fatal(err)
		}
	}
	if links, err := db.SecondLinks(t.Context()); err != nil || links != 3 {
		t.Errorf("%d second links with aliases, %v", links, err)
	}
}
