package people_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/storage/clickhouse/people"
)

// rounds notes what the rules ask for.
type rounds struct {
	calls []string
	start time.Time
	fails atomic.Bool
	ties  int
}

func (r *rounds) note(format string, args ...any) {
	r.calls = append(r.calls, fmt.Sprintf("%s: ", time.Since(r.start).Round(time.Minute))+fmt.Sprintf(format, args...))
}

func (r *rounds) Activate(_ context.Context, environment uint64, goals []svc.Goal, from, to time.Time) error {
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
	r.ties++
	if r.ties <= 2 {
		return errors.New("the store is away")
	}
	return nil
}

func (r *rounds) SecondLinks(context.Context) (uint64, error) { return 3, nil }

// TestTheRulesRunEveryHour has a day of rounds pass: only the node that owns them looks, at the events of the hour and of a day before, and
// what is gone is forgotten once a day, or in the next round where it failed.
func TestTheRulesRunEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := &rounds{start: time.Now()}
		r.fails.Store(true)
		linked := uint64(0)
		var owns atomic.Bool
		rules := people.Lifecycle{
			Store: r, Owns: owns.Load, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Linked: func(links uint64) { linked = links },
			Apps: func() []svc.Application {
				return []svc.Application{{Slug: "away"}, {Slug: "web", Environments: []svc.Environment{{Number: 7}, {Number: 8}}}}
			},
			Goals: func(_ context.Context, ref svc.AppRef) ([]svc.Goal, error) {
				if ref.App == "away" {
					return nil, errors.New("its actor is away")
				}
				return []svc.Goal{{ID: "gol_1"}}, nil
			},
		}
		ended := make(chan error)
		go func() { ended <- rules.Run(ctx) }()
		pass := func(span time.Duration) {
			time.Sleep(span)
			synctest.Wait() // what the rules noted is there
		}
		pass(90 * time.Minute)
		if len(r.calls) != 0 || linked != 0 || r.ties != 0 {
			t.Errorf("a node that owns nothing looks: %v, %d ties", r.calls, r.ties)
		}
		owns.Store(true)
		pass(3 * time.Minute)
		if r.ties != 3 {
			t.Errorf("merges were looked at %d times, want two that fail and one more", r.ties)
		}
		pass(57 * time.Minute)
		r.fails.Store(false)
		pass(time.Hour)
		want := []string{
			"2h0m0s: 7 reaches gol_1 in 26h0m0s", "2h0m0s: 8 reaches gol_1 in 26h0m0s", "2h0m0s: forget",
			"3h0m0s: 7 reaches gol_1 in 26h0m0s", "3h0m0s: 8 reaches gol_1 in 26h0m0s", "3h0m0s: forget",
		}
		if !reflect.DeepEqual(r.calls, want) || linked != 3 {
			t.Errorf("got  %q\nwant %q; %d links", r.calls, want, linked)
		}
		first := len(r.calls)
		pass(24 * time.Hour)
		if last := r.calls[len(r.calls)-1]; len(r.calls) != first+2*24+1 || last != "27h0m0s: forget" || r.ties != 3+26 {
			t.Errorf("the next day: %d calls, the last %s; %d ties", len(r.calls)-first, last, r.ties)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestSecondLinksAreCounted counts the links of shared devices: those of an anonymous id after its first person, in each environment.
func TestSecondLinksAreCounted(t *testing.T) {
	db := open(t)
	err := db.conn.Exec(t.Context(), "INSERT INTO links VALUES (1, 10, 20, now()), (1, 10, 21, now()), (1, 10, 22, now()), (1, 11, 20, now()), (1, 20, 20, now()), (1, 20, 21, now()), (1, 20, 22, now()), (2, 10, 20, now())", nil)
	if err != nil {
		t.Fatal(err)
	}
	if links, err := db.SecondLinks(t.Context()); err != nil || links != 2 {
		t.Errorf("%d second links, %v", links, err)
	}
	// Aliases tie the devices 12 and 13 to person 12, and the devices 40 and 10 to person 20, who also has the id 22.
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
