// Package attempt runs work that may fail: it repeats work until it succeeds, and turns panics into errors.
package attempt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// Pauses between two attempts: the first, which doubles, and the longest.
const (
	FirstPause = 50 * time.Millisecond
	LastPause  = 2 * time.Second
)

// finalError ends the attempts.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// Final marks an error that no retry can fix.
func Final(err error) error { return finalError{err} }

// Until repeats work until it succeeds, ctx ends, or the error is final. It returns the last error; doing describes the
// work in the log.
func Until(ctx context.Context, logger *slog.Logger, doing string, work func() error) error {
	for pause := FirstPause; ; pause = min(2*pause, LastPause) {
		err := work()
		if err == nil {
			return nil
		}
		if final, ok := errors.AsType[finalError](err); ok {
			return final.error
		}
		if ctx.Err() != nil {
			return err
		}
		logger.Warn("trying again", "doing", doing, "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// ErrPanicked wraps a panic that ended one piece of work but not the process.
var ErrPanicked = errors.New("panicked")

// Contained returns the error of work, and turns a panic in it into an error.
func Contained(work func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanicked, cause, debug.Stack())
		}
	}()
	return work()
}

// Each calls work with the numbers below count, and failed with the numbers for which it panics.
func Each(count int, work func(n int), failed func(n int, cause any)) {
	from := func(n int) (next int) {
		defer func() {
			if cause := recover(); cause != nil {
				failed(next, cause)
				next++
			}
		}()
		for next = n; next < count; next++ {
			work(next)
		}
		return next
	}
	for n := 0; n < count; {
		n = from(n)
	}
}
