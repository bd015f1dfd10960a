package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/protos"
)

// fakePeers is a directory and a wire with answers that a test sets.
type fakePeers struct {
	// owners and answers are returned one after another; the last one repeats forever.
	owners    []string
	answers   []error
	refreshed int
	called    []string
	// hang makes calls wait until their context ends.
	hang bool
}

func (f *fakePeers) Owner(context.Context, int) (string, error) {
	owner := f.owners[0]
	if len(f.owners) > 1 {
		f.owners = f.owners[1:]
	}
	if owner == "" {
		return "", errors.New("nobody")
	}
	return owner, nil
}

func (f *fakePeers) Refresh()     { f.refreshed++ }
func (f *fakePeers) Self() string { return "me:1" }

func (f *fakePeers) Serve(func(context.Context, *protos.Call) (*protos.Answer, error)) {}

func (f *fakePeers) Call(ctx context.Context, address string, _ *protos.Call) (*protos.Answer, error) {
	f.called = append(f.called, address)
	if f.hang && len(f.called) == 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	err := f.answers[0]
	if len(f.answers) > 1 {
		f.answers = f.answers[1:]
	}
	if err != nil {
		return nil, err
	}
	return &protos.Answer{Payload: []byte("from " + address)}, nil
}

func TestCallsGoToTheOwner(t *testing.T) {
	for _, c := range []struct {
		name       string
		peers      fakePeers
		repeatable bool
		want       string
		err        error
		calls      int
	}{
		{"at once", fakePeers{owners: []string{"a:1"}, answers: []error{nil}}, false, "from a:1", nil, 1},
		{"after it moved", fakePeers{owners: []string{"a:1", "b:1"}, answers: []error{ErrMoved, nil}}, false, "from b:1", nil, 2},
		{"after nobody owned it", fakePeers{owners: []string{"", "", "b:1"}, answers: []error{nil}}, false, "from b:1", nil, 1},
		{"after the directory named this node", fakePeers{owners: []string{"me:1", "b:1"}, answers: []error{nil}}, false, "from b:1", nil, 1},
		{"a lost answer that may be repeated", fakePeers{owners: []string{"a:1"}, answers: []error{ErrLost, nil}}, true, "from a:1", nil, 2},
		{"a lost answer that may not", fakePeers{owners: []string{"a:1"}, answers: []error{ErrLost, nil}}, false, "", ErrUnavailable, 1},
		{"a panic", fakePeers{owners: []string{"a:1"}, answers: []error{ErrPanicked}}, true, "", ErrPanicked, 1},
		{"a node that hangs while another becomes the owner", fakePeers{owners: []string{"a:1", "a:1", "b:1"}, answers: []error{nil}, hang: true}, true, "from b:1", nil, 2},
		{"the same for what may not be repeated", fakePeers{owners: []string{"a:1", "b:1"}, answers: []error{nil}, hang: true}, false, "", ErrUnavailable, 1},
		{"nobody in time", fakePeers{owners: []string{""}}, true, "", ErrUnavailable, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				placement := ownAll()
				placement.end()
				host, err := New(Config{
					Kinds: these(echoKind("thing")), Partitions: testPartitions, Placement: placement, Wire: &c.peers, Directory: &c.peers,
					Logger: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry()),
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				answer, err := host.Call(ctx, &protos.Call{Kind: "thing", Identity: "one", Repeatable: c.repeatable})
				if string(answer.GetPayload()) != c.want || !errors.Is(err, c.err) || len(c.peers.called) != c.calls {
					t.Errorf("got %q, %v in %d calls; want %q, %v in %d", answer.GetPayload(), err, len(c.peers.called), c.want, c.err, c.calls)
				}
				host.system.Shutdown()
				time.Sleep(2 * time.Second)
			})
		})
	}
}

// TestRemoteCallsAreRefusedElsewhere tests the owner's side: it executes calls for owned identities and answers
// ErrMoved to others.
func TestRemoteCallsAreRefusedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placement := ownAll()
		c := newTestCluster(t, placement, echoKind("thing"))
		call := &protos.Call{Kind: "thing", Identity: "one", Payload: []byte("hello")}
		if answer, err := c.answerRemote(t.Context(), call); err != nil || answer == nil {
			t.Errorf("an own one: %v, %v", answer, err)
		}
		placement.end()
		if _, err := c.answerRemote(t.Context(), call); !errors.Is(err, ErrMoved) {
			t.Errorf("one of another node: %v, want ErrMoved", err)
		}
	})
}

// TestFence checks the answers of the coordinator during a rebalance.
func TestFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placement := ownAll()
		c := newTestCluster(t, placement, echoKind("thing"))
		kind := c.kinds["thing"]
		r, generation, err := c.activation(kind, "one")
		if err != nil {
			t.Fatal(err)
		}
		present := uint32(1)
		c.config.Fence = func(_ context.Context, asked uint32) error {
			if asked != present {
				return ErrMoved
			}
			return nil
		}
		fence := func() error { return c.fence(t.Context(), kind, "one", r, generation) }
		if err := fence(); err != nil {
			t.Errorf("in the present generation: %v", err)
		}
		present = 2
		go func() {
			time.Sleep(time.Second)
			placement.own(2)
		}()
		if err := fence(); err != nil {
			t.Errorf("where the next generation left it here: %v", err)
		}
		present = 3
		go func() {
			time.Sleep(time.Second)
			c.Evict(kind.partitionOf("one", testPartitions))
		}()
		if err := fence(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("where another node may have owned it: %v, want ErrUnavailable", err)
		}
	})
}

// TestAnswersAreFencedDuringARebalance reads while other nodes may already know that the generation is over. The lease
// alone must not release the answer.
func TestAnswersAreFencedDuringARebalance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placement := ownAll()
		c := newTestCluster(t, placement, echoKind("thing"))
		var present atomic.Uint32
		var settled atomic.Bool
		present.Store(1)
		settled.Store(true)
		asked := 0
		c.config.Fence = func(_ context.Context, generation uint32) error {
			if asked++; generation != present.Load() {
				return ErrMoved
			}
			return nil
		}
		c.config.Unsettled = func(generation uint32) bool { return !settled.Load() || generation != present.Load() }
		call := func() error {
			_, err := c.Call(t.Context(), &protos.Call{Kind: "thing", Identity: "one", Payload: []byte("hello")})
			return err
		}
		if err := call(); err != nil || asked != 0 {
			t.Errorf("at rest: %v, asked %d times", err, asked)
		}
		settled.Store(false)
		if err := call(); err != nil || asked != 1 {
			t.Errorf("while the generation stands: %v, asked %d times", err, asked)
		}
		present.Store(2)
		go func() {
			time.Sleep(time.Second)
			settled.Store(true)
			placement.own(2)
		}()
		began := time.Now()
		if err := call(); err != nil || time.Since(began) < time.Second {
			t.Errorf("where the next generation left it here: %v after %s", err, time.Since(began))
		}
		present.Store(3)
		go func() {
			time.Sleep(time.Second)
			placement.end()
			c.Evict(c.kinds["thing"].partitionOf("one", testPartitions))
		}()
		if err := call(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("where another node may have owned it: %v, want ErrUnavailable", err)
		}
	})
}
