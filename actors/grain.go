package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc"
	"svc/cluster"
	"svc/protos"
)

// Entities is where persistent actors keep what they own.
type Entities interface {
	// Load returns the last version of every entity of an owner. The deleted ones
	// are among them, for the next write must have a higher version than they.
	Load(ctx context.Context, owner string) ([]svc.Entity, error)
	// Put stores entities and wake-ups; they survive any crash once it returns. It looks at
	// svc.HoldOf right before it sends them.
	Put(ctx context.Context, entities []svc.Entity, wakeups []svc.Wakeup) error
}

// core is the pure part of a persistent kind: state and the rules over it,
// without clock, I/O or library.
type core interface {
	// restore rebuilds the state from the stored entities; none means new.
	restore(entities []svc.Entity) error
	// apply handles one message. It may change the state only together with the
	// writes of its outcome: where saving fails, the state is dropped.
	apply(now time.Time, method string, payload []byte) (outcome, error)
}

// maker is a core that is made under an identity which its maker has just drawn from
// chance, so that nothing can be stored of it.
type maker interface {
	// makes says whether a message makes it so.
	makes(method string, payload []byte) bool
}

// promiser is a core that answers some messages with a promise, behind which something
// will be saved.
type promiser interface {
	// promises says whether a message asks for one.
	promises(method string) bool
}

// saver is a core that wants to know when what it wrote is durable.
type saver interface{ saved(now time.Time) }

// outcome is what handling one message leads to.
type outcome struct {
	// answer is sent as JSON once the writes are durable.
	answer  any
	writes  []write
	wakeups []svc.Wakeup
	// after runs once the writes are durable, before the answer. It is told their
	// version.
	after func(svc.Version)
}

// write stores one entity; a nil value deletes it.
type write struct {
	kind, id string
	value    any
}

// phase is where a grain stands between its first message and its end.
type phase int

const (
	cold phase = iota
	loading
	ready
	saving
)

// ioTime bounds one load or save.
const ioTime = 10 * time.Second

// grain is the shell of one persistent activation. It handles one message after
// another; what arrives while it loads or saves waits in order.
type grain struct {
	kind, identity string
	core           core
	store          Entities
	reach          *reach
	logger         *slog.Logger
	now            func() time.Time
	idle           time.Duration
	// announce tells the other nodes of a change of entities that snapshots are made
	// of; nil where the kind has none.
	announce func(ctx context.Context, owner string) error

	phase   phase
	version svc.Version
	used    time.Time
	waiting []*cluster.Request
	// current is the request whose writes are being saved, done receives how the
	// save ended.
	current *cluster.Request
	pending outcome
	done    chan error
}

// loaded and saved bring the results of I/O back into the mailbox.
type loaded struct {
	entities []svc.Entity
	err      error
}

type saved struct{ err error }

// Receive handles one message of the mailbox.
func (g *grain) Receive(c actor.Context) {
	switch message := c.Message().(type) {
	case *cluster.Request:
		g.used = g.now()
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

// advance does what the phase allows until there is nothing to do or I/O is
// under way.
func (g *grain) advance(c actor.Context) {
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

func (g *grain) owner() string { return g.kind + "/" + g.identity }

// startLoading reads what is stored; where there can be nothing, it does not ask.
func (g *grain) startLoading(c actor.Context) {
	if g.made() {
		g.onLoaded(&loaded{})
		return
	}
	g.phase = loading
	root, self, owner := c.ActorSystem().Root, c.Self(), g.owner()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), ioTime)
		defer cancel()
		entities, err := g.store.Load(ctx, owner)
		root.Send(self, &loaded{entities, err})
	}()
}

// made says whether the first message makes what the actor is of. An actor that began to
// save before, and does not know how that ended, has a version.
func (g *grain) made() bool {
	m, ok := g.core.(maker)
	if !ok || len(g.waiting) == 0 || g.version != (svc.Version{}) {
		return false
	}
	first := g.waiting[0].Call
	return m.makes(first.GetMethod(), first.GetPayload())
}

