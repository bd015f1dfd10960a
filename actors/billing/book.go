package billing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/revenue"
)

// The billing actor.
//
//	identity   org/app, the two slugs
//	rank       1
//	owns       the billing connectors of the application, and the position of each reading
//	persists   entities billingConnector and billingSync
//	woken by   calls, and the wake-up sync when the next step of a reading is due
//	limits     revenue.MaxBillingConnectors; one step of each connector at a time
//	stops      after ten minutes without a message
//
// Every change is published to the index of this node and announced to the others.
const kindBook = "billing"

// The kinds of its entities.
const (
	kindConnector = "billingConnector"
	kindSync      = "billingSync"
)

// wakeAfter is the time after a save at which the actor is woken if nothing else happens, as after a crash.
const wakeAfter = 30 * time.Second

// book is the core.
type book struct {
	identity   string
	connectors map[string]revenue.BillingConnector
	syncs      map[string]revenue.BillingSync
	publish    func(domain.Version, []revenue.ConnectedBilling)
}

type (
	putConnector struct {
		Connector revenue.BillingConnector `json:"connector"`
		// Before is the credential that the caller read; if it has changed since, the call is a conflict.
		Before []byte `json:"before"`
		// Reread discards the position of the reading, so that everything is read again.
		Reread bool `json:"reread"`
	}
	findConnector struct {
		ID string `json:"id"`
	}
	advanceSync struct {
		ID string `json:"id"`
		// Step is the step of the actor when the reading of Next began.
		Step uint64              `json:"step"`
		Next revenue.BillingSync `json:"next"`
	}
)

var bookKind = grain.NewKind[*book](kindBook, 1, 10*time.Minute)

// The methods of the billing actor.
var (
	bookList    = grain.On(bookKind, "list", (*book).onList, grain.Repeatable)
	bookPut     = grain.On(bookKind, "put", (*book).onPut)
	bookDelete  = grain.On(bookKind, "delete", (*book).onDelete)
	bookAdvance = grain.On(bookKind, "advance", (*book).onAdvance, grain.Repeatable)
	_           = grain.On(bookKind, "wake", (*book).onWake)
)

// Restore rebuilds the connectors and their positions.
func (b *book) Restore(entities []domain.Entity) error {
	b.connectors, b.syncs = map[string]revenue.BillingConnector{}, map[string]revenue.BillingSync{}
	for _, entity := range entities {
		switch entity.Kind {
		case kindConnector:
			one, err := grain.Decode[revenue.BillingConnector](entity)
			if err != nil {
				return err
			}
			b.connectors[one.ID] = one
		case kindSync:
			one, err := grain.Decode[revenue.BillingSync](entity)
			if err != nil {
				return err
			}
			b.syncs[entity.ID] = one
		}
	}
	return nil
}

// sorted returns the connectors by id.
func (b *book) sorted() []revenue.ConnectedBilling {
	all := make([]revenue.ConnectedBilling, 0, len(b.connectors))
	for _, id := range slices.Sorted(maps.Keys(b.connectors)) {
		all = append(all, revenue.ConnectedBilling{BillingConnector: b.connectors[id], Sync: b.syncs[id]})
	}
	return all
}

func (b *book) onList(time.Time, grain.None) (grain.Outcome[[]revenue.ConnectedBilling], error) {
	return grain.Answer(b.sorted()), nil
}

