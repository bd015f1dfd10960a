package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"svc/protos"
)

// testPartitions is the partition count of the clusters in these tests.
const testPartitions = 16

// testPlacement owns the partitions that a test sets, in a generation that the test sets.
type testPlacement struct {
	mu         sync.Mutex
	generation uint32
	owned      map[int]bool
	// asked is called once, at the next question.
	asked func()
}

// ownAll returns a placement that owns every partition.
func ownAll() *testPlacement {
	p := &testPlacement{}
	p.own(1)
	return p
}

// own begins a generation with the given partitions. Without any it owns all partitions.
func (p *testPlacement) own(generation uint32, partitions ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.generation, p.owned = generation, map[int]bool{}
	for partition := range testPartitions {
		p.owned[partition] = len(partitions) == 0 || slices.Contains(partitions, partition)
	}
}

// end ends the ownership of all partitions.
func (p *testPlacement) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owned = nil
}

func (p *testPlacement) Owned(partition int) (uint32, bool) {
	p.mu.Lock()
	generation, owned, asked := p.generation, p.owned[partition], p.asked
	p.asked = nil
	p.mu.Unlock()
	if asked != nil {
		asked()
	}
	return generation, owned
}

// actorFunc is an actor made of a function.
type actorFunc func(c actor.Context)

func (f actorFunc) Receive(c actor.Context) { f(c) }

// testKind is a kind with a function that handles its requests. Its idle activations stop.
func testKind(name string, handle func(c actor.Context, identity string, request *Request)) Kind {
	return Kind{Name: name, New: func(identity string) actor.Actor {
		return actorFunc(func(c actor.Context) {
			switch message := c.Message().(type) {
			case *Request:
				handle(c, identity, message)
			case *Passivate:
				c.Stop(c.Self())
			}
		})
	}}
}

// echoKind answers every request with its payload.
func echoKind(name string) Kind {
	return testKind(name, func(_ actor.Context, _ string, request *Request) { echo(request) })
}

func echo(request *Request) { request.Answer(&protos.Answer{Payload: request.Call.GetPayload()}) }

// these returns a Kinds function that returns the given kinds.
func these(kinds ...Kind) func(*Cluster) ([]Kind, error) {
	return func(*Cluster) ([]Kind, error) { return kinds, nil }
}

