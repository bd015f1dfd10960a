package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Config is what a cluster needs to know.
type Config struct {
	Kinds      []Kind
	Partitions int
	Placement  Placement
	Logger     *slog.Logger
	Metrics    *Metrics
	// IdleSweep is the pause between two looks for idle activations; zero means 10 s.
	IdleSweep time.Duration
}

// Cluster hosts the activations of this node and reaches those of others.
type Cluster struct {
	config  Config
	kinds   map[string]*Kind
	system  *actor.ActorSystem
	closing atomic.Bool
	flight  map[string]chan struct{}

	mu        sync.Mutex
	residents map[residentKey]*resident
}

type residentKey struct{ kind, identity string }

// resident is one activation in memory.
type resident struct {
	pid *actor.PID
	// used is the instant of the last message, in nanoseconds since the epoch.
	used atomic.Int64
	// gone is closed when the actor has stopped.
	gone chan struct{}
}

// New checks the table of kinds and returns a cluster without activations.
func New(config Config) (*Cluster, error) {
	kinds, err := indexKinds(config.Kinds)
	if err != nil {
		return nil, fmt.Errorf("reading the kinds: %w", err)
	}
	if config.Partitions < 1 || config.Placement == nil {
		return nil, fmt.Errorf("a cluster needs partitions and a placement")
	}
	if config.IdleSweep == 0 {
		config.IdleSweep = 10 * time.Second
	}
	config.Metrics.initialise(kinds)
	flight := make(map[string]chan struct{}, len(kinds))
	for name, kind := range kinds {
		flight[name] = make(chan struct{}, kind.InFlight)
	}
	return &Cluster{
		config:    config,
		kinds:     kinds,
		system:    actor.NewActorSystem(actor.WithLoggerFactory(quietLogger(config.Logger))),
		flight:    flight,
		residents: map[residentKey]*resident{},
	}, nil
}

// Run passivates idle activations until ctx ends, then stops all of them: each
// finishes the message it works on and what it has to save.
func (c *Cluster) Run(ctx context.Context) error {
	ticker := time.NewTicker(c.config.IdleSweep)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return c.stopAll()
		case now := <-ticker.C:
			c.passivateIdle(now)
		}
	}
}

// stopTime bounds how long all actors together may take to stop.
const stopTime = 10 * time.Second

func (c *Cluster) stopAll() error {
	c.closing.Store(true)
	c.mu.Lock()
	var all []*resident
	for _, r := range c.residents {
		all = append(all, r)
	}
	c.mu.Unlock()
	for _, r := range all {
		c.system.Root.Poison(r.pid)
	}
	deadline := time.After(stopTime)
	for _, r := range all {
		select {
		case <-r.gone:
		case <-deadline:
			return fmt.Errorf("stopping the actors: %d were asked, not all stopped in %s", len(all), stopTime)
		}
	}
	c.system.Shutdown()
	return nil
}

// Evict stops the activations of a partition, for the end of its ownership.
func (c *Cluster) Evict(partition int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, r := range c.residents {
		if kind := c.kinds[key.kind]; !kind.Stays && kind.partitionOf(key.identity, c.config.Partitions) == partition {
			c.system.Root.Poison(r.pid)
		}
	}
}

// passivateIdle asks the activations that were idle for their kind's limit to stop.
func (c *Cluster) passivateIdle(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, r := range c.residents {
		limit := c.kinds[key.kind].Idle
		if limit > 0 && now.UnixNano()-r.used.Load() > int64(limit) {
			c.config.Metrics.Passivate.WithLabelValues(key.kind).Inc()
			c.system.Root.Send(r.pid, &Passivate{})
		}
	}
}

// Resident returns how many activations of a kind are in memory.
func (c *Cluster) Resident(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for key := range c.residents {
		if key.kind == kind {
			n++
		}
	}
	return n
}

// activation returns the activation of an identity, made if there is none.
func (c *Cluster) activation(kind *Kind, identity string) (*resident, error) {
	if identity == "" {
		return nil, fmt.Errorf("kind %s: empty identity", kind.Name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Load() {
		return nil, ErrUnavailable
	}
	key := residentKey{kind.Name, identity}
	if r := c.residents[key]; r != nil {
		return r, nil
	}
	r := &resident{gone: make(chan struct{})}
	r.used.Store(time.Now().UnixNano()) //nolint:forbidigo // idleness is measured on the wall clock of the host
	props := actor.PropsFromProducer(
		func() actor.Actor { return kind.New(identity) },
		actor.WithMailbox(newBounceMailbox()),
		actor.WithReceiverMiddleware(
			recovering(kind.Name, c.config.Logger, c.config.Metrics),
			c.departure(key, r),
		),
		actor.WithSupervisor(actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective })),
	)
	r.pid = c.system.Root.Spawn(props)
	c.residents[key] = r
	c.config.Metrics.Resident.WithLabelValues(kind.Name).Inc()
	return r, nil
}

// departure takes an activation out of the directory once it has stopped, so
// that the next call makes a new one and never two live at a time.
func (c *Cluster) departure(key residentKey, r *resident) actor.ReceiverMiddleware {
	return func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(ctx actor.ReceiverContext, envelope *actor.MessageEnvelope) {
			next(ctx, envelope)
			if _, stopped := envelope.Message.(*actor.Stopped); !stopped {
				return
			}
			c.mu.Lock()
			if c.residents[key] == r {
				delete(c.residents, key)
			}
			c.mu.Unlock()
			c.config.Metrics.Resident.WithLabelValues(key.kind).Dec()
			close(r.gone)
		}
	}
}