// onPut makes a connector, or replaces the one with its id.
func (b *book) onPut(now time.Time, m putConnector) (grain.Outcome[revenue.ConnectedBilling], error) {
	known, found := b.connectors[m.Connector.ID]
	switch {
	case found && !slices.Equal(known.Sealed, m.Before):
		return grain.Outcome[revenue.ConnectedBilling]{}, domain.Errorf(domain.CodeConflict, "The credential was replaced meanwhile; look at the connector and try again.")
	case !found && len(b.connectors) >= revenue.MaxBillingConnectors:
		return grain.Outcome[revenue.ConnectedBilling]{}, &domain.Error{Code: domain.CodeConflict, Reason: "limit_reached", Message: fmt.Sprintf("The application has %d billing connectors already; delete one first.", revenue.MaxBillingConnectors)}
	case found:
		m.Connector.Hook, m.Connector.CreatedAt = known.Hook, known.CreatedAt
	default:
		m.Connector.CreatedAt = now
	}
	m.Connector.UpdatedAt = now
	b.connectors[m.Connector.ID] = m.Connector
	before := b.syncs[m.Connector.ID]
	next := revenue.BillingSync{Step: before.Step + 1, Position: before.Position, Through: before.Through, LastSyncAt: before.LastSyncAt, Items: before.Items, NextAt: now}
	if m.Reread {
		next.Position, next.Through = nil, time.Time{}
	}
	b.syncs[m.Connector.ID] = next
	return grain.Outcome[revenue.ConnectedBilling]{
		Answer: revenue.ConnectedBilling{BillingConnector: m.Connector, Sync: next},
		Effects: grain.Effects{
			Writes:  []grain.Write{grain.Put(kindConnector, m.Connector.ID, m.Connector), grain.Put(kindSync, m.Connector.ID, next)},
			Wakeups: b.wakeups(now), After: b.changed,
		},
	}, nil
}

// onDelete removes a connector. The items that it read stay.
func (b *book) onDelete(now time.Time, m findConnector) (grain.Outcome[revenue.ConnectedBilling], error) {
	known, found := b.connectors[m.ID]
	if !found {
		return grain.Outcome[revenue.ConnectedBilling]{}, domain.NotFound("billing connector")
	}
	answer := revenue.ConnectedBilling{BillingConnector: known, Sync: b.syncs[m.ID]}
	delete(b.connectors, m.ID)
	delete(b.syncs, m.ID)
	return grain.Outcome[revenue.ConnectedBilling]{Answer: answer, Effects: grain.Effects{
		Writes: []grain.Write{grain.Delete(kindConnector, m.ID), grain.Delete(kindSync, m.ID)}, Wakeups: b.wakeups(now), After: b.changed,
	}}, nil
}

// onAdvance stores the position of a reading. A step that began at another state changes nothing: it was made before,
// or the connector was changed meanwhile.
func (b *book) onAdvance(now time.Time, m advanceSync) (grain.Outcome[grain.None], error) {
	if _, found := b.connectors[m.ID]; !found || b.syncs[m.ID].Step != m.Step {
		return grain.Outcome[grain.None]{}, nil
	}
	b.syncs[m.ID] = m.Next
	return grain.Outcome[grain.None]{Effects: grain.Effects{
		Writes: []grain.Write{grain.Put(kindSync, m.ID, m.Next)}, Wakeups: b.wakeups(now), After: b.changed,
	}}, nil
}

// onWake postpones the wake-up; the shell makes the steps that are due. A wake-up is stored with an entity and has its
// version.
func (b *book) onWake(now time.Time, _ string) (grain.Outcome[grain.None], error) {
	due := b.due()
	if len(due) == 0 {
		return grain.Outcome[grain.None]{}, nil // the change that left no connector to read has removed the wake-up
	}
	return grain.Outcome[grain.None]{Effects: grain.Effects{Writes: []grain.Write{grain.Put(kindSync, due[0].ID, due[0].Sync)}, Wakeups: b.wakeups(now), After: b.changed}}, nil
}

// due returns the connectors that are read, ordered by the time of their next step.
func (b *book) due() []revenue.ConnectedBilling {
	all := slices.DeleteFunc(b.sorted(), func(c revenue.ConnectedBilling) bool { return !c.Reads() })
	slices.SortStableFunc(all, func(x, y revenue.ConnectedBilling) int {
		return cmp.Or(x.Sync.NextAt.Compare(y.Sync.NextAt), cmp.Compare(x.ID, y.ID))
	})
	return all
}

// wakeups returns the wake-up at the time of the next step. A step that is due now is made at once; the wake-up repeats
// it after a crash.
func (b *book) wakeups(now time.Time) []domain.Wakeup {
	wakeup := domain.Wakeup{Kind: kindBook, Identity: b.identity, Name: "sync"}
	for _, c := range b.due() {
		at := c.Sync.NextAt
		if !at.After(now) {
			at = now.Add(wakeAfter)
		}
		if wakeup.Due.IsZero() || at.Before(wakeup.Due) {
			wakeup.Due = at
		}
	}
	return []domain.Wakeup{wakeup}
}

func (b *book) changed(version domain.Version) { b.publish(version, b.sorted()) }
