package spool_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"svc/domain/event"
	"svc/storage/spool"
)

func open(t *testing.T, dir string, limit int64) *spool.Spool {
	t.Helper()
	s, err := spool.Open(spool.Config{Dir: dir, MaxBytes: limit, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func part(n int) event.Part {
	return event.Part{Partition: n % 4, Payload: fmt.Appendf(nil, "payload %d", n)}
}

// taker stands for the log: it accepts or refuses parts.
type taker struct {
	mu    sync.Mutex
	fail  int
	taken []string
}

func (l *taker) hand(_ context.Context, parts []event.Part) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail > 0 {
		l.fail--
		return errors.New("the log does not answer")
	}
	for _, p := range parts {
		l.taken = append(l.taken, fmt.Sprintf("%d:%s", p.Partition, p.Payload))
	}
	return nil
}

func (l *taker) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.taken)
}

// expected returns the first parts in the form in which they are delivered.
func expected(count int) (out []string) {
	for n := range count {
		out = append(out, fmt.Sprintf("%d:payload %d", n%4, n))
	}
	return out
}

func TestWhatWaitsIsHandedOverInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	log := &taker{fail: 2}
	for n := range 10 {
		if err := s.Append([]event.Part{part(2 * n), part(2*n + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := drained(t, s, log, 20); !slices.Equal(got, expected(20)) {
		t.Errorf("got %v", got)
	}
	if err := s.Append([]event.Part{part(20)}); err != nil {
		t.Fatal(err)
	}
	if got := drained(t, s, log, 21); !slices.Equal(got, expected(21)) {
		t.Errorf("got %v", got)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 0 || s.Bytes() != 0 {
		t.Errorf("left behind: %v, %d bytes", files, s.Bytes())
	}
}

func TestTheNextProcessHandsOverWhatIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir, 1<<20)
	for n := range 5 {
		if err := first.Append([]event.Part{part(n)}); err != nil {
			t.Fatal(err)
		}
	}
	// The process dies here, in the middle of one more write.
	files, err := filepath.Glob(filepath.Join(dir, "*.spool"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	torn, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := torn.Write([]byte{9, 0, 0, 0, 1, 0, 0, 0, 7, 7, 7, 7, 'h', 'a'}); err != nil {
		t.Fatal(err)
	}
	if err := torn.Close(); err != nil {
		t.Fatal(err)
	}
	second := open(t, dir, 1<<20)
	if err := second.Append([]event.Part{part(5)}); err != nil {
		t.Fatal(err)
	}
	log := &taker{}
	if err := drained(t, second, log, 6); !slices.Equal(err, expected(6)) {
		t.Errorf("got %v", err)
	}
}

// drained runs a spool until a number of parts are delivered.
func drained(t *testing.T, s *spool.Spool, log *taker, want int) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := s.Run(ctx, func(ctx context.Context, parts []event.Part) error {
			err := log.hand(ctx, parts)
			if len(log.all()) >= want {
				cancel()
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}()
	<-done
	return log.all()
}

func TestAFullSpoolRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), 100)
	if err := s.Append([]event.Part{{Payload: make([]byte, 60)}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Append([]event.Part{{Payload: make([]byte, 60)}}); !errors.Is(err, spool.ErrFull) {
		t.Errorf("got %v", err)
	}
	if err := s.Append([]event.Part{part(1)}); err != nil {
		t.Errorf("what fits is refused: %v", err)
	}
}

// TestConcurrentAppends appends from many callers while Run delivers. Everything is delivered, and nothing else. Each
// caller's own parts stay in order.
func TestConcurrentAppends(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), 64<<20)
	const callers, each = 8, 50
	log := &taker{fail: 1}
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for n := range each {
				if err := s.Append([]event.Part{part(caller*each + n)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	got := drained(t, s, log, callers*each)
	all.Wait()
	slices.Sort(got)
	want := expected(callers * each)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d parts were handed over, not the %d that were kept", len(got), len(want))
	}
}