func (g *grain) onLoaded(result *loaded) {
	g.phase = cold
	err := result.err
	if err == nil {
		live := make([]svc.Entity, 0, len(result.entities))
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
	g.logger.Error("loading an actor failed", "kind", g.kind, "error", err)
	for _, request := range g.waiting {
		request.Answer(failure(svc.Unavailable("The store", time.Second)))
	}
	g.waiting = nil
}

// handle applies one request and answers it, or starts to save what it wrote.
func (g *grain) handle(c actor.Context, request *cluster.Request) {
	defer abortOnPanic(request)
	if request.Abandoned() {
		request.Bounce()
		return
	}
	if p, ok := g.core.(promiser); ok && p.promises(request.Call.GetMethod()) && g.reach.away(g.now()) {
		request.Answer(failure(svc.Unavailable("The store", time.Second)))
		return
	}
	result, err := g.core.apply(g.now(), request.Call.GetMethod(), request.Call.GetPayload())
	switch {
	case err != nil:
		request.Answer(failure(err))
	case len(result.writes) == 0 && len(result.wakeups) == 0:
		g.finish(request, result)
	default:
		g.startSaving(c, request, result)
	}
}

// abortOnPanic ends a request, taken out of the queue before, whose execution
// panicked, and lets the panic go on.
func abortOnPanic(request *cluster.Request) {
	if cause := recover(); cause != nil {
		request.Abort()
		panic(cause)
	}
}

func (g *grain) finish(request *cluster.Request, result outcome) {
	defer abortOnPanic(request)
	if result.after != nil {
		result.after(g.version)
	}
	request.Answer(success(result.answer))
}

func (g *grain) startSaving(c actor.Context, request *cluster.Request, result outcome) {
	g.version = g.version.Next(request.Generation)
	entities := make([]svc.Entity, 0, len(result.writes))
	for _, w := range result.writes {
		entity := svc.Entity{Owner: g.owner(), Kind: w.kind, ID: w.id, Version: g.version, Deleted: w.value == nil}
		if w.value != nil {
			payload, err := json.Marshal(w.value)
			if err != nil {
				request.Answer(failure(fmt.Errorf("encoding %s %s: %w", w.kind, w.id, err)))
				g.phase = cold
				return
			}
			entity.Payload = payload
		}
		entities = append(entities, entity)
	}
	g.phase, g.current, g.pending, g.done = saving, request, result, make(chan error, 1)
	root, self, done, owner, announce := c.ActorSystem().Root, c.Self(), g.done, g.owner(), g.announce
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), ioTime)
		defer cancel()
		g.reach.begins(g.now())
		err := g.store.Put(svc.WithHold(ctx, request.Holds), entities, result.wakeups)
		g.reach.ends(g.now(), err)
		if err == nil {
			err = request.Fence(ctx)
		}
		if err == nil && announce != nil && shown(entities) {
			err = announce(ctx, owner)
		}
		done <- err
		root.Send(self, &saved{err})
	}()
}

func (g *grain) onSaved(result *saved) {
	request, pending := g.current, g.pending
	g.current, g.pending = nil, outcome{}
	if result.err != nil {
		// The write may or may not have happened, or another node may have become
		// the owner before it was durable. So the state is read again.
		g.logger.Error("saving an actor failed", "kind", g.kind, "error", result.err)
		g.phase = cold
		request.Answer(failure(svc.Unavailable("The store", time.Second)))
		return
	}
	g.phase = ready
	if s, ok := g.core.(saver); ok {
		s.saved(g.now())
	}
	g.finish(request, pending)
}

func (g *grain) onPassivate(c actor.Context) {
	if g.phase != loading && g.phase != saving && len(g.waiting) == 0 && g.now().Sub(g.used) >= g.idle {
		c.Stop(c.Self())
	}
}

// onStopping waits for a save under way, so that no later activation can read
// what this one is about to write, answers the one who asked for it, and sends
// everyone else elsewhere.
func (g *grain) onStopping() {
	if g.phase == saving {
		g.onSaved(&saved{<-g.done})
	}
	for _, request := range g.waiting {
		request.Bounce()
	}
	g.waiting = nil
}

// success encodes an answer.
func success(answer any) *protos.Answer {
	payload, err := json.Marshal(answer)
	if err != nil {
		return failure(fmt.Errorf("encoding the answer: %w", err))
	}
	return &protos.Answer{Payload: payload}
}
