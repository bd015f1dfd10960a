package destinations

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/go-faster/city"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"svc/actors/attempt"
	"svc/actors/grain"
	"svc/actors/pipeline"
	"svc/domain"
	"svc/domain/destination"
	"svc/domain/event"
	"svc/domain/ingest"
)

// Listener passes the conversions of each block to the queues of their destinations.
type Listener struct {
	pipeline.NopListener
	Index  *Index
	Actors grain.Caller
	// Applications returns all applications. Applications without the module forward nothing.
	Applications func() []domain.Application
	// Delayed reports whether notes wait for an actor. If so, the actor is not asked.
	Delayed func(kind, identity string) bool
	Logger  *slog.Logger
}

const (
	// offerItems and offerBytes bound the conversions of one message to a queue.
	offerItems = 128
	offerBytes = 512 << 10
	// offersAtOnce is the number of queues that receive conversions at a time.
	offersAtOnce = 16
)

// Deliveries returns the delivery of notes to the queues.
func (l *Listener) Deliveries() map[string]pipeline.Delivery {
	return map[string]pipeline.Delivery{kindQueue: func(ctx context.Context, note pipeline.Note) error {
		var m offer
		if err := json.Unmarshal(note.Payload, &m); err != nil {
			return fmt.Errorf("%w: %w", pipeline.ErrUnreadable, err)
		}
		_, err := queueOffer.Ask(ctx, l.Actors, note.Identity, m)
		return err
	}}
}

// Open begins to listen to a block.
func (l *Listener) Open() pipeline.BlockListener { return &forwardedBlock{listener: l} }

// forwardedBlock gathers the conversions of one block.
type forwardedBlock struct {
	pipeline.NopBlockListener
	listener *Listener
	// events counts the events of the block.
	events int
	found  []conversion
}

// conversion is one conversion of the block, with the index of its event in the block.
type conversion struct {
	destination.Conversion
	place       int
	hash        uint64
	app         domain.AppRef
	destination string
}

// conversionHash spreads the conversions of a block over its parts.
func conversionHash(eventID string) uint64 { return xxh3.HashString(eventID) }

// Saw gathers the conversions among rows. Bots do not convert.
func (b *forwardedBlock) Saw(_ int64, rows *ingest.Rows) {
	begun := b.events
	b.events += len(rows.Events)
	if b.listener.Index.environments.Len() == 0 {
		return
	}
	attempt.Each(len(rows.Events), func(n int) { b.sawEvent(&rows.Events[n], begun+n) }, func(_ int, cause any) {
		b.listener.Logger.Error("an event is stored that is not forwarded", "cause", cause)
	})
}

func (b *forwardedBlock) sawEvent(row *event.Row, place int) {
	set := b.listener.Index.find(row.EnvironmentNumber)
	if set == nil || row.IsBot {
		return
	}
	for _, one := range set.byEvent[row.Name] {
		if slices.Contains(row.Withheld, string(one.destination.Kind)) {
			continue
		}
		visitor := city.CH64([]byte(row.Visitor())) ^ row.Life
		made := destination.NewConversion(row, one.rule, one.environment, visitor).Clone()
		b.found = append(b.found, conversion{made, place, conversionHash(made.EventID), set.app, one.destination.ID})
	}
}

// Refused drops the conversions of events that are not stored.
func (b *forwardedBlock) Refused(kind ingest.LetterKind, rows []int) {
	if kind != ingest.LetterEvent {
		return
	}
	b.events -= len(rows)
	kept := b.found[:0]
	for _, one := range b.found {
		before, refused := slices.BinarySearch(rows, one.place)
		if !refused {
			one.place -= before
			kept = append(kept, one)
		}
	}
	b.found = kept
}

// Stored passes the conversions to the queues. Conversions that a queue does not take in time go to the outbox.
func (b *forwardedBlock) Stored(ctx context.Context, block *pipeline.StoredBlock) error {
	offers := b.offers(block.ID)
	if len(offers) == 0 {
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, pipeline.AnswerTime)
	defer cancel()
	notes := make([][]pipeline.Note, len(offers))
	problems := make([]error, len(offers))
	var group errgroup.Group
	group.SetLimit(offersAtOnce)
	n := 0
	for identity, some := range offers {
		at := n
		n++
		group.Go(func() error {
			notes[at], problems[at] = b.hand(patient, block, identity, some)
			return nil
		})
	}
	_ = group.Wait() // it never fails
	for _, err := range problems {
		if err != nil {
			return err
		}
	}
	return block.Later(ctx, slices.Concat(notes...))
}

// hand passes conversions to one queue, and returns the ones that it did not take as notes.
func (b *forwardedBlock) hand(ctx context.Context, block *pipeline.StoredBlock, identity string, offers []offer) (notes []pipeline.Note, err error) {
	delayed := b.listener.Delayed(kindQueue, identity)
	for _, one := range offers {
		if !delayed {
			_, err := queueOffer.Ask(ctx, b.listener.Actors, identity, one)
			if err == nil {
				continue
			}
			b.listener.Logger.Warn("a destination did not take conversions in time", "destination", identity, "error", err)
			delayed = true
		}
		payload, err := json.Marshal(one)
		if err != nil {
			return nil, fmt.Errorf("encoding conversions: %w", err)
		}
		notes = append(notes, pipeline.Note{Kind: kindQueue, Identity: identity, Block: block.ID, Payload: payload})
	}
	return notes, nil
}

// offers divides the conversions of a block by the identity of their queue. Each part has the conversions with a hash
// in a range. So if a block is handled again, its conversions are recognized, however they are divided.
func (b *forwardedBlock) offers(block uint64) map[string][]offer {
	if len(b.found) == 0 {
		return nil
	}
	on := map[domain.AppRef]bool{}
	for _, app := range b.listener.Applications() {
		on[app.Ref()] = slices.Contains(app.Modules, domain.ModuleDestinations)
	}
	byQueue := map[string][]conversion{}
	for _, one := range b.found {
		if on[one.app] {
			identity := queueIdentity(one.app, one.destination)
			byQueue[identity] = append(byQueue[identity], one)
		}
	}
	offers := map[string][]offer{}
	for identity, found := range byQueue {
		slices.SortFunc(found, func(x, y conversion) int { return cmp.Compare(x.hash, y.hash) })
		offers[identity] = parts(block, found)
	}
	return offers
}

// parts divides sorted conversions into messages. Equal hashes stay together.
func parts(block uint64, found []conversion) (offers []offer) {
	open, size := offer{blockPart: blockPart{Block: block}}, 0
	for i := range found {
		one := &found[i]
		if (len(open.Items) >= offerItems || size >= offerBytes) && one.hash != found[i-1].hash {
			open.To = one.hash
			offers = append(offers, open)
			open, size = offer{blockPart: blockPart{Block: block, From: one.hash}}, 0
		}
		open.Items = append(open.Items, one.Conversion)
		size += len(one.Properties) + len(one.Context.URL) + 512
	}
	return append(offers, open)
}

// queueIdentity is the identity of a destination's queue.
func queueIdentity(ref domain.AppRef, id string) string { return ref.String() + "/" + id }
