package grain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc/cluster"
	"svc/domain"
)

const (
	// IOTime bounds one load or save.
	IOTime = 10 * time.Second
	// awaitTime bounds the wait until a node knows and owns the state that it loads. It is shorter than the deadline of
	// callers, so that they receive an answer that allows a retry.
	awaitTime = 5 * time.Second
)

// Node holds the dependencies that the grains of one node share.
type Node struct {
	Store Entities
	// Await returns once this node knows the last state of an owner and is its only writer. cluster.ErrMoved means that
	// another node is the writer. Nil never waits.
	Await func(ctx context.Context, owner string) error
	// Workers runs the loads and saves.
	Workers *Workers
	Now     func() time.Time
	Logger  *slog.Logger

	health storeHealth
}

// With returns a node with another store for its grains. The health of that store is not inferred from its answers.
func (n *Node) With(store Entities) *Node {
	return &Node{Store: store, Await: n.Await, Workers: n.Workers, Now: n.Now, Logger: n.Logger}
}

// phase is the state of a grain between its first message and its end.
type phase int

const (
	cold phase = iota
	loading
	ready
	saving
)

// Grain is the shell of one activation. It handles one message after another; messages that arrive during a load or a
// save wait in order.
type Grain struct {
	kind, identity string
	core           core
	node           *Node
	idle           time.Duration

	phase   phase
	version domain.Version
	used    time.Time
	waiting []*cluster.Request
	// current is the request that is being saved; done receives the result of the save.
	current *cluster.Request
	pending Outcome[any]
	done    chan error
}

// core is a Core together with the table of its kind.
type core interface {
	restore(entities []domain.Entity) error
	apply(now time.Time, method string, payload []byte) (Outcome[any], error)
	// creates reports whether a message creates the actor. If so, there is nothing to load.
	creates(method string, payload []byte) bool
	needsStore(method string) bool
	saved(now time.Time)
}

// bound implements core for a kind.
type bound[S Core] struct {
	kind *Kind[S]
	core S
}

func (b bound[S]) restore(entities []domain.Entity) error { return b.core.Restore(entities) }

func (b bound[S]) apply(now time.Time, method string, payload []byte) (Outcome[any], error) {
	return b.kind.Apply(b.core, now, method, payload)
}

func (b bound[S]) creates(method string, payload []byte) bool {
	creator, ok := any(b.core).(Creator)
	return ok && creator.Creates(method, payload)
}

func (b bound[S]) needsStore(method string) bool { return b.kind.methods[method].needsStore }

func (b bound[S]) saved(now time.Time) {
	if observer, ok := any(b.core).(SaveObserver); ok {
		observer.Saved(now)
	}
}

// New returns the shell of an activation of a kind.
func New[S Core](node *Node, kind *Kind[S], identity string, core S) *Grain {
	return &Grain{kind: kind.name, identity: identity, core: bound[S]{kind, core}, node: node, idle: kind.idle}
}

// Identity returns the identity of the activation.
func (g *Grain) Identity() string { return g.identity }

// Touch postpones the time at which the activation counts as idle.
func (g *Grain) Touch() { g.used = g.node.Now() }

// Loaded reports whether the core holds the state.
func (g *Grain) Loaded() bool { return g.phase == ready || g.phase == saving }

// Load begins to load the state, unless it is loaded or being loaded.
func (g *Grain) Load(c actor.Context) {
	if g.phase == cold {
		g.startLoading(c)
	}
}

// loaded and saved bring the results of I/O into the mailbox.
type loaded struct {
	entities []domain.Entity
	err      error
}

type saved struct{ err error }

// Receive handles one message of the mailbox.
func (g *Grain) Receive(c actor.Context) {
	switch message := c.Message().(type) {
	case *cluster.Request:
		g.Touch()
		g.waiting = append(g.waiting, message)
	case *loaded:
		g.onLoaded(message)
	case *saved:
		g.onSaved(message)
	case *cluster.Passivate:
		g.onPassivate(c)
	case *actor.Stopping:
		g.onStopping()
		return
	default:
		return
	}
	g.advance(c)
}

// advance handles waiting requests until none is left or I/O is under way.
func (g *Grain) advance(c actor.Context) {
	for len(g.waiting) > 0 {
		switch g.phase {
		case cold:
			g.startLoading(c)
		case ready:
			request := g.waiting[0]
			g.waiting = g.waiting[1:]
			g.handle(c, request)
		case loading, saving:
			return
		}
	}
}

func (g *Grain) owner() string { return g.kind + "/" + g.identity }

// startLoading loads the stored state. It does not ask the store if the first request creates the actor.
func (g *Grain) startLoading(c actor.Context) {
	made, node, owner := g.made(), g.node, g.owner()
	if made && node.Await == nil {
		g.onLoaded(&loaded{})
		return
	}
	g.phase = loading
	root, self := c.ActorSystem().Root, c.Self()
	node.Workers.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, IOTime)
		defer cancel()
		result := new(loaded)
		if node.Await != nil {
			result.err = node.await(ctx, owner)
		}
		if result.err == nil && !made {
			result.entities, result.err = node.Store.Load(ctx, owner)
		}
		root.Send(self, result)
	})
}

// await calls Await with a deadline of awaitTime.
func (n *Node) await(ctx context.Context, owner string) error {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	return n.Await(ctx, owner)
}

// made reports whether the first waiting request creates the actor, so that there is nothing to load. It is false once
// a save was attempted, because the result of that save may be unknown.
func (g *Grain) made() bool {
	if len(g.waiting) == 0 || g.version != (domain.Version{}) {
		return false
	}
	first := g.waiting[0].Call
	return g.core.creates(first.GetMethod(), first.GetPayload())
}

