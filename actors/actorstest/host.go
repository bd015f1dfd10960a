package actorstest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/cluster"
)

// Partitions is the number of partitions of a host.
const Partitions = 8

// Placement owns every partition in a generation, or nothing.
type Placement struct {
	mu         sync.Mutex
	generation uint32
}

// Own begins a generation; zero ends the ownership.
func (p *Placement) Own(generation uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.generation = generation
}

// Owned returns the generation of the ownership, and whether there is any.
func (p *Placement) Owned(int) (uint32, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.generation, p.generation > 0
}

// throttleTime is how long the library's throttle of dead-letter logs outlives
// the last dead letter.
const throttleTime = time.Second

// Host is one node with a cluster that runs until the test ends. It belongs in a bubble of testing/synctest, which
// costs no time and detects goroutines that leak.
type Host struct {
	*cluster.Cluster
	Placement *Placement
	Stop      func()
}

// NewHost runs a cluster of kinds that owns everything in generation 1.
func NewHost(t testing.TB, kinds ...cluster.Kind) *Host {
	t.Helper()
	return NewHostOf(t, func(*cluster.Cluster) []cluster.Kind { return kinds })
}

// NewHostOf does the same as NewHost for kinds with actors that call others through the cluster.
func NewHostOf(t testing.TB, kinds func(c *cluster.Cluster) []cluster.Kind) *Host {
	t.Helper()
	host := &Host{Placement: &Placement{generation: 1}}
	var err error
	host.Cluster, err = cluster.New(cluster.Config{
		Kinds:      func(c *cluster.Cluster) ([]cluster.Kind, error) { return kinds(c), nil },
		Partitions: Partitions, Placement: host.Placement, IdleSweep: time.Minute,
		Logger: slog.New(slog.DiscardHandler), Metrics: cluster.NewMetrics(prometheus.NewRegistry()),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- host.Run(ctx) }()
	host.Stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the cluster ended with %v", err)
		}
		<-time.After(throttleTime)
	})
	t.Cleanup(host.Stop)
	return host
}

// EvictAll stops every activation.
func (h *Host) EvictAll() {
	for partition := range Partitions {
		h.Evict(partition)
	}
}
