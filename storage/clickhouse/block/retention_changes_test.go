package block

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

// notedRetentions is a store that records its calls.
type notedRetentions struct {
	noted map[uint64]int
	asked []string
	fail  uint64
}

func (r *notedRetentions) Retentions(context.Context) (map[uint64]int, error) {
	return maps.Clone(r.noted), nil
}

func (r *notedRetentions) SetRetention(_ context.Context, environment uint64, days int, _ time.Time) error {
	r.asked = append(r.asked, fmt.Sprint("set ", environment, " ", days))
	if environment == r.fail {
		return errors.New("the store is away")
	}
	return nil
}

func (r *notedRetentions) NoteRetention(_ context.Context, environment uint64, days int, _ time.Time) error {
	r.asked = append(r.asked, fmt.Sprint("note ", environment, " ", days))
	r.noted[environment] = days
	return nil
}

// TestRetentionsAreApplied changes the retention of applications and checks the calls of the store and their times.
func TestRetentionsAreApplied(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	store := &notedRetentions{noted: map[uint64]int{3: 30}}
	app := func(number uint64, days int) svc.Application {
		return svc.Application{RetentionDays: days, Environments: []svc.Environment{{Number: number, Slug: "production"}}}
	}
	var apps []svc.Application
	c := &RetentionChanges{Store: store, Apps: func() []svc.Application { return apps }, Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)}
	for _, step := range []struct {
		name  string
		after time.Duration
		apps  []svc.Application
		fail  uint64
		want  []string
	}{
		{"as ever", 0, []svc.Application{app(1, svc.DefaultRetentionDays), app(3, 30)}, 0, nil},
		{"lowered, beside one that fails", 0, []svc.Application{app(2, 10), app(1, 7), app(3, 30)}, 2, []string{"set 2 10", "set 1 7"}},
		{"applied at once, and not all the time", retentionsEvery, []svc.Application{app(1, 7), app(3, 30)}, 0, nil},
		{"changed again", retentionsEvery, []svc.Application{app(1, 90)}, 0, []string{"set 1 90"}},
		{"again for what was on its way", retentionDone, []svc.Application{app(1, 90)}, 0, []string{"set 1 90", "note 1 90"}},
		{"done", retentionDone, []svc.Application{app(1, 90)}, 0, nil},
		{"back to the usual", 0, []svc.Application{app(1, svc.DefaultRetentionDays)}, 0, []string{"set 1 365"}},
	} {
		now, apps, store.fail, store.asked = now.Add(step.after), step.apps, step.fail, nil
		c.round(t.Context())
		if !slices.Equal(store.asked, step.want) {
			t.Errorf("%s: asked for %q, want %q", step.name, store.asked, step.want)
		}
	}
}
