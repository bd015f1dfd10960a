package cluster

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc/protos"
)

// wakeups is an in-memory store of wake-ups.
type wakeups struct {
	mu  sync.Mutex
	due map[Due]time.Time
}

func (w *wakeups) Due(at time.Time, yield func(Due) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var due []Due
	for wake, when := range w.due {
		if !when.After(at) {
			due = append(due, wake)
		}
	}
	slices.SortFunc(due, func(a, b Due) int { return strings.Compare(a.Identity+a.Kind, b.Identity+b.Kind) })
	for _, wake := range due {
		if !yield(wake) {
			break
		}
	}
}

// TestTheSweeperWakesUntilTheWishIsRemoved sweeps once a second over wake-ups that are due, due later, owned by another
// node, of an unknown kind, and refused.
func TestTheSweeperWakesUntilTheWishIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		mine, later, foreign := identityOf("thing", 1), identityOf("thing", 2), identityOf("thing", 9)
		store := &wakeups{due: map[Due]time.Time{
			{"thing", mine, "tick"}:    began,
			{"thing", later, "tick"}:   began.Add(4500 * time.Millisecond),
			{"thing", foreign, "tick"}: began,
			{"nothing", "a", "tick"}:   began,
			{"refuses", "r", "tick"}:   began.Add(time.Minute),
		}}
		placement := &testPlacement{}
		placement.own(1, 1, 2, HashPartition("refuses/r", testPartitions))
		got := map[string][]string{}
		at := func() string { return time.Since(began).String() }
		kind := testKind("thing", func(_ actor.Context, identity string, request *Request) {
			store.mu.Lock()
			defer store.mu.Unlock()
			got[identity] = append(got[identity], at()+" "+request.Call.GetMethod()+" "+string(request.Call.GetPayload()))
			if len(got[identity]) == 3 {
				delete(store.due, Due{"thing", identity, "tick"})
			}
			request.Answer(&protos.Answer{})
		})
		refusals := 0
		refuses := testKind("refuses", func(_ actor.Context, _ string, request *Request) {
			store.mu.Lock()
			defer store.mu.Unlock()
			refusals++
			request.Answer(&protos.Answer{Failure: &protos.Failure{}})
		})
		c := newTestCluster(t, placement, kind, refuses)
		run(t, c)
		sweeper := &Sweeper{Cluster: c, Store: store, Every: time.Second, Logger: slog.New(slog.DiscardHandler), Now: time.Now}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- sweeper.Run(ctx) }()
		// sleep lets time pass; after it only the test runs until the next sleep.
		sleep := func(d time.Duration) {
			store.mu.Unlock()
			time.Sleep(d)
			synctest.Wait()
			store.mu.Lock()
		}
		store.mu.Lock()

		sleep(8500 * time.Millisecond)
		for identity, want := range map[string][]string{
			mine:    {`1s wake "tick"`, `2s wake "tick"`, `3s wake "tick"`},
			later:   {`5s wake "tick"`, `6s wake "tick"`, `7s wake "tick"`},
			foreign: nil,
		} {
			if !slices.Equal(got[identity], want) {
				t.Errorf("%s was woken %v, want %v", identity, got[identity], want)
			}
		}
		if n := figure(t, c.config.Metrics.Wakeups); n != 6 {
			t.Errorf("%v wake-ups were counted, want 6", n)
		}
		placement.own(2)
		sleep(time.Second)
		if want := []string{`9s wake "tick"`}; !slices.Equal(got[foreign], want) {
			t.Errorf("what was taken over was woken %v, want %v", got[foreign], want)
		}
		sleep(53 * time.Second)
		if n := figure(t, c.config.Metrics.Wakeups); n != 9 || refusals != 3 {
			t.Errorf("%v wake-ups were counted and %d refused, want 9 and 3", n, refusals)
		}
		store.mu.Unlock()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	})
}

// TestTheSweeperPassesByWhatOtherNodesOwn has more due wake-ups of another node than one round delivers. All of them
// have been due for longer than this node's own.
func TestTheSweeperPassesByWhatOtherNodesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine := identityOf("thing", 1)
		store := &wakeups{due: map[Due]time.Time{{"thing", mine, "tick"}: time.Now()}}
		for n := range sweepBatch + 1 {
			store.due[Due{"elsewhere", "a", strings.Repeat("x", n)}] = time.Now()
		}
		placement := &testPlacement{}
		placement.own(1, 1)
		woken := 0
		kind := testKind("thing", func(_ actor.Context, _ string, request *Request) {
			woken++
			request.Answer(&protos.Answer{})
		})
		c := newTestCluster(t, placement, kind, echoKind("elsewhere"))
		run(t, c)
		if c.Owns("elsewhere", "a") {
			t.Fatal("this node owns everything")
		}
		(&Sweeper{Cluster: c, Store: store, Logger: slog.New(slog.DiscardHandler), Now: time.Now}).sweep(t.Context())
		if woken != 1 {
			t.Errorf("the own actor was woken %d times, want once", woken)
		}
	})
}

// TestASlowActorHoldsUpNoOther has a wake-up of an actor that does not answer, due before the wake-up of another actor.
func TestASlowActorHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick := identityOf("thing", 1), identityOf("thing", 2)
		slow, quick = min(slow, quick), max(slow, quick) // the store returns the slow one first
		store := &wakeups{due: map[Due]time.Time{{"thing", slow, "a"}: time.Now(), {"thing", quick, "a"}: time.Now()}}
		placement := &testPlacement{}
		placement.own(1, 1, 2)
		began, goOn, woken := time.Now(), make(chan struct{}), map[string]time.Duration{}
		kind := testKind("thing", func(_ actor.Context, identity string, request *Request) {
			if identity == slow {
				<-goOn
			}
			store.mu.Lock()
			woken[identity] = time.Since(began)
			store.mu.Unlock()
			request.Answer(&protos.Answer{})
		})
		c := newTestCluster(t, placement, kind)
		run(t, c)
		time.AfterFunc(5*time.Second, func() { close(goOn) })
		(&Sweeper{Cluster: c, Store: store, Logger: slog.New(slog.DiscardHandler), Now: time.Now}).sweep(t.Context())
		if len(woken) != 2 || woken[quick] != 0 {
			t.Errorf("woken after %v, want the quick one at once", woken)
		}
	})
}
