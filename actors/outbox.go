package actors

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
	"svc/actors/attempt"
)

const (
	kindToldLater = "toldLater"
	// toldLaterOwner begins the owner of every toldLater; the actor that is to be told follows.
	toldLaterOwner = "toldLater/"
	// tellPatience is how long a block waits for an actor between its insert and its commit.
	tellPatience = time.Second
	// outboxEvery is the pause between two rounds of telling, maxRounds the most rounds for which an
	// actor that did not answer is left alone.
	outboxEvery = time.Second
	maxRounds   = 60
	// maxToldLater bounds what is kept for one actor; beyond it the oldest is given up.
	maxToldLater = 1000
)

// OutboxStore keeps what is told later.
type OutboxStore interface {
	Put(ctx context.Context, entities []svc.Entity, wakeups []svc.Wakeup) error
	LoadKind(ctx context.Context, kind string) ([]svc.Entity, error)
}

// toldLater is a message about a stored block that one actor has not received yet. It may be told again.
type toldLater struct {
	Block       uint64          `json:"block"`
	App         svc.AppRef      `json:"app,omitzero"`
	News        []svc.NewIssues `json:"news,omitempty"`
	Environment uint64          `json:"environment,omitempty"`
	Issue       uint64          `json:"issue,omitempty"`
	Hits        []svc.IssueHit  `json:"hits,omitempty"`
}

// target returns the kind and the identity of the actor.
func (t *toldLater) target() (kind, identity string) {
	if t.Issue != 0 {
		return kindIssue, issueIdentity(t.Environment, t.Issue)
	}
	return KindAlerting, t.App.String()
}

// Outbox has what actors were not told of a block in time, durably, and tells them later. One
// application's actor that does not answer delays nobody: while something waits for it, blocks leave
// what they bring here at once.
//
// The node that wrote it delivers it. When that node is gone, a new generation begins, and
// whoever hosts the actor then takes it over.
type Outbox struct {
	Store OutboxStore
	// Owns says whether this node hosts an actor.
	Owns   func(kind, identity string) bool
	Logger *slog.Logger

	// writing holds a token while the store is told, so that versions are written in their order.
	writing chan struct{}
	mu      sync.Mutex
	waiting map[string]*laterQueue // by the owner
	// sink tells the actors; it is set by the sink.
	sink *Sink
}

// NewOutbox returns an empty outbox over a store.
func NewOutbox(store OutboxStore, logger *slog.Logger) *Outbox {
	return &Outbox{Store: store, Logger: logger, writing: make(chan struct{}, 1), waiting: map[string]*laterQueue{}}
}

// laterQueue holds the messages that wait for one actor, in the order of the blocks.
type laterQueue struct {
	notes []note
	// rest counts the rounds to pass over, rounds is how many that will be after the next failure.
	rest, rounds int
}

// note is a toldLater that waits. What is stored of it never changes until it is forgotten, so it
// does not matter which node forgets it.
type note struct {
	toldLater
	version svc.Version
	own     bool // written here
}

// id names a note among those of its owner.
func (n *note) id() string { return fmt.Sprintf("%d-%d", n.Block, n.Environment) }

func (t *toldLater) owner() string {
	kind, identity := t.target()
	return toldLaterOwner + kind + "/" + identity
}

// has says whether something waits for an actor.
func (o *Outbox) has(t *toldLater) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waiting[t.owner()] != nil
}

// Len returns how many actors are to be told of something.
func (o *Outbox) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.waiting)
}

