package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/attempt"
)

var errAway = errors.New("away")

func TestUntil(t *testing.T) {
	for _, c := range []struct {
		name string
		work func(n int) error
		want error
		took time.Duration
	}{
		{"at once", func(int) error { return nil }, nil, 0},
		{"after pauses that double", func(n int) error {
			if n < 4 {
				return errAway
			}
			return nil
		}, nil, (50 + 100 + 200 + 400) * time.Millisecond},
		{"a final error", func(n int) error {
			if n < 1 {
				return errAway
			}
			return fmt.Errorf("refused: %w", attempt.Final(context.Canceled))
		}, context.Canceled, 50 * time.Millisecond},
		{"until the time is over", func(int) error { return errAway }, errAway, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began, n := time.Now(), -1
				err := attempt.Until(ctx, slog.New(slog.DiscardHandler), "testing", func() error { n++; return c.work(n) })
				if !errors.Is(err, c.want) || time.Since(began) != c.took {
					t.Errorf("%v after %s, want %v after %s", err, time.Since(began), c.want, c.took)
				}
			})
		})
	}
}

func TestAPanicIsAnError(t *testing.T) {
	t.Parallel()
	if err := attempt.Contained(func() error { panic("poison") }); !errors.Is(err, attempt.ErrPanicked) {
		t.Errorf("got %v", err)
	}
	var done, failed []int
	attempt.Each(5, func(n int) {
		if n%2 == 1 {
			panic("poison")
		}
		done = append(done, n)
	}, func(n int, _ any) { failed = append(failed, n) })
	if !slices.Equal(done, []int{0, 2, 4}) || !slices.Equal(failed, []int{1, 3}) {
		t.Errorf("%v are done, %v failed", done, failed)
	}
}