// newTestCluster returns a cluster that is not running, without a log.
func newTestCluster(t *testing.T, placement Placement, kinds ...Kind) *Cluster {
	t.Helper()
	c, err := New(Config{
		Kinds: these(kinds...), Partitions: testPartitions, Placement: placement,
		Logger: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run runs a cluster until the test ends or stop is called.
func run(t *testing.T, c *Cluster) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// call makes a call with a payload and returns the payload of the answer.
func call(ctx context.Context, c *Cluster, kind, identity, method, payload string) (string, error) {
	answer, err := c.Call(ctx, &protos.Call{Kind: kind, Identity: identity, Method: method, Payload: []byte(payload)})
	return string(answer.GetPayload()), err
}

// mustCall is call for a request that must succeed.
func mustCall(t *testing.T, c *Cluster, kind, identity, method string) {
	t.Helper()
	if got, err := call(t.Context(), c, kind, identity, method, method); got != method || err != nil {
		t.Fatalf("call %s of %s/%s = %q, %v; want its payload", method, kind, identity, got, err)
	}
}

// figure reads a counter or gauge.
func figure(t *testing.T, metric prometheus.Metric) float64 {
	t.Helper()
	var out dto.Metric
	if err := metric.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetCounter().GetValue() + out.GetGauge().GetValue()
}

// identityOf returns an identity of the kind that lives in a partition.
func identityOf(kind string, partition int) string {
	for n := 0; ; n++ {
		identity := fmt.Sprintf("id-%d", n)
		if HashPartition(kind+"/"+identity, testPartitions) == partition {
			return identity
		}
	}
}

func TestNewRefuses(t *testing.T) {
	tests := map[string]struct {
		config Config
		want   string
	}{
		"a kind without a name": {
			Config{Kinds: these(Kind{New: echoKind("a").New}), Partitions: 1, Placement: ownAll()},
			"reading the kinds: kind 0 has no name or no constructor",
		},
		"a kind without a constructor": {
			Config{Kinds: these(echoKind("a"), Kind{Name: "b"}), Partitions: 1, Placement: ownAll()},
			"reading the kinds: kind 1 has no name or no constructor",
		},
		"a kind listed twice": {
			Config{Kinds: these(echoKind("a"), echoKind("a")), Partitions: 1, Placement: ownAll()},
			`reading the kinds: kind "a" is listed twice`,
		},
		"no partitions": {Config{Kinds: these(), Placement: ownAll()}, "a cluster needs kinds, partitions and a placement"},
		"no placement":  {Config{Kinds: these(), Partitions: 1}, "a cluster needs kinds, partitions and a placement"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := New(test.config)
			if c != nil || err == nil || err.Error() != test.want {
				t.Errorf("New = %v, %v; want nil, %s", c, err, test.want)
			}
		})
	}
}

func TestAnIdentityHasOneActivation(t *testing.T) {
	const callers = 64
	var made, inside atomic.Int32
	handled := map[string]int{} // without a lock, so that the race detector checks the access
	kind := testKind("thing", func(_ actor.Context, identity string, request *Request) {
		if identity == "same" {
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d requests of one identity are handled at a time, want 1", n)
			}
			handled[identity]++
			inside.Add(-1)
		}
		echo(request)
	})
	newActor := kind.New
	kind.New = func(identity string) actor.Actor { made.Add(1); return newActor(identity) }
	c := newTestCluster(t, ownAll(), kind)
	stop := run(t, c)
	var callersDone sync.WaitGroup
	start := make(chan struct{})
	for n := range callers {
		callersDone.Go(func() {
			<-start
			payload := fmt.Sprint(n)
			if got, err := call(t.Context(), c, "thing", "same", "m", payload); got != payload || err != nil {
				t.Errorf("caller %d got %q, %v; want its own payload", n, got, err)
			}
		})
	}
	close(start)
	callersDone.Wait()
	if got := made.Load(); got != 1 {
		t.Errorf("%d activations were made, want 1", got)
	}
	if got := c.Resident("thing"); got != 1 {
		t.Errorf("%d activations are in memory, want 1", got)
	}
	mustCall(t, c, "thing", "another", "m")
	if got := made.Load(); got != 2 {
		t.Errorf("%d activations were made for two identities, want 2", got)
	}
	stop()
	if handled["same"] != callers {
		t.Errorf("%d requests were handled, want %d", handled["same"], callers)
	}
}

func TestMessagesAreHandledInOrder(t *testing.T) {
	var got []int
	ready := make(chan struct{})
	kind := Kind{Name: "thing", New: func(string) actor.Actor {
		return actorFunc(func(c actor.Context) {
			if n, ok := c.Message().(int); ok {
				got = append(got, n)
			}
			if _, ok := c.Message().(*Request); ok {
				close(ready)
			}
		})
	}}
	c := newTestCluster(t, ownAll(), kind)
	run(t, c)
	var want []int
	for n := range 1000 {
		want = append(want, n)
		if err := c.Tell("thing", "a", n); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { <-ready; cancel() }()
	if _, err := call(ctx, c, "thing", "a", "m", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that nobody answers ended with %v, want %v", err, context.Canceled)
	}
	if !slices.Equal(got, want) {
		t.Errorf("messages were handled in the order %v", got)
	}
}

func TestIdleActivationsStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made []string
		idle := func(name string, limit time.Duration) Kind {
			kind := echoKind(name)
			kind.Idle = limit
			newActor := kind.New
			kind.New = func(identity string) actor.Actor {
				made = append(made, name+"/"+identity)
				return newActor(identity)
			}
			return kind
		}
		c := newTestCluster(t, ownAll(), idle("short", time.Minute), idle("kept", 0))
		run(t, c)
		mustCall(t, c, "short", "unused", "m")
		mustCall(t, c, "short", "used", "m")
		mustCall(t, c, "kept", "unused", "m")
		for range 4 {
			time.Sleep(20 * time.Second)
			mustCall(t, c, "short", "used", "m")
		}
		synctest.Wait()
		if short, kept := c.Resident("short"), c.Resident("kept"); short != 1 || kept != 1 {
			t.Errorf("after 80 s %d short and %d kept activations are in memory, want 1 and 1", short, kept)
		}
		if got := figure(t, c.config.Metrics.Passivate.WithLabelValues("short")); got != 1 {
			t.Errorf("%v activations were asked to stop, want 1", got)
		}
		mustCall(t, c, "short", "unused", "m")
		want := []string{"short/unused", "short/used", "kept/unused", "short/unused"}
		if !slices.Equal(made, want) {
			t.Errorf("activations made: %v, want %v", made, want)
		}
		if got := figure(t, c.config.Metrics.Resident.WithLabelValues("short")); got != 2 {
			t.Errorf("the gauge shows %v activations, want 2", got)
		}
	})
}

func TestEvictStopsTheActivationsOfOnePartition(t *testing.T) {
	stays := echoKind("stays")
	stays.Stays = true
	c := newTestCluster(t, ownAll(), echoKind("thing"), echoKind("other"), stays)
	run(t, c)
	for partition := range 4 {
		for _, kind := range []string{"thing", "other", "stays"} {
			mustCall(t, c, kind, identityOf(kind, partition), "m")
		}
	}
	leaving := c.residents[residentKey{"thing", identityOf("thing", 2)}]
	c.Evict(2)
	<-leaving.gone
	mustCall(t, c, "other", identityOf("other", 3), "m")
	<-waitGone(c, "other", identityOf("other", 2))
	want := map[string]int{"thing": 3, "other": 3, "stays": 4}
	for kind, n := range want {
		if got := c.Resident(kind); got != n {
			t.Errorf("%d activations of %s are in memory, want %d", got, kind, n)
		}
	}
	mustCall(t, c, "thing", identityOf("thing", 2), "m")
	if got := c.Resident("thing"); got != 4 {
		t.Errorf("%d activations after the next call, want 4", got)
	}
}