// put keeps what actors are to be told of a block; it is durable when it returns nil. Where more than
// maxToldLater blocks wait for an actor, the second is given up: the first may have changed the actor,
// which then says so once it is told again.
func (o *Outbox) put(ctx context.Context, generation int32, late []toldLater) error {
	release, err := o.write(ctx)
	if err != nil {
		return err
	}
	defer release()
	var entities []svc.Entity
	given := map[string]string{}
	for _, t := range late {
		n := note{toldLater: t, own: true}
		n.version = n.version.Next(uint32(max(generation, 0)))
		entity, err := n.entity()
		if err != nil {
			return err
		}
		entities = append(entities, entity)
		o.mu.Lock()
		if queue := o.waiting[t.owner()]; queue != nil && len(queue.notes) >= maxToldLater {
			oldest := queue.notes[1]
			entities = append(entities, oldest.forgotten())
			given[t.owner()] = oldest.id()
		}
		o.mu.Unlock()
	}
	if err := o.Store.Put(ctx, entities, nil); err != nil {
		return fmt.Errorf("keeping what actors are to be told: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for owner, id := range given {
		o.Logger.Error("an actor will not be told of a block: too many wait for it", "actor", owner, "note", id)
		o.remove(owner, id)
	}
	for _, t := range late {
		n := note{toldLater: t, own: true}
		n.version = n.version.Next(uint32(max(generation, 0)))
		o.add(n)
	}
	return nil
}

// write waits until nobody else writes.
func (o *Outbox) write(ctx context.Context) (release func(), err error) {
	select {
	case o.writing <- struct{}{}:
		return func() { <-o.writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// add puts a note in its place in memory, unless it is there; the caller holds the lock.
func (o *Outbox) add(n note) {
	queue := o.waiting[n.owner()]
	if queue == nil {
		queue = &laterQueue{}
		o.waiting[n.owner()] = queue
	}
	at := slices.IndexFunc(queue.notes, func(known note) bool { return known.id() == n.id() })
	if at >= 0 {
		queue.notes[at] = n
		return
	}
	queue.notes = append(queue.notes, n)
	slices.SortStableFunc(queue.notes, func(x, y note) int { return cmp.Compare(x.Block, y.Block) })
}

// remove takes a note out of memory; the caller holds the lock.
func (o *Outbox) remove(owner, id string) {
	queue := o.waiting[owner]
	if queue == nil {
		return
	}
	queue.notes = slices.DeleteFunc(queue.notes, func(n note) bool { return n.id() == id })
	if len(queue.notes) == 0 {
		delete(o.waiting, owner)
	}
}

func (n *note) entity() (svc.Entity, error) {
	payload, err := json.Marshal(n.toldLater)
	if err != nil {
		return svc.Entity{}, fmt.Errorf("encoding what an actor is told later: %w", err)
	}
	return svc.Entity{Owner: n.owner(), Kind: kindToldLater, ID: n.id(), Version: n.version, Payload: payload}, nil
}

// forgotten is the note once its actor was told.
func (n *note) forgotten() svc.Entity {
	return svc.Entity{Owner: n.owner(), Kind: kindToldLater, ID: n.id(), Version: n.version.Next(n.version.Generation), Deleted: true}
}

// load takes over what other nodes left, at the beginning of a generation.
func (o *Outbox) load(ctx context.Context) error {
	if o == nil {
		return nil
	}
	entities, err := o.Store.LoadKind(ctx, kindToldLater)
	if err != nil {
		return fmt.Errorf("reading what actors are to be told: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for owner, queue := range o.waiting {
		for _, n := range slices.Clone(queue.notes) {
			if !n.own {
				o.remove(owner, n.id())
			}
		}
	}
	for _, entity := range entities {
		told, err := decode[toldLater](entity)
		if err != nil || !strings.HasPrefix(entity.Owner, toldLaterOwner) {
			o.Logger.Error("what an actor was to be told cannot be read", "owner", entity.Owner, "error", err)
			continue
		}
		n := note{toldLater: told, version: entity.Version}
		if kind, identity := n.target(); !o.Owns(kind, identity) {
			continue
		}
		if queue := o.waiting[n.owner()]; queue != nil && slices.ContainsFunc(queue.notes, func(known note) bool { return known.id() == n.id() }) {
			continue
		}
		o.add(n)
	}
	return nil
}

// Run tells until ctx ends.
func (o *Outbox) Run(ctx context.Context) error {
	ticker := time.NewTicker(outboxEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			o.round(ctx)
		}
	}
}

// round tells every actor whose time has come.
func (o *Outbox) round(ctx context.Context) {
	var group errgroup.Group
	group.SetLimit(tellAtOnce)
	for owner, notes := range o.due() {
		group.Go(func() error {
			err := attempt.Contained(func() error { return o.deliver(ctx, notes) })
			if err != nil {
				o.Logger.Warn("an actor cannot be told of a block", "actor", owner, "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // what failed waits
}

// due returns the notes to deliver now, by their owner.
func (o *Outbox) due() map[string][]note {
	o.mu.Lock()
	defer o.mu.Unlock()
	due := map[string][]note{}
	for owner, queue := range o.waiting {
		if queue.rest > 0 {
			queue.rest--
			continue
		}
		queue.rounds = min(max(1, 2*queue.rounds), maxRounds)
		queue.rest = queue.rounds
		due[owner] = slices.Clone(queue.notes)
	}
	return due
}

// deliver tells an actor of one block after another, as long as it answers.
func (o *Outbox) deliver(ctx context.Context, notes []note) error {
	patient, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	for i := range notes {
		n := &notes[i]
		if len(n.Hits) > 0 {
			if failed := o.sink.settleHits(patient, n.Block, []issueHits{{environment: n.Environment, issue: n.Issue, hits: n.Hits}}); len(failed) > 0 {
				return failed[0].err
			}
		}
		for _, news := range n.News {
			if err := o.sink.config.Alarms.NewIssues(patient, n.App, news); err != nil {
				return err
			}
		}
		if err := o.forget(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// forget removes a note whose actor was told.
func (o *Outbox) forget(ctx context.Context, n *note) error {
	release, err := o.write(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := o.Store.Put(ctx, []svc.Entity{n.forgotten()}, nil); err != nil {
		return fmt.Errorf("forgetting what an actor was told: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remove(n.owner(), n.id())
	return nil
}
