package people

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/person"
)

// The erasures actor.
//
//	identity   org/app
//	rank       2
//	owns       the erasures of people of an application
//	persists   entity erasure
//	woken by   calls only
//	limits     one entity for each erasure, of the visitors of one person
//	stops      after half a minute without a message
//
// Every node has the erasures in a snapshot ([Erased]), which reads and intakes use.
const kindErasures = "erasures"

type erasures struct{ known map[string]person.Erasure }

type (
	beginErasure struct {
		Erasure person.Erasure `json:"erasure"`
	}
	endErasure struct {
		ID     string               `json:"id"`
		Status person.ErasureStatus `json:"status"`
	}
	countErasure struct {
		ID     string               `json:"id"`
		Turn   string               `json:"turn"`
		Counts person.ErasureCounts `json:"counts"`
	}
)

var erasuresKind = grain.NewKind[*erasures](kindErasures, 2, personIdle)

// The methods of the erasures actor.
var (
	erasuresBegin = grain.On(erasuresKind, "begin", (*erasures).onBegin)
	erasuresNote  = grain.On(erasuresKind, "note", (*erasures).onNote, grain.Repeatable)
	erasuresCount = grain.On(erasuresKind, "count", (*erasures).onCount, grain.Repeatable)
	erasuresList  = grain.On(erasuresKind, "list", (*erasures).onList, grain.Repeatable)
)

func (e *erasures) Restore(entities []domain.Entity) error {
	e.known = map[string]person.Erasure{}
	for _, entity := range entities {
		one, err := grain.Decode[person.Erasure](entity)
		if err != nil {
			return err
		}
		e.known[entity.ID] = one
	}
	return nil
}

// onBegin begins an erasure. If it has already begun, it stays as it is.
func (e *erasures) onBegin(_ time.Time, m beginErasure) (grain.Outcome[person.Erasure], error) {
	if known, begun := e.known[m.Erasure.ID]; begun {
		return grain.Again(known), nil
	}
	e.known[m.Erasure.ID] = m.Erasure
	return grain.Answer(m.Erasure, grain.Put("erasure", m.Erasure.ID, m.Erasure)), nil
}

// onCount adds the rows that a turn is about to remove. A turn that begins again after a crash finds fewer rows, but
// was already counted.
func (e *erasures) onCount(_ time.Time, m countErasure) (grain.Outcome[person.Erasure], error) {
	one, known := e.known[m.ID]
	if !known {
		return grain.Outcome[person.Erasure]{}, domain.NotFound("erasure")
	}
	if m.Turn <= one.Turn {
		return grain.Answer(one), nil
	}
	one.Turn = m.Turn
	one.Removed.Events += m.Counts.Events
	one.Removed.Occurrences += m.Counts.Occurrences
	e.known[m.ID] = one
	return grain.Answer(one, grain.Put("erasure", one.ID, one)), nil
}

// onNote records the progress of an erasure.
func (e *erasures) onNote(now time.Time, m endErasure) (grain.Outcome[person.Erasure], error) {
	one, known := e.known[m.ID]
	if !known {
		return grain.Outcome[person.Erasure]{}, domain.NotFound("erasure")
	}
	if slices.Index(one.Status.Values(), m.Status) <= slices.Index(one.Status.Values(), one.Status) {
		return grain.Answer(one), nil
	}
	one.Status = m.Status
	now = now.Truncate(time.Millisecond)
	if m.Status == person.ErasureRemoved {
		one.RemovedAt = &now
	} else {
		one.EndedAt = &now
	}
	e.known[m.ID] = one
	return grain.Answer(one, grain.Put("erasure", one.ID, one)), nil
}

// onList returns the erasures, the newest first.
func (e *erasures) onList(time.Time, grain.None) (grain.Outcome[[]person.Erasure], error) {
	return grain.Answer(slices.SortedFunc(maps.Values(e.known), func(a, b person.Erasure) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID))
	})), nil
}

// Begin begins an erasure: the person is hidden everywhere when it returns. It may be repeated with the same id.
func (p *People) Begin(ctx context.Context, erasure person.Erasure) (person.Erasure, error) {
	return erasuresBegin.Ask(ctx, p.Actors, erasure.App.String(), beginErasure{erasure})
}

// NoteErasure records the progress of an erasure. It may be repeated.
func (p *People) NoteErasure(ctx context.Context, app domain.AppRef, id string, status person.ErasureStatus) error {
	_, err := erasuresNote.Ask(ctx, p.Actors, app.String(), endErasure{id, status})
	return err
}

// CountErasure records the rows that a turn of an erasure is about to remove. It may be repeated: the first count of a
// turn counts.
func (p *People) CountErasure(ctx context.Context, app domain.AppRef, id, turn string, counts person.ErasureCounts) error {
	_, err := erasuresCount.Ask(ctx, p.Actors, app.String(), countErasure{id, turn, counts})
	return err
}

// Erasures returns the erasures of an application, the newest first.
func (p *People) Erasures(ctx context.Context, app domain.AppRef) ([]person.Erasure, error) {
	return erasuresList.Ask(ctx, p.Actors, app.String(), grain.None{})
}

// Forget removes the decisions of members about a visitor of an erased person. It may be repeated.
func (p *People) Forget(ctx context.Context, environment, visitor uint64) error {
	_, err := personForget.Ask(ctx, p.Actors, personIdentity(environment, visitor), grain.None{})
	return err
}
