package people

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-faster/city"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/person"
)

// Erased is this node's snapshot of all erasures. Intakes use it for the rows that they make, and reads hide rows that
// are not removed yet. NewErased makes one.
type Erased struct {
	// Changed is called with the erasures that are not complete, and with the environments in which one began or
	// progressed. It may be nil and is set before the first entity.
	Changed func(open []person.Erasure, environments []uint64)

	visitors atomic.Pointer[person.ErasedVisitors]

	mu    sync.Mutex
	known map[string]person.Erasure // by id; guarded by mu
}

// NewErased returns an empty snapshot.
func NewErased() *Erased { return &Erased{known: map[string]person.Erasure{}} }

// Life returns the value that changes the number of an id, for a row that arrived at an instant; see
// person.ErasedVisitors.
func (e *Erased) Life(environment uint64, id string, receivedMs int64) uint64 {
	visitors := e.visitors.Load()
	if id == "" || !visitors.Any(environment) {
		return 0
	}
	return visitors.Life(environment, city.CH64([]byte(id)), receivedMs)
}

// Visitors returns the erased visitors; the value never changes.
func (e *Erased) Visitors() *person.ErasedVisitors { return e.visitors.Load() }

// Open returns the erasures that are not complete, the oldest first.
func (e *Erased) Open() []person.Erasure {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open()
}

// open returns the erasures that are not complete; the caller holds mu.
func (e *Erased) open() (open []person.Erasure) {
	for _, one := range e.known {
		if one.Status != person.ErasureComplete {
			open = append(open, one)
		}
	}
	slices.SortFunc(open, func(a, b person.Erasure) int { return a.At.Compare(b.At) })
	return open
}

// Environments returns the environments with an erasure of any person.
func (e *Erased) Environments() (environments []uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.known {
		environments = append(environments, one.EnvironmentNumber)
	}
	slices.Sort(environments)
	return slices.Compact(environments)
}

// EntityKinds returns the kinds of the entities that the snapshot is made of.
func (e *Erased) EntityKinds() []string { return []string{"erasure"} }

// PublishEntities publishes the erasures of one application.
func (e *Erased) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	e.mu.Lock()
	var environments []uint64
	for _, entity := range entities {
		if entity.Deleted {
			continue
		}
		one := grain.DecodeOrSkip[person.Erasure](entity, skipped)
		if one == nil || e.known[one.ID].Status == one.Status {
			continue
		}
		e.known[one.ID] = *one
		environments = append(environments, one.EnvironmentNumber)
	}
	if len(environments) > 0 {
		all := make([]person.Erasure, 0, len(e.known))
		for _, one := range e.known {
			all = append(all, one)
		}
		e.visitors.Store(person.NewErasedVisitors(all))
		if e.Changed != nil {
			e.Changed(e.open(), environments)
		}
	}
	e.mu.Unlock()
}
