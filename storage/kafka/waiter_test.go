package kafka

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// A caller that left before its parts ended must leave no token behind. The next call with the same waiter would take
// it for its own acknowledgement.
func TestAWaiterIsNotDoneByTheCallBefore(t *testing.T) {
	for parts := 1; parts <= 4; parts++ {
		for before := 0; before <= parts; before++ {
			t.Run(fmt.Sprintf("%d of %d parts end before the caller leaves", before, parts), func(t *testing.T) {
				var pool sync.Pool
				w := newWaiter(&pool)
				w.begin(parts)
				for range before {
					w.resolve(nil, 1)
				}
				w.leave()
				for range parts - before {
					w.resolve(nil, 1)
				}
				select {
				case <-w.done:
					t.Error("the recycled waiter says that its next call is done")
				default:
				}
			})
		}
	}
}

// Calls that end, fail and give up at random each get the result of their own parts only.
func TestWaitersTellEachCallOfItsOwnParts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var pool sync.Pool
	pool.New = func() any { return newWaiter(&pool) }
	broken := errors.New("broken")
	var late []*waiter // the waiters of parts of calls that returned early
	for range 2000 {
		w := pool.Get().(*waiter)
		if len(w.done) > 0 {
			t.Fatal("a waiter from the pool is done already")
		}
		parts := 1 + random.IntN(4)
		w.begin(parts)
		if random.IntN(2) == 0 {
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if err := w.wait(gone, 0); !errors.Is(err, ErrUnavailable) {
				t.Fatalf("a call without a result returned %v", err)
			}
			for range parts {
				late = append(late, w)
			}
		} else {
			fails := random.IntN(parts+1) < parts/2
			for n := range parts {
				var result error
				if fails && n == 0 {
					result = broken
				}
				w.resolve(result, 1)
			}
			if err := w.wait(t.Context(), 0); (err != nil) != fails {
				t.Fatalf("a call whose parts failed = %t returned %v", fails, err)
			}
		}
		random.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
		for len(late) > 0 && random.IntN(3) > 0 {
			late[0].resolve(nil, 1)
			late = late[1:]
		}
	}
}
