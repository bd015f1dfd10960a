package destinations

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/destination"
)

// The destinations actor.
//
//	identity   org/app, the two slugs
//	rank       1
//	owns       the destinations of the application
//	persists   entities destination
//	woken by   calls only
//	limits     destination.MaxDestinations destinations
//	stops      after ten minutes without a message
//
// Every change is published to the index of this node and announced to the others before it is answered.
const kindBook = "destinations"

// kindDestination is the kind of its entities.
const kindDestination = "destination"

type book struct {
	destinations map[string]destination.Destination
	publish      func(domain.Version, []destination.Destination)
}

type (
	findDestination struct {
		ID string `json:"id"`
	}
	changeDestination struct {
		ID    string            `json:"id"`
		Patch destination.Patch `json:"patch"`
		// Environments are the environments of the application. A node of an earlier version leaves out their numbers.
		Environments []domain.Environment `json:"environments"`
	}
	sealDestination struct {
		ID     string `json:"id"`
		Sealed []byte `json:"sealed"`
		// Before is the credential that the caller read; if it has changed since, the call is a conflict.
		Before []byte `json:"before"`
	}
)

var bookKind = grain.NewKind[*book](kindBook, 1, 10*time.Minute)

// The methods of the destinations actor.
var (
	bookList   = grain.On(bookKind, "list", (*book).onList, grain.Repeatable)
	bookCreate = grain.On(bookKind, "create", (*book).onCreate)
	bookChange = grain.On(bookKind, "change", (*book).onChange)
	bookSeal   = grain.On(bookKind, "seal", (*book).onSeal)
	bookDelete = grain.On(bookKind, "delete", (*book).onDelete)
)

// Kinds returns the kinds of this package for the actors of a node.
func Kinds(node *grain.Node, ports *Ports) []cluster.Kind {
	return []cluster.Kind{
		bookKind.Row(node, func(identity string) *book {
			return &book{publish: func(version domain.Version, destinations []destination.Destination) {
				ports.Index.Publish(version, refOf(identity), destinations)
			}}
		}),
		dispatcherKind(node, ports),
	}
}

func (b *book) Restore(entities []domain.Entity) error {
	var err error
	b.destinations, err = grain.DecodeAll[destination.Destination](entities)
	return err
}

func (b *book) sorted() []destination.Destination {
	return slices.SortedFunc(maps.Values(b.destinations), func(x, y destination.Destination) int { return cmp.Compare(x.ID, y.ID) })
}

func (b *book) onList(time.Time, grain.None) (grain.Outcome[[]destination.Destination], error) {
	return grain.Answer(b.sorted()), nil
}

// onCreate adds a destination that the client has validated.
func (b *book) onCreate(_ time.Time, d destination.Destination) (grain.Outcome[destination.Destination], error) {
	if known, found := b.destinations[d.ID]; found {
		return grain.Again(known), nil
	}
	if len(b.destinations) >= destination.MaxDestinations {
		return grain.Outcome[destination.Destination]{}, &domain.Error{Code: domain.CodeConflict, Reason: "limit_reached", Message: fmt.Sprintf("The application has %d destinations already; delete one first.", destination.MaxDestinations)}
	}
	return b.put(d), nil
}

// onChange applies a patch.
func (b *book) onChange(now time.Time, m changeDestination) (grain.Outcome[destination.Destination], error) {
	d, found := b.destinations[m.ID]
	if !found {
		return grain.Outcome[destination.Destination]{}, domain.NotFound("destination")
	}
	d.Spec = d.With(m.Patch)
	d.Normalize()
	d.Numbers = numbersOf(d.Environments, m.Environments)
	if slices.Contains(d.Numbers, 0) {
		return grain.Outcome[destination.Destination]{}, domain.Unavailable("The change", time.Second)
	}
	d.UpdatedAt = now
	return b.put(d), nil
}

// numbersOf returns the numbers of environments in the order of their slugs, 0 for an unknown one.
func numbersOf(slugs []string, environments []domain.Environment) []uint64 {
	numbers := make([]uint64, len(slugs))
	for i, slug := range slugs {
		at := slices.IndexFunc(environments, func(e domain.Environment) bool { return e.Slug == slug })
		if at >= 0 {
			numbers[i] = environments[at].Number
		}
	}
	return numbers
}

// onSeal replaces the credential of a destination.
func (b *book) onSeal(now time.Time, m sealDestination) (grain.Outcome[destination.Destination], error) {
	d, found := b.destinations[m.ID]
	switch {
	case !found:
		return grain.Outcome[destination.Destination]{}, domain.NotFound("destination")
	case !slices.Equal(d.Sealed, m.Before):
		return grain.Outcome[destination.Destination]{}, domain.Errorf(domain.CodeConflict, "The credential was replaced meanwhile; look at the destination and try again.")
	}
	d.Sealed, d.UpdatedAt = m.Sealed, now
	return b.put(d), nil
}

func (b *book) onDelete(_ time.Time, m findDestination) (grain.Outcome[grain.None], error) {
	if _, found := b.destinations[m.ID]; !found {
		return grain.Outcome[grain.None]{}, domain.NotFound("destination")
	}
	delete(b.destinations, m.ID)
	return grain.Outcome[grain.None]{Effects: grain.Effects{Writes: []grain.Write{grain.Delete(kindDestination, m.ID)}, After: b.changed}}, nil
}

// put stores a destination, and publishes all destinations once that is durable.
func (b *book) put(d destination.Destination) grain.Outcome[destination.Destination] {
	b.destinations[d.ID] = d
	return grain.Outcome[destination.Destination]{Answer: d, Effects: grain.Effects{Writes: []grain.Write{grain.Put(kindDestination, d.ID, d)}, After: b.changed}}
}

func (b *book) changed(version domain.Version) { b.publish(version, b.sorted()) }
