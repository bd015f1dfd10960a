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

// toldLater is what one actor has to be told of stored blocks. It may be told again.
type toldLater struct {
	App         svc.AppRef      `json:"app,omitzero"`
	News        []svc.NewIssues `json:"news,omitempty"`
	Environment uint64          `json:"environment,omitempty"`
	Issue       uint64          `json:"issue,omitempty"`
	Hits        []laterHits     `json:"hits,omitempty"`
}

// laterHits are those of an issue in a block, or in that one and others after it.
type laterHits struct {
	Block uint64         `json:"block"`
	Hits  []svc.IssueHit `json:"hits"`
}

// target returns the kind and the identity of the actor.
func (t *toldLater) target() (kind, identity string) {
	if t.Issue != 0 {
		return kindIssue, issueIdentity(t.Environment, t.Issue)
	}
	return KindAlerting, t.App.String()
}

// merge adds what else is to be told to the same actor. An issue may have regressed with the first
// block and nobody heard of it, so that one stays by itself; later ones are taken together.
func (t *toldLater) merge(other toldLater) {
	t.News = append(t.News, other.News...)
	t.News = t.News[max(0, len(t.News)-maxToldLater):]
	for _, more := range other.Hits {
		switch len(t.Hits) {
		case 0, 1:
			if len(t.Hits) == 0 || t.Hits[0].Block != more.Block {
				t.Hits = append(t.Hits, more)
			}
		default:
			t.Hits[1].Hits = mergedHits(t.Hits[1].Hits, more.Hits)
		}
	}
}

// mergedHits returns the latest hit of each release, of at most maxToldLater.
func mergedHits(hits, more []svc.IssueHit) []svc.IssueHit {
	hits = slices.Clone(hits)
	for _, hit := range more {
		at := slices.IndexFunc(hits, func(known svc.IssueHit) bool {
			return known.Release == hit.Release && (known.Offset == nil) == (hit.Offset == nil)
		})
		if at < 0 {
			hits = append(hits, hit)
			continue
		}
		if hit.Moment.After(hits[at].Moment) {
			hits[at].Moment = hit.Moment
		}
		if hit.Offset != nil && *hit.Offset > *hits[at].Offset {
			hits[at].Offset = hit.Offset
		}
	}
	return hits[max(0, len(hits)-maxToldLater):]
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
	waiting map[string]*note
	// sink tells the actors; it is set by the sink.
	sink *Sink
}

// NewOutbox returns an empty outbox over a store.
func NewOutbox(store OutboxStore, logger *slog.Logger) *Outbox {
	return &Outbox{Store: store, Logger: logger, writing: make(chan struct{}, 1), waiting: map[string]*note{}}
}

// note is a toldLater that waits.
type note struct {
	toldLater
	id      string
	version svc.Version
	own     bool // written here
	// rest counts the rounds to pass over, rounds is how many that will be after the next failure.
	rest, rounds int
}

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

// put keeps what actors are to be told of a block; they are durable when it returns nil.
func (o *Outbox) put(ctx context.Context, generation int32, block uint64, late []toldLater) error {
	select {
	case o.writing <- struct{}{}:
		defer func() { <-o.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	next := make([]note, 0, len(late))
	entities := make([]svc.Entity, 0, len(late))
	o.mu.Lock()
	for _, t := range late {
		n := note{id: fmt.Sprint(block), own: true}
		if known := o.waiting[t.owner()]; known != nil {
			n = *known
			n.News, n.Hits = slices.Clone(n.News), slices.Clone(n.Hits)
			n.merge(t)
		} else {
			n.toldLater = t
		}
		n.version = n.version.Next(uint32(max(generation, 0)))
		next = append(next, n)
	}
	o.mu.Unlock()
	for i := range next {
		entity, err := next[i].entity()
		if err != nil {
			return err
		}
		entities = append(entities, entity)
	}
	if err := o.Store.Put(ctx, entities, nil); err != nil {
		return fmt.Errorf("keeping what actors are to be told: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range next {
		o.waiting[next[i].owner()] = &next[i]
	}
	return nil
}

func (n *note) entity() (svc.Entity, error) {
	payload, err := json.Marshal(n.toldLater)
	if err != nil {
		return svc.Entity{}, fmt.Errorf("encoding what an actor is told later: %w", err)
	}
	return svc.Entity{Owner: n.owner(), Kind: kindToldLater, ID: n.id, Version: n.version, Payload: payload}, nil
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
	slices.SortFunc(entities, func(x, y svc.Entity) int { return cmp.Compare(x.ID, y.ID) })
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, entity := range entities {
		told, err := decode[toldLater](entity)
		if err != nil || !strings.HasPrefix(entity.Owner, toldLaterOwner) {
			o.Logger.Error("what an actor was to be told cannot be read", "owner", entity.Owner, "error", err)
			continue
		}
		key := told.owner() + " " + entity.ID
		if own := o.waiting[told.owner()]; own != nil && own.id == entity.ID {
			continue
		}
		o.waiting[key] = &note{toldLater: told, id: entity.ID, version: entity.Version}
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
	for key, n := range o.due() {
		group.Go(func() error {
			err := contained(func() error { return o.deliver(ctx, key, n) })
			if err != nil {
				o.Logger.Warn("an actor cannot be told of a block", "actor", n.owner(), "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // what failed waits
}

// due returns copies of the notes to deliver now.
func (o *Outbox) due() map[string]note {
	o.mu.Lock()
	defer o.mu.Unlock()
	due := map[string]note{}
	for key, n := range o.waiting {
		kind, identity := n.target()
		if !n.own && !o.Owns(kind, identity) {
			continue
		}
		if n.rest > 0 {
			n.rest--
			continue
		}
		n.rounds = min(max(1, 2*n.rounds), maxRounds)
		n.rest = n.rounds
		due[key] = *n
	}
	return due
}

// deliver tells an actor and forgets the note, unless more was added to it meanwhile.
func (o *Outbox) deliver(ctx context.Context, key string, n note) error {
	patient, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	for _, hits := range n.Hits {
		if failed := o.sink.settleHits(patient, hits.Block, []issueHits{{environment: n.Environment, issue: n.Issue, hits: hits.Hits}}); len(failed) > 0 {
			return failed[0].err
		}
	}
	for _, news := range n.News {
		if err := o.sink.config.Alarms.NewIssues(patient, n.App, news); err != nil {
			return err
		}
	}
	select {
	case o.writing <- struct{}{}:
		defer func() { <-o.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	o.mu.Lock()
	now := o.waiting[key]
	changed := now == nil || now.version != n.version
	if changed && now != nil {
		now.rest = 0
	}
	o.mu.Unlock()
	if changed {
		return nil
	}
	entity, err := n.entity()
	if err != nil {
		return err
	}
	entity.Version, entity.Deleted, entity.Payload = n.version.Next(n.version.Generation), true, nil
	if err := o.Store.Put(ctx, []svc.Entity{entity}, nil); err != nil {
		return fmt.Errorf("forgetting what an actor was told: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, key)
	return nil
}
