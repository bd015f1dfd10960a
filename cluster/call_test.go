package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// TestNoRequestIsLostWhileActivationsStop checks the guarantee of the package: while activations come and go, every
// request is executed once and answered.
func TestNoRequestIsLostWhileActivationsStop(t *testing.T) {
	const callers, calls, identities = 32, 1000, 8
	var executed, made atomic.Int64
	kind := testKind("thing", func(c actor.Context, _ string, request *Request) {
		executed.Add(1)
		echo(request)
		if rand.N(50) == 0 {
			c.Stop(c.Self())
		}
	})
	newActor := kind.New
	kind.New = func(identity string) actor.Actor { made.Add(1); return newActor(identity) }
	c := newTestCluster(t, ownAll(), kind)
	run(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var failed atomic.Int64
	var done sync.WaitGroup
	for range callers {
		done.Go(func() {
			for n := range calls {
				identity := string(rune('a' + rand.N(identities)))
				if got, err := call(ctx, c, "thing", identity, "m", "x"); got != "x" || err != nil {
					failed.Add(1)
					t.Errorf("call %d got %q, %v", n, got, err)
					return
				}
				switch rand.N(64) {
				case 0:
					c.Evict(kind.partitionOf(identity, testPartitions))
				case 1:
					_ = c.Tell("thing", identity, &Passivate{})
				}
			}
		})
	}
	done.Wait()
	if failed.Load() != 0 || executed.Load() != callers*calls {
		t.Errorf("%d requests failed and %d were executed, want 0 and %d", failed.Load(), executed.Load(), callers*calls)
	}
	if made.Load() < 100 {
		t.Errorf("only %d activations were made: the test did not test", made.Load())
	}
}

func TestCallsGoDownInRank(t *testing.T) {
	var kinds []Kind
	for rank, name := range []string{"zero", "one", "two"} {
		kind := echoKind(name)
		kind.Rank = rank
		kinds = append(kinds, kind)
	}
	c := newTestCluster(t, ownAll(), kinds...)
	run(t, c)
	const outside = -1
	tests := map[string]struct {
		from int
		kind string
		want error
	}{
		"from outside to the top":  {outside, "two", nil},
		"from two to one":          {2, "one", nil},
		"from two to zero":         {2, "zero", nil},
		"from two to its own rank": {2, "two", ErrRank},
		"from one up":              {1, "two", ErrRank},
		"from zero to itself":      {0, "zero", ErrRank},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if test.from != outside {
				ctx = WithRank(ctx, test.from)
			}
			got, err := call(ctx, c, test.kind, "a", "m", "x")
			if !errors.Is(err, test.want) || (err == nil) != (got == "x") {
				t.Errorf("the call got %q, %v; want %v", got, err, test.want)
			}
		})
	}
}

func TestCallRefuses(t *testing.T) {
	c := newTestCluster(t, ownAll(), echoKind("thing"))
	run(t, c)
	tests := map[string]struct{ kind, identity, want string }{
		"an unknown kind":   {"nothing", "a", `unknown actor kind "nothing"`},
		"an empty identity": {"thing", "", "kind thing: empty identity"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := call(t.Context(), c, test.kind, test.identity, "m", ""); err == nil || err.Error() != test.want {
				t.Errorf("Call got %v, want %s", err, test.want)
			}
			if err := c.Tell(test.kind, test.identity, "m"); err == nil || err.Error() != test.want {
				t.Errorf("Tell got %v, want %s", err, test.want)
			}
		})
	}
	if got := c.Resident("thing"); got != 0 {
		t.Errorf("%d activations were made, want 0", got)
	}
}

func TestRequestsUnderWayAreBounded(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	kind := testKind("thing", func(_ actor.Context, _ string, request *Request) {
		if request.Call.GetMethod() == "hold" {
			entered <- struct{}{}
			<-release
		}
		echo(request)
	})
	kind.InFlight = 2
	c := newTestCluster(t, ownAll(), kind, echoKind("other"))
	run(t, c)
	var held sync.WaitGroup
	for _, identity := range []string{"a", "b"} {
		held.Go(func() { mustCall(t, c, "thing", identity, "hold") })
		<-entered
	}
	if got := figure(t, c.config.Metrics.InFlight.WithLabelValues("thing")); got != 2 {
		t.Errorf("the gauge shows %v requests under way, want 2", got)
	}
	_, err := call(t.Context(), c, "thing", "c", "m", "")
	if want := "actor unavailable: too many thing requests under way"; !errors.Is(err, ErrUnavailable) || err.Error() != want {
		t.Errorf("one more request got %v, want %s", err, want)
	}
	mustCall(t, c, "other", "a", "m")
	close(release)
	held.Wait()
	mustCall(t, c, "thing", "c", "m")
	if got := figure(t, c.config.Metrics.Refused.WithLabelValues("thing")); got != 1 {
		t.Errorf("%v requests were refused, want 1", got)
	}
	if got := figure(t, c.config.Metrics.InFlight.WithLabelValues("thing")); got != 0 {
		t.Errorf("the gauge shows %v requests under way at the end, want 0", got)
	}
}

