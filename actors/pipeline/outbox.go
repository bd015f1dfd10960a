package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"svc/actors/attempt"
	"svc/domain"
)

// AnswerTime is how long a block waits for an actor or a look-up between its insert and its commit.
const AnswerTime = time.Second

const (
	// kindNote is the entity kind of notes. noteOwner is the prefix of their owner; the kind and the identity of the
	// actor follow.
	kindNote  = "toldLater"
	noteOwner = "toldLater/"
	// deliverAtOnce bounds the actors that receive notes at the same time. deliverTime bounds one delivery.
	deliverAtOnce = 64
	deliverTime   = 5 * time.Second
	// outboxEvery is the pause between two rounds of deliveries. maxRounds bounds the rounds for which an actor that
	// did not answer is skipped.
	outboxEvery = time.Second
	maxRounds   = 60
	// maxNotes bounds the notes for one actor; beyond it, the second oldest is dropped.
	maxNotes = 1000
)

// OutboxStore stores notes.
type OutboxStore interface {
	Put(ctx context.Context, entities []domain.Entity, wakeups []domain.Wakeup, trail domain.Trail) error
	LoadKind(ctx context.Context, kind string) ([]domain.Entity, error)
}

// Note is a message about a stored block that an actor did not take in time. It is delivered once the actor answers.
type Note struct {
	// Kind and Identity name the actor.
	Kind, Identity string
	// Block and Environment identify the note among the notes for the actor.
	Block, Environment uint64
	// Payload is encoded by the listener that left the note.
	Payload json.RawMessage

	// stored is the id under which the note was found in the store; empty for a new one.
	stored string
}

// owner is the owner of the note's entity.
func (n *Note) owner() string { return noteOwner + n.Kind + "/" + n.Identity }

// id identifies the note among the notes of its owner. It depends on the payload: a block that is handled again may
// leave a note with another payload, which must not replace the first. A stored note retains its id. A note that an
// earlier version stored under another hash may be left once more; it is delivered twice, which changes nothing.
func (n *Note) id() string {
	return cmp.Or(n.stored, fmt.Sprintf("%d-%d-%016x", n.Block, n.Environment, xxh3.Hash(n.Payload)))
}

// noteOf reads the note of an entity.
func noteOf(entity domain.Entity) (n Note, err error) {
	address, ours := strings.CutPrefix(entity.Owner, noteOwner)
	kind, identity, whole := strings.Cut(address, "/")
	if _, err := fmt.Sscanf(entity.ID, "%d-%d", &n.Block, &n.Environment); err != nil || !ours || !whole || !json.Valid(entity.Payload) {
		return n, fmt.Errorf("%w: %s of %s", errNote, entity.ID, entity.Owner)
	}
	n.Kind, n.Identity, n.Payload, n.stored = kind, identity, entity.Payload, entity.ID
	return n, nil
}

var errNote = errors.New("no note")

// Outbox stores messages about blocks that actors did not take in time, and delivers them later. An actor that
// does not answer delays no block: while a note waits for it, blocks leave further notes without asking.
//
// The node that wrote a note delivers it. When that node is gone, a new generation begins, and
// the node that hosts the actor then takes the note over.
type Outbox struct {
	Store OutboxStore
	// Owns reports whether this node hosts an actor.
	Owns   func(kind, identity string) bool
	Logger *slog.Logger

	// writing holds a token during a write to the store, so that versions are written in order.
	writing chan struct{}
	mu      sync.Mutex
	waiting map[string]*noteQueue // by owner
	// deliveries are the deliveries of the sink's listeners.
	deliveries map[string]Delivery
}

// NewOutbox returns an empty outbox with a store; owns reports whether this node hosts an actor.
func NewOutbox(store OutboxStore, owns func(kind, identity string) bool, logger *slog.Logger) *Outbox {
	return &Outbox{Store: store, Owns: owns, Logger: logger, writing: make(chan struct{}, 1), waiting: map[string]*noteQueue{}, deliveries: map[string]Delivery{}}
}

// noteQueue holds the notes that wait for one actor, in the order of the blocks.
type noteQueue struct {
	notes []waitingNote
	// rest counts the rounds that are still to be skipped; rounds is the number to skip after the next failure.
	rest, rounds int
}

// waitingNote is a note with its version in the store. Its stored form never changes until it is deleted, so any node
// may delete it.
type waitingNote struct {
	Note
	version domain.Version
	own     bool // written by this node
}

// Has reports whether a note waits for an actor. If so, a further note is left for it instead of
// asking it.
func (o *Outbox) Has(kind, identity string) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waiting[(&Note{Kind: kind, Identity: identity}).owner()] != nil
}

// Len returns the number of actors with waiting notes.
func (o *Outbox) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.waiting)
}