func (g *Grain) onLoaded(result *loaded) {
	g.phase = cold
	err := result.err
	if err == nil {
		live := make([]domain.Entity, 0, len(result.entities))
		for _, entity := range result.entities {
			if entity.Version.Number() > g.version.Number() {
				g.version = entity.Version
			}
			if !entity.Deleted {
				live = append(live, entity)
			}
		}
		err = g.core.restore(live)
	}
	if err == nil {
		g.phase = ready
		return
	}
	moved := errors.Is(err, cluster.ErrMoved)
	if !moved {
		g.node.Logger.Error("loading an actor failed", "kind", g.kind, "error", err)
	}
	for _, request := range g.waiting {
		if moved {
			request.Bounce()
		} else {
			request.Answer(Failure(storeAway()))
		}
	}
	g.waiting = nil
}

// storeAway is the answer while the store cannot be reached.
func storeAway() error { return domain.Unavailable("The store", time.Second) }

// handle applies one request. It answers at once, or starts to save the writes.
func (g *Grain) handle(c actor.Context, request *cluster.Request) {
	defer abortOnPanic(request)
	if request.Abandoned() {
		request.Bounce()
		return
	}
	method, now := request.Call.GetMethod(), g.node.Now()
	if g.core.needsStore(method) && g.node.health.away(now) {
		request.Answer(Failure(storeAway()))
		return
	}
	result, err := g.execute(now, method, request.Call.GetPayload())
	switch {
	case err != nil:
		request.Answer(Failure(err))
	case len(result.Writes) == 0 && len(result.Wakeups) == 0:
		g.finish(request, result, result.Repeated)
	default:
		g.startSaving(c, request, result)
	}
}

// execute applies a method of the kind, or forgetMethod, which all kinds have.
func (g *Grain) execute(now time.Time, method string, payload []byte) (Outcome[any], error) {
	if method == forgetMethod {
		return g.forget(payload)
	}
	return g.core.apply(now, method, payload)
}

// abortOnPanic aborts a request if its execution panicked, and panics again. The request is no longer in the queue.
func abortOnPanic(request *cluster.Request) {
	if cause := recover(); cause != nil {
		request.Abort()
		panic(cause)
	}
}

func (g *Grain) finish(request *cluster.Request, result Outcome[any], saved bool) {
	defer abortOnPanic(request)
	if result.After != nil {
		result.After(g.version)
	}
	answer := Success(result.Answer)
	answer.Saved = saved
	request.Answer(answer)
}

func (g *Grain) startSaving(c actor.Context, request *cluster.Request, result Outcome[any]) {
	g.version = g.version.Next(request.Generation)
	entities, err := g.encode(result.Writes)
	var trail domain.Trail
	if err == nil {
		trail, err = g.trail(request.Call.GetTrail(), &result.Effects)
	}
	if err != nil {
		request.Answer(Failure(err))
		g.phase = cold
		return
	}
	g.phase, g.current, g.pending, g.done = saving, request, result, make(chan error, 1)
	root, self, done, wakeups := c.ActorSystem().Root, c.Self(), g.done, result.Wakeups
	g.node.Workers.Go(func(ctx context.Context) {
		err := g.save(ctx, entities, wakeups, trail)
		done <- err
		root.Send(self, &saved{err})
	})
}

// encode returns the entities of some writes, with the current version.
func (g *Grain) encode(writes []Write) ([]domain.Entity, error) {
	entities := make([]domain.Entity, 0, len(writes))
	for _, w := range writes {
		entity := domain.Entity{Owner: g.owner(), Kind: w.Kind, ID: w.ID, Version: g.version, Deleted: w.Value == nil}
		if w.Value != nil {
			payload, err := json.Marshal(w.Value)
			if err != nil {
				return nil, fmt.Errorf("encoding %s %s: %w", w.Kind, w.ID, err)
			}
			entity.Payload = payload
		}
		entities = append(entities, entity)
	}
	return entities, nil
}

// save stores entities outside the mailbox. It returns nil once they are durable.
func (g *Grain) save(ctx context.Context, entities []domain.Entity, wakeups []domain.Wakeup, trail domain.Trail) error {
	ctx, cancel := context.WithTimeout(ctx, IOTime)
	defer cancel()
	node := g.node
	node.health.begin(node.Now())
	err := node.Store.Put(ctx, entities, wakeups, trail)
	if errors.Is(err, domain.ErrBacklog) { // the backlog of one tenant does not mean that the store is away
		node.health.end(node.Now(), nil)
	} else {
		node.health.end(node.Now(), err)
	}
	return err
}

func (g *Grain) onSaved(result *saved) {
	request, pending := g.current, g.pending
	g.current, g.pending = nil, Outcome[any]{}
	if result.err != nil {
		// The write may or may not have happened, or another node is the owner. So the state is loaded again.
		answer := storeAway()
		if errors.Is(result.err, domain.ErrBacklog) {
			answer = result.err
		} else {
			g.node.Logger.Error("saving an actor failed", "kind", g.kind, "error", result.err)
		}
		g.phase = cold
		request.Answer(Failure(answer))
		return
	}
	g.phase = ready
	g.core.saved(g.node.Now())
	g.finish(request, pending, true)
}

func (g *Grain) onPassivate(c actor.Context) {
	if g.phase != loading && g.phase != saving && len(g.waiting) == 0 && g.node.Now().Sub(g.used) >= g.idle {
		c.Stop(c.Self())
	}
}

// onStopping waits for a save under way and answers its caller: a later activation must read the result of that save.
// It bounces the waiting requests, so that their callers try again elsewhere.
func (g *Grain) onStopping() {
	if g.phase == saving {
		g.onSaved(&saved{<-g.done})
	}
	for _, request := range g.waiting {
		request.Bounce()
	}
	g.waiting = nil
}
