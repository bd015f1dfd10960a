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

	"svc/domain"
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
	app := func(number uint64, days int) domain.Application {
		return domain.Application{RetentionDays: days, Environments: []domain.Environment{{Number: number, Slug: "production"}}}
	}
	var apps []domain.Application
	c := &RetentionChanges{Store: store, Apps: func() []domain.Application { return apps }, Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)}
	for _, step := range []struct {
		name  string
		after time.Duration
		apps  []domain.Application
		fail  uint64
		want  []string
	}{
		{"as ever", 0, []domain.Application{app(1, domain.DefaultRetentionDays), app(3, 30)}, 0, nil},
		{"lowered, beside one that fails", 0, []domain.Application{app(2, 10), app(1, 7), app(3, 30)}, 2, []string{"set 2 10", "set 1 7"}},
		{"applied at once, and not all the time", retentionsEvery, []domain.Application{app(1, 7), app(3, 30)}, 0, nil},
		{"changed again", retentionsEvery, []domain.Application{app(1, 90)}, 0, []string{"set 1 90"}},
		{"again for what was on its way", retentionDone, []domain.Application{app(1, 90)}, 0, []string{"set 1 90", "note 1 90"}},
		{"done", retentionDone, []domain.Application{app(1, 90)}, 0, nil},
		{"back to the usual", 0, []domain.Application{app(1, domain.DefaultRetentionDays)}, 0, []string{"set 1 365"}},
	} {
		now, apps, store.fail, store.asked = now.Add(step.after), step.apps, step.fail, nil
		c.round(t.Context())
		if !slices.Equal(store.asked, step.want) {
			t.Errorf("%s: asked for %q, want %q", step.name, store.asked, step.want)
		}
	}
}
