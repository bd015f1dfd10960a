package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"svc"
)

// rowsKept is a store that notes what it is asked for.
type rowsKept struct {
	noted map[uint64]int
	asked []string
	fail  uint64
}

func (r *rowsKept) Retentions(context.Context) (map[uint64]int, error) {
	return maps.Clone(r.noted), nil
}

func (r *rowsKept) SetRetention(_ context.Context, environment uint64, days int, _ time.Time) error {
	r.asked = append(r.asked, fmt.Sprint("set ", environment, " ", days))
	if environment == r.fail {
		return errors.New("the store is away")
	}
	return nil
}

func (r *rowsKept) NoteRetention(_ context.Context, environment uint64, days int, _ time.Time) error {
	r.asked = append(r.asked, fmt.Sprint("note ", environment, " ", days))
	r.noted[environment] = days
	return nil
}

// TestRetentionsAreApplied changes the retention of applications and looks at what the store is
// asked for, and when.
func TestRetentionsAreApplied(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	store := &rowsKept{noted: map[uint64]int{3: 30}}
	app := func(number uint64, days int) svc.Application {
		return svc.Application{RetentionDays: days, Environments: []svc.Environment{{Number: number, Slug: "production"}}}
	}
	var apps []svc.Application
	k := &keeping{store: store, apps: func() []svc.Application { return apps }, now: func() time.Time { return now }, logger: slog.New(slog.DiscardHandler)}
	for _, step := range []struct {
		name  string
		after time.Duration
		apps  []svc.Application
		fail  uint64
		want  []string
	}{
		{"as ever", 0, []svc.Application{app(1, svc.DefaultRetentionDays), app(3, 30)}, 0, nil},
		{"lowered, beside one that fails", 0, []svc.Application{app(2, 10), app(1, 7), app(3, 30)}, 2, []string{"set 2 10", "set 1 7"}},
		{"applied at once, and not all the time", rowsEvery, []svc.Application{app(1, 7), app(3, 30)}, 0, nil},
		{"changed again", rowsEvery, []svc.Application{app(1, 90)}, 0, []string{"set 1 90"}},
		{"again for what was on its way", rowsSettled, []svc.Application{app(1, 90)}, 0, []string{"set 1 90", "note 1 90"}},
		{"done", rowsSettled, []svc.Application{app(1, 90)}, 0, nil},
		{"back to the usual", 0, []svc.Application{app(1, svc.DefaultRetentionDays)}, 0, []string{"set 1 365"}},
	} {
		now, apps, store.fail, store.asked = now.Add(step.after), step.apps, step.fail, nil
		k.look(t.Context())
		if !slices.Equal(store.asked, step.want) {
			t.Errorf("%s: asked for %q, want %q", step.name, store.asked, step.want)
		}
	}
}

// TestLoweringTheRetentionHides asks the API for what a changed retention leaves, in the feed, in
// numbers that were counted before, and of errors.
func TestLoweringTheRetentionHides(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	now := time.Now()
	var items []map[string]any
	for n := range 20 {
		items = append(items, item(fmt.Sprint("e", n), fmt.Sprint("u", n), "/", now.AddDate(0, 0, -n)))
	}
	s.send(items...)
	s.settled()
	count := func() string {
		overview := s.get(appPath + "/analytics/overview?range=30d")
		names := s.get(appPath + "/events/names?range=30d")["data"].([]any)
		return fmt.Sprint(len(s.feed()), overview["pageviews"], overview["visitors"], names[0].(map[string]any)["count"])
	}
	if got := count(); got != "20 20 20 20" {
		t.Fatalf("counted %s before", got)
	}
	got := s.call("PATCH", appPath, s.boot.Token, []byte(`{"retentionDays":9}`), nil)
	if got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	eventually(t, "today and nine days are left", func() error {
		if got := count(); got != "10 10 10 10" {
			return fmt.Errorf("counted %s", got)
		}
		return nil
	})
}
