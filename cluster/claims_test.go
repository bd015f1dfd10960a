package cluster

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// office hands out claims. The last taker has the claim.
type office struct {
	mu      sync.Mutex
	claims  map[int]*testClaim
	taken   []int
	evicted []int
	refuse  error // if set, the error of taking a claim
	present uint32
	vacant  chan struct{} // nil if all evicted activations have stopped
}

type testClaim struct {
	lost   chan struct{}
	closed chan struct{}
}

func (c *testClaim) Lost() <-chan struct{} { return c.lost }
func (c *testClaim) Close()                { close(c.closed) }

func (o *office) take(_ context.Context, partition int) (Claim, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refuse != nil {
		return nil, o.refuse
	}
	claim := &testClaim{make(chan struct{}), make(chan struct{})}
	o.claims[partition] = claim
	o.taken = append(o.taken, partition)
	return claim, nil
}

func (o *office) lose(partition int) *testClaim {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.claims[partition].lost)
	return o.claims[partition]
}

func (o *office) times() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.taken)
}

func openOffice(t *testing.T) (*office, *Claims) {
	t.Helper()
	o := &office{claims: map[int]*testClaim{}, present: 1}
	c := NewClaims(ClaimsConfig{
		Take: o.take,
		Evict: func(partition int) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.evicted = append(o.evicted, partition)
		},
		Vacated: func(ctx context.Context, _ int) error {
			if o.vacant == nil {
				return nil
			}
			select {
			case <-o.vacant:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Confirm: func(_ context.Context, generation uint32) error {
			o.mu.Lock()
			defer o.mu.Unlock()
			if generation != o.present {
				return ErrMoved
			}
			return nil
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return o, c
}

func awaitClaim(t *testing.T, c *Claims, partition int) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return c.Await(ctx, partition)
}

// TestClaimsFollowTheGenerations retains the claims that the next generation leaves here, and takes again the claims
// that another node may have had meanwhile.
func TestClaimsFollowTheGenerations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, c := openOffice(t)
		if err := awaitClaim(t, c, 1); !errors.Is(err, ErrMoved) {
			t.Errorf("before a generation: %v", err)
		}
		c.Assign(1, []int{1, 2})
		if err := errors.Join(awaitClaim(t, c, 1), awaitClaim(t, c, 2)); err != nil {
			t.Fatal(err)
		}
		first := o.claims[2]
		c.Assign(2, []int{1, 3})
		<-first.closed
		if err := awaitClaim(t, c, 3); err != nil || o.times() != 3 {
			t.Errorf("%d claims were taken, %v", o.times(), err)
		}
		if err := awaitClaim(t, c, 2); !errors.Is(err, ErrMoved) {
			t.Errorf("a partition of another node: %v", err)
		}
		c.Assign(4, []int{1}) // a generation passed without this node
		if err := awaitClaim(t, c, 1); err != nil || o.times() != 4 {
			t.Errorf("%d claims were taken, %v", o.times(), err)
		}
	})
}

// TestALostClaimIsTakenAgain loses a claim in the generation that assigned it, and in a later one.
func TestALostClaimIsTakenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, c := openOffice(t)
		o.vacant = make(chan struct{})
		close(o.vacant)
		c.Assign(1, []int{1})
		if err := awaitClaim(t, c, 1); err != nil {
			t.Fatal(err)
		}
		o.vacant = make(chan struct{}) // an activation is still running
		<-o.lose(1).closed
		if err := awaitClaim(t, c, 1); !errors.Is(err, context.DeadlineExceeded) || o.times() != 1 {
			t.Errorf("the claim was taken beside an activation of the claim before: %v", err)
		}
		close(o.vacant)
		if err := awaitClaim(t, c, 1); err != nil || o.times() != 2 || !slices.Equal(o.evicted, []int{1}) {
			t.Errorf("%d claims were taken, evicted %v, %v", o.times(), o.evicted, err)
		}
		o.mu.Lock()
		o.present = 2
		o.mu.Unlock()
		<-o.lose(1).closed
		synctest.Wait()
		if err := awaitClaim(t, c, 1); !errors.Is(err, ErrMoved) || o.times() != 2 {
			t.Errorf("%d claims were taken after the generation was over, %v", o.times(), err)
		}
		c.Assign(2, []int{1})
		if err := awaitClaim(t, c, 1); err != nil || o.times() != 3 {
			t.Errorf("%d claims were taken, %v", o.times(), err)
		}
	})
}

// TestClaimsWaitForTheLog takes a claim once the log answers.
func TestClaimsWaitForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, c := openOffice(t)
		o.refuse = errors.New("the log is away")
		c.Assign(1, []int{1})
		if err := awaitClaim(t, c, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without the log: %v", err)
		}
		o.mu.Lock()
		o.refuse = nil
		o.mu.Unlock()
		if err := awaitClaim(t, c, 1); err != nil {
			t.Error(err)
		}
	})
}
