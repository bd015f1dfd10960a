package clickhouse

import (
	"context"
	"errors"
	"strings"
	"testing"

	"svc"
)

// TestCommitterOutlivesAPanic writes behind a write that panicked.
func TestCommitterOutlivesAPanic(t *testing.T) {
	c := newCommitter(func(_ context.Context, items []int) error {
		if items[0] == 1 {
			panic("an index out of range")
		}
		return nil
	})
	if err := c.commit(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "an index out of range") {
		t.Errorf("the write that panicked returned %v", err)
	}
	if err := c.commit(deadline(t), 2); err != nil {
		t.Errorf("the write after it returned %v", err)
	}
}

// TestCommitterLetsCallersGo has a caller give up while a write hangs, and another one write after.
func TestCommitterLetsCallersGo(t *testing.T) {
	release, written := make(chan struct{}), make(chan int, 3)
	c := newCommitter(func(ctx context.Context, items []int) error {
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
	go func() { first <- c.commit(gone, 1) }()
	leave()
	if err := <-first; !errors.Is(err, errAbandoned) {
		t.Errorf("a caller that gave up got %v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if err := c.commit(late, 2); svc.CodeOf(err) != svc.CodeUnavailable {
		t.Errorf("a caller without time got %v", err)
	}
	close(release)
	if err := c.commit(deadline(t), 3); err != nil {
		t.Error(err)
	}
	for want := 1; want <= 3; want++ {
		if got := <-written; got != want {
			t.Errorf("wrote %d, want %d", got, want)
		}
	}
}