// waitGone returns a channel that is closed once an identity has no activation.
func waitGone(c *Cluster, kind, identity string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.residents[residentKey{kind, identity}]; r != nil {
		return r.gone
	}
	gone := make(chan struct{})
	close(gone)
	return gone
}

func TestNoActivationIsMadeBehindAnEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placement := ownAll()
		c := newTestCluster(t, placement, echoKind("thing"))
		run(t, c)
		identity := identityOf("thing", 5)
		placement.asked = func() {
			evicted := make(chan struct{})
			go func() {
				placement.own(2, 1, 2, 3)
				c.Evict(5)
				close(evicted)
			}()
			if c.mu.TryLock() { // then nothing prevents the eviction from overtaking
				c.mu.Unlock()
				<-evicted
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		// The call may be answered just before the eviction, or fail after it.
		if _, err := call(ctx, c, "thing", identity, "m", ""); err != nil && !errors.Is(err, ErrUnavailable) {
			t.Errorf("the call ended with %v, want nil or %v", err, ErrUnavailable)
		}
		synctest.Wait()
		if got := c.Resident("thing"); got != 0 {
			t.Errorf("%d activations are in memory after the eviction, want 0", got)
		}
	})
}

// TestRunEndsWithEverythingStopped relies on the synctest bubble to find a goroutine that outlives the cluster.
func TestRunEndsWithEverythingStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const actors = 100
		var begun, stopped atomic.Int32
		kind := Kind{Name: "thing", New: func(string) actor.Actor {
			return actorFunc(func(c actor.Context) {
				switch message := c.Message().(type) {
				case *Request:
					begun.Add(1)
					time.Sleep(time.Second) // a slow request
					echo(message)
				case *actor.Stopping:
					time.Sleep(2 * time.Second) // a save under way
					stopped.Add(1)
				}
			})
		}}
		c := newTestCluster(t, ownAll(), kind)
		stop := run(t, c)
		var callers sync.WaitGroup
		for n := range actors {
			callers.Go(func() { mustCall(t, c, "thing", fmt.Sprint(n), "m") })
		}
		synctest.Wait()
		if got := begun.Load(); got != actors {
			t.Fatalf("%d requests have begun, want %d", got, actors)
		}
		stop()
		callers.Wait()
		if got := stopped.Load(); got != actors {
			t.Errorf("Run returned when %d actors had stopped, want %d", got, actors)
		}
		if got := c.Resident("thing"); got != 0 {
			t.Errorf("%d activations are in memory, want 0", got)
		}
		if _, err := call(t.Context(), c, "thing", "1", "m", ""); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a call after the end got %v, want %v", err, ErrUnavailable)
		}
		if err := c.Tell("thing", "1", "m"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a message after the end got %v, want %v", err, ErrUnavailable)
		}
	})
}

func TestRunReportsActorsThatDoNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		kind := Kind{Name: "thing", New: func(string) actor.Actor {
			return actorFunc(func(c actor.Context) {
				switch message := c.Message().(type) {
				case *Request:
					echo(message)
				case *actor.Stopping:
					<-release
				}
			})
		}}
		c := newTestCluster(t, ownAll(), kind)
		mustCall(t, c, "thing", "a", "m")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		err := c.Run(ctx)
		if want := "stopping the actors: 1 were asked, not all stopped in 10s"; err == nil || err.Error() != want {
			t.Errorf("Run returned %v, want %s", err, want)
		}
		if took := time.Since(began); took != stopTime {
			t.Errorf("Run returned after %s, want %s", took, stopTime)
		}
		close(release)
	})
}

func TestFiguresBeginAtZero(t *testing.T) {
	registry := prometheus.NewRegistry()
	_, err := New(Config{
		Kinds: these(echoKind("a"), echoKind("b")), Partitions: 1, Placement: ownAll(),
		Logger: slog.New(slog.DiscardHandler), Metrics: NewMetrics(registry),
	})
	if err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, family := range families {
		got[family.GetName()] = len(family.GetMetric())
		for _, metric := range family.GetMetric() {
			if metric.GetCounter().GetValue()+metric.GetGauge().GetValue() != 0 {
				t.Errorf("%s begins at %v, want 0", family.GetName(), metric)
			}
		}
	}
	want := map[string]int{
		"svc_actors_resident": 2, "svc_actor_requests_in_flight": 2, "svc_actor_requests_refused_total": 2,
		"svc_actor_retries_total": 2, "svc_actor_panics_total": 2, "svc_actor_passivations_total": 2, "svc_wakeups_total": 1,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the figures are %v, want %v", got, want)
	}
}
