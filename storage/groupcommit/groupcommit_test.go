package groupcommit

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestCommitterOutlivesAPanic writes after a write that panicked.
func TestCommitterOutlivesAPanic(t *testing.T) {
	c := New(func(_ context.Context, items []int) error {
		if items[0] == 1 {
			panic("an index out of range")
		}
		return nil
	})
	if err := c.Commit(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "an index out of range") {
		t.Errorf("the write that panicked returned %v", err)
	}
	if err := c.Commit(t.Context(), 2); err != nil {
		t.Errorf("the write after it returned %v", err)
	}
}

// TestCommitterLetsCallersGo lets one caller give up while a write hangs, and another one write afterwards.
func TestCommitterLetsCallersGo(t *testing.T) {
	release, written := make(chan struct{}), make(chan int, 3)
	c := New(func(ctx context.Context, items []int) error {
		if items[0] == 1 {
			<-release
		}
		for _, item := range items {
			written <- item
		}
		return ctx.Err()
	})
	gone, leave := context.WithCancel(t.Context())
	first := make(chan error)
	go func() { first <- c.Commit(gone, 1) }()
	leave()
	if err := <-first; !errors.Is(err, ErrAbandoned) {
		t.Errorf("a caller that gave up got %v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if err := c.Commit(late, 2); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller without time got %v", err)
	}
	close(release)
	if err := c.Commit(t.Context(), 3); err != nil {
		t.Error(err)
	}
	for want := 1; want <= 3; want++ {
		if got := <-written; got != want {
			t.Errorf("wrote %d, want %d", got, want)
		}
	}
}