func TestACallWaitsForOwnership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placement := &testPlacement{}
		var generations []uint32
		c := newTestCluster(t, placement, testKind("thing", func(_ actor.Context, _ string, request *Request) {
			generations = append(generations, request.Generation)
			echo(request)
		}))
		run(t, c)
		if err := c.Tell("thing", "a", "m"); !errors.Is(err, ErrMoved) {
			t.Errorf("a message without an owner got %v, want %v", err, ErrMoved)
		}
		began := time.Now()
		time.AfterFunc(700*time.Millisecond, func() { placement.own(7) })
		mustCall(t, c, "thing", "a", "m")
		if took := time.Since(began); took < 700*time.Millisecond || took > 700*time.Millisecond+3*longPause/2 {
			t.Errorf("the call took %s, want 700 ms and at most one long pause", took)
		}
		if len(generations) != 1 || generations[0] != 7 {
			t.Errorf("executed in the generations %v, want [7]", generations)
		}
		if got := figure(t, c.config.Metrics.Retries.WithLabelValues("thing")); got < 4 {
			t.Errorf("%v attempts were repeated, want at least 4", got)
		}
	})
}

func TestACallWithoutAnOwnerEndsWithItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster(t, &testPlacement{}, echoKind("thing"))
		run(t, c)
		bounded, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		for ctx, want := range map[context.Context]time.Duration{bounded: 3 * time.Second, t.Context(): DefaultCallTime} {
			began := time.Now()
			_, err := call(ctx, c, "thing", "a", "m", "")
			if !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the call got %v, want %v with %v", err, ErrUnavailable, context.DeadlineExceeded)
			}
			if took := time.Since(began); took > want {
				t.Errorf("the call took %s, want at most %s", took, want)
			}
		}
	})
}

// TestAnAnswerNeedsTheOwnership changes the ownership while a request is executed. The answer may be returned only if
// no other node can have owned the identity meanwhile.
func TestAnAnswerNeedsTheOwnership(t *testing.T) {
	const partition = 5
	tests := map[string]struct {
		change func(c *Cluster, placement *testPlacement)
		want   error
	}{
		"nothing changes":              {func(*Cluster, *testPlacement) {}, nil},
		"the next generation keeps it": {func(_ *Cluster, p *testPlacement) { p.own(2) }, nil},
		"it is kept after a pause": {
			func(_ *Cluster, p *testPlacement) {
				p.end()
				time.AfterFunc(time.Second, func() { p.own(2) })
			}, nil,
		},
		"another node takes it": {
			func(c *Cluster, p *testPlacement) {
				p.end()
				c.Evict(partition)
				p.own(2, 1, 2, 3)
			}, ErrUnavailable,
		},
		"it comes back from another node": {
			func(c *Cluster, p *testPlacement) {
				p.end()
				c.Evict(partition)
				time.AfterFunc(time.Second, func() { p.own(3) })
			}, ErrUnavailable,
		},
		"it ends and nobody says who follows": {func(_ *Cluster, p *testPlacement) { p.end() }, ErrUnavailable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				placement := ownAll()
				executed := 0
				var c *Cluster
				c = newTestCluster(t, placement, testKind("thing", func(_ actor.Context, _ string, request *Request) {
					executed++
					test.change(c, placement)
					echo(request)
				}))
				run(t, c)
				got, err := call(t.Context(), c, "thing", identityOf("thing", partition), "m", "x")
				if !errors.Is(err, test.want) || (err == nil) != (got == "x") {
					t.Errorf("the call got %q, %v; want %v", got, err, test.want)
				}
				if executed != 1 {
					t.Errorf("the request was executed %d times, want 1", executed)
				}
			})
		})
	}
}

func TestACallerThatLeavesFreesItsPlace(t *testing.T) {
	kind := testKind("thing", func(actor.Context, string, *Request) {})
	kind.InFlight = 1
	c := newTestCluster(t, ownAll(), kind)
	run(t, c)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := call(ctx, c, "thing", "a", "m", ""); !errors.Is(err, context.Canceled) {
			t.Errorf("the call got %v, want %v", err, context.Canceled)
		}
	}
}
