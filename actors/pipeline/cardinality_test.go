package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// manySeries is a store with three series of every environment. It fails at first.
type manySeries struct {
	failures int
	asked    [][]uint64
}

func (s *manySeries) SeriesSince(_ context.Context, environments []uint64, _ time.Time, yield func(uint64, []uint64)) error {
	s.asked = append(s.asked, slices.Clone(environments))
	if s.failures--; s.failures >= 0 {
		return errors.New("the store is away")
	}
	for _, environment := range environments {
		yield(environment, []uint64{1, 2, 3})
	}
	return nil
}

// TestSeriesOfBeforeCount sends points for two of many environments.
func TestSeriesOfBeforeCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &manySeries{failures: 1}
		c := NewCardinality(store, time.Now, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		admit := func(environment, series uint64) bool { return c.Admit(environment, series, 4, time.Now()) }
		if !admit(7, 10) || !admit(8, 3) {
			t.Error("the first point of an environment was refused")
		}
		synctest.Wait()
		time.Sleep(readAgain)
		synctest.Wait()
		for _, test := range []struct {
			name                string
			environment, series uint64
			want                bool
		}{
			{"came through", 7, 10, true},
			{"is stored", 7, 2, true},
			{"is new beyond the limit", 7, 11, false},
			{"is stored and came through", 8, 3, true},
			{"is new within the limit", 8, 11, true},
			{"is new beyond it", 8, 12, false},
		} {
			if got := admit(test.environment, test.series); got != test.want {
				t.Errorf("a series of %d that %s: %t", test.environment, test.name, got)
			}
		}
		for _, asked := range store.asked {
			if len(asked) > 2 {
				t.Errorf("the store was asked for %v; points came of 7 and 8", asked)
			}
		}
		time.Sleep(13 * time.Hour)
		admit(8, 11)
		time.Sleep(13 * time.Hour)
		synctest.Wait()
		c.mu.RLock()
		kept, there := len(c.environments), c.environments[8] != nil
		c.mu.RUnlock()
		if kept != 1 || !there {
			t.Errorf("%d environments are kept, of which one had points in the last day", kept)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestEndedSeriesMakeRoom lets series end.
func TestEndedSeriesMakeRoom(t *testing.T) {
	t.Parallel()
	c := NewCardinality(&manySeries{}, time.Now, slog.New(slog.DiscardHandler))
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		after  time.Duration
		series uint64
		want   bool
	}{
		{0, 1, true},
		{0, 2, true},
		{0, 3, false},
		{11 * time.Hour, 2, true},
		{13 * time.Hour, 3, false},
		{13 * time.Hour, 2, true},
		{26 * time.Hour, 3, true},
		{26 * time.Hour, 1, false},
		{26 * time.Hour, 2, true},
	} {
		if got := c.Admit(7, test.series, 2, noon.Add(test.after)); got != test.want {
			t.Errorf("series %d after %v: %t", test.series, test.after, got)
		}
	}
}