// put stores notes; they are durable when it returns nil. If more than maxNotes wait for an actor, the second is
// dropped: the first may have been handled already, and its repetition must reach the actor.
func (o *Outbox) put(ctx context.Context, generation int32, notes []Note) error {
	release, err := o.write(ctx)
	if err != nil {
		return err
	}
	defer release()
	var entities []domain.Entity
	given := map[string]string{}
	added := make([]waitingNote, len(notes))
	for i, note := range notes {
		n := waitingNote{Note: note, own: true}
		n.version = n.version.Next(uint32(max(generation, 0)))
		added[i] = n
		entities = append(entities, n.entity())
		o.mu.Lock()
		if queue := o.waiting[n.owner()]; queue != nil && len(queue.notes) >= maxNotes {
			oldest := queue.notes[1]
			entities = append(entities, oldest.deleted())
			given[n.owner()] = oldest.id()
		}
		o.mu.Unlock()
	}
	if err := o.Store.Put(ctx, entities, nil, domain.Trail{}); err != nil {
		return fmt.Errorf("keeping notes for actors: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for owner, id := range given {
		o.Logger.Error("an actor will not be told of a block: too many notes wait for it", "actor", owner, "note", id)
		o.remove(owner, id)
	}
	for _, n := range added {
		o.add(n)
	}
	return nil
}

// write waits until no other write is under way.
func (o *Outbox) write(ctx context.Context) (release func(), err error) {
	select {
	case o.writing <- struct{}{}:
		return func() { <-o.writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// add inserts a note in order into memory, unless it is there; the caller holds the lock.
func (o *Outbox) add(n waitingNote) {
	queue := o.waiting[n.owner()]
	if queue == nil {
		queue = &noteQueue{}
		o.waiting[n.owner()] = queue
	}
	at := slices.IndexFunc(queue.notes, func(known waitingNote) bool { return known.id() == n.id() })
	if at >= 0 {
		queue.notes[at] = n
		return
	}
	queue.notes = append(queue.notes, n)
	slices.SortStableFunc(queue.notes, func(x, y waitingNote) int { return cmp.Compare(x.Block, y.Block) })
}

// remove removes a note from memory; the caller holds the lock.
func (o *Outbox) remove(owner, id string) {
	queue := o.waiting[owner]
	if queue == nil {
		return
	}
	queue.notes = slices.DeleteFunc(queue.notes, func(n waitingNote) bool { return n.id() == id })
	if len(queue.notes) == 0 {
		delete(o.waiting, owner)
	}
}

// entity returns the stored form of a note.
func (n *waitingNote) entity() domain.Entity {
	return domain.Entity{Owner: n.owner(), Kind: kindNote, ID: n.id(), Version: n.version, Payload: n.Payload}
}

// deleted returns the tombstone that replaces the entity after the delivery.
func (n *waitingNote) deleted() domain.Entity {
	return domain.Entity{Owner: n.owner(), Kind: kindNote, ID: n.id(), Version: n.version.Next(n.version.Generation), Deleted: true}
}

// load takes over the notes that other nodes left, at the beginning of a generation. Actors that did not
// answer in the last one are asked again at once.
func (o *Outbox) load(ctx context.Context) error {
	if o == nil {
		return nil
	}
	entities, err := o.Store.LoadKind(ctx, kindNote)
	if err != nil {
		return fmt.Errorf("reading the notes for actors: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for owner, queue := range o.waiting {
		queue.rest, queue.rounds = 0, 0 // the actor may live on another node now
		for _, n := range slices.Clone(queue.notes) {
			if !n.own {
				o.remove(owner, n.id())
			}
		}
	}
	for _, entity := range entities {
		note, err := noteOf(entity)
		if err != nil {
			o.Logger.Error("a note for an actor cannot be read", "owner", entity.Owner, "error", err)
			continue
		}
		if !o.Owns(note.Kind, note.Identity) {
			continue
		}
		n := waitingNote{Note: note, version: entity.Version}
		if queue := o.waiting[n.owner()]; queue != nil && slices.ContainsFunc(queue.notes, func(known waitingNote) bool { return known.id() == n.id() }) {
			continue
		}
		o.add(n)
	}
	return nil
}

// Run delivers until ctx ends.
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

// round delivers the notes of every actor that is due.
func (o *Outbox) round(ctx context.Context) {
	var group errgroup.Group
	group.SetLimit(deliverAtOnce)
	for owner, notes := range o.due() {
		group.Go(func() error {
			err := attempt.Contained(func() error { return o.deliver(ctx, notes) })
			if err != nil {
				o.Logger.Warn("an actor cannot be told of a block", "actor", owner, "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // failed notes wait
}

// due returns the notes to deliver now, by owner.
func (o *Outbox) due() map[string][]waitingNote {
	o.mu.Lock()
	defer o.mu.Unlock()
	due := map[string][]waitingNote{}
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

// ErrUnreadable is the error of a note that cannot be delivered by any attempt.
var ErrUnreadable = errors.New("the note cannot be read")

// deliver delivers the notes for one actor, one block after another, as long as it answers. A note that cannot be read
// is skipped and stays in the store.
func (o *Outbox) deliver(ctx context.Context, notes []waitingNote) error {
	patient, cancel := context.WithTimeout(ctx, deliverTime)
	defer cancel()
	for i := range notes {
		n := &notes[i]
		tell := o.deliveries[n.Kind]
		if tell == nil {
			return fmt.Errorf("%w: nothing delivers notes for actors of the kind %s", ErrUnreadable, n.Kind)
		}
		err := tell(patient, n.Note)
		if errors.Is(err, ErrUnreadable) {
			o.Logger.Error("a note for an actor cannot be read", "owner", n.owner(), "note", n.id(), "error", err)
			o.mu.Lock()
			o.remove(n.owner(), n.id())
			o.mu.Unlock()
			continue
		}
		if err != nil {
			return err
		}
		if err := o.forget(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// forget deletes a delivered note.
func (o *Outbox) forget(ctx context.Context, n *waitingNote) error {
	release, err := o.write(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := o.Store.Put(ctx, []domain.Entity{n.deleted()}, nil, domain.Trail{}); err != nil {
		return fmt.Errorf("deleting a delivered note: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remove(n.owner(), n.id())
	return nil
}
