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

// Config configures a cluster.
type Config struct {
	// Kinds returns the kinds of the cluster. It may also pass the cluster to other parts of the program, but must not
	// call the cluster before New returns.
	Kinds      func(c *Cluster) ([]Kind, error)
	Partitions int
	Placement  Placement
	// Wire and Directory reach the nodes that own the other partitions. Without them this node is alone.
	Wire      Wire
	Directory Directory
	// Fence returns nil if the coordinator of the log names a generation as the current one after the call, and
	// ErrMoved if it does not. If Fence is nil, no other node can own anything.
	Fence func(ctx context.Context, generation uint32) error
	// Unsettled reports whether the coordinator may end a generation at any time because a rebalance is under way.
	// Every answer is then fenced. Nil means never.
	Unsettled func(generation uint32) bool
	// System is the actor system. If it is nil, New creates one.
	System  *actor.ActorSystem
	Logger  *slog.Logger
	Metrics *Metrics
	// IdleSweep is the pause between two checks for idle activations. Zero means 10 s.
	IdleSweep time.Duration
}

// Cluster hosts the activations of this node and reaches the activations of other nodes.
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
	// used is the time of the last message, in nanoseconds since the Unix epoch.
	used atomic.Int64
	// gone is closed when the actor has stopped.
	gone chan struct{}
	// evicted means that the ownership of the partition has ended. It is guarded by the cluster's mutex.
	evicted bool
}

// New checks the table of kinds and returns a cluster without activations.
func New(config Config) (*Cluster, error) {
	if config.Partitions < 1 || config.Placement == nil || config.Kinds == nil {
		return nil, fmt.Errorf("a cluster needs kinds, partitions and a placement")
	}
	if (config.Wire == nil) != (config.Directory == nil) {
		return nil, fmt.Errorf("a cluster of several nodes needs a wire and a directory")
	}
	if config.IdleSweep == 0 {
		config.IdleSweep = 10 * time.Second
	}
	c := &Cluster{config: config, system: config.System, residents: map[residentKey]*resident{}}
	if err := c.register(config.Kinds); err != nil {
		return nil, err
	}
	if c.system == nil {
		c.system = NewSystem(config.Logger)
	}
	// A message that reaches no actor is bounced, so that its sender does not wait.
	c.system.EventStream.Subscribe(func(event any) {
		if letter, ok := event.(*actor.DeadLetterEvent); ok {
			bounce(letter.Message)
		}
	})
	if config.Wire != nil {
		config.Wire.Serve(c.answerRemote)
	}
	return c, nil
}

// register creates the kinds and adds them to the table.
func (c *Cluster) register(kindsOf func(c *Cluster) ([]Kind, error)) error {
	kinds, err := kindsOf(c)
	if err != nil {
		return err
	}
	if c.kinds, err = indexKinds(kinds); err != nil {
		return fmt.Errorf("reading the kinds: %w", err)
	}
	c.config.Metrics.initialise(c.kinds)
	c.flight = map[string]chan struct{}{}
	for name, kind := range c.kinds {
		c.flight[name] = make(chan struct{}, kind.InFlight)
	}
	return nil
}

// NewSystem returns an actor system that logs no message contents.
func NewSystem(logger *slog.Logger) *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(quietLogger(logger)))
}

// Run passivates idle activations until ctx ends, then stops all of them. Each activation finishes its current message
// and its pending saves.
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

// stopTime limits how long the stop of all actors together may take.
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
	if c.config.System == nil {
		c.system.Shutdown()
	}
	return nil
}

// Evict stops the activations of a partition at the end of its ownership. Activations of kinds that stay receive
// Released instead.
func (c *Cluster) Evict(partition int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, r := range c.residents {
		kind := c.kinds[key.kind]
		if kind.partitionOf(key.identity, c.config.Partitions) != partition {
			continue
		}
		if kind.Stays {
			c.system.Root.Send(r.pid, &Released{})
			continue
		}
		r.evicted = true
		c.system.Root.Poison(r.pid)
	}
}

// Vacated returns once the evicted activations of a partition have stopped.
func (c *Cluster) Vacated(ctx context.Context, partition int) error {
	var leaving []*resident
	c.mu.Lock()
	for key, r := range c.residents {
		if r.evicted && c.kinds[key.kind].partitionOf(key.identity, c.config.Partitions) == partition {
			leaving = append(leaving, r)
		}
	}
	c.mu.Unlock()
	for _, r := range leaving {
		select {
		case <-r.gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// PartitionOf returns the partition of an identity.
func (c *Cluster) PartitionOf(kindName, identity string) int {
	kind := c.kinds[kindName]
	if kind == nil {
		return HashPartition(kindName+"/"+identity, c.config.Partitions)
	}
	return kind.partitionOf(identity, c.config.Partitions)
}

// passivateIdle asks activations to stop that were idle for longer than their kind's limit.
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

// Resident returns the number of activations of a kind in memory.
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

// owned returns the generation of the ownership of an identity's partition, and reports whether this node owns it now.
func (c *Cluster) owned(kind *Kind, identity string) (generation uint32, owned bool) {
	return c.config.Placement.Owned(kind.partitionOf(identity, c.config.Partitions))
}

// Owns reports whether this node owns an identity now.
func (c *Cluster) Owns(kindName, identity string) bool {
	kind := c.kinds[kindName]
	if kind == nil {
		return false
	}
	_, owned := c.owned(kind, identity)
	return owned
}

// activation returns the activation of an identity and the generation in which the node owns it, and creates a missing
// activation. It reads the ownership under the lock that Evict takes, so no activation that is created after an
// eviction outlives it.
func (c *Cluster) activation(kind *Kind, identity string) (r *resident, generation uint32, err error) {
	if identity == "" {
		return nil, 0, fmt.Errorf("kind %s: empty identity", kind.Name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Load() {
		return nil, 0, ErrUnavailable
	}
	generation, owned := c.owned(kind, identity)
	if !owned {
		return nil, 0, ErrMoved
	}
	key := residentKey{kind.Name, identity}
	r = c.residents[key]
	if r == nil {
		r = c.activate(kind, key)
	}
	r.used.Store(time.Now().UnixNano()) //nolint:forbidigo // idleness is measured on the wall clock of the host
	return r, generation, nil
}

// activate creates an activation. The caller holds the lock.
func (c *Cluster) activate(kind *Kind, key residentKey) *resident {
	r := &resident{gone: make(chan struct{})}
	props := actor.PropsFromProducer(
		func() actor.Actor { return kind.New(key.identity) },
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
	return r
}

// resides reports whether an activation is in memory and was not evicted.
func (c *Cluster) resides(kind *Kind, identity string, r *resident) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.residents[residentKey{kind.Name, identity}] == r && !r.evicted
}

// departure removes an activation from the table once it has stopped. The next call then creates a new one, and two
// never live at the same time.
func (c *Cluster) departure(key residentKey, r *resident) actor.ReceiverMiddleware {
	return func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(ctx actor.ReceiverContext, envelope *actor.MessageEnvelope) {
			if _, stopped := envelope.Message.(*actor.Stopped); stopped {
				// deferred, so that it also runs if the actor panics on its last message
				defer c.depart(key, r)
			}
			next(ctx, envelope)
		}
	}
}

func (c *Cluster) depart(key residentKey, r *resident) {
	c.mu.Lock()
	if c.residents[key] == r {
		delete(c.residents, key)
	}
	c.mu.Unlock()
	c.config.Metrics.Resident.WithLabelValues(key.kind).Dec()
	close(r.gone)
}
