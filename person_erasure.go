package svc

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"time"
)

// Erasure is a request that a person be forgotten, and what became of it. It names no person: the numbers of
// the visitors serve to find their rows until these are removed, and to tell a visitor who comes back from
// the one who was erased.
type Erasure struct {
	ID                string   `json:"id"`
	App               AppRef   `json:"app"`
	Environment       string   `json:"environment"`
	EnvironmentNumber uint64   `json:"environmentNumber"`
	Visitors          []uint64 `json:"visitors"`
	// Life makes new numbers of those of the visitors for whatever arrives after the request.
	Life   uint64        `json:"life"`
	At     time.Time     `json:"at"`
	By     LedgerActor   `json:"by"`
	Status ErasureStatus `json:"status"`
	// Turn is the last turn of removing whose rows are counted in Removed; they are counted before they go.
	Turn      string        `json:"turn,omitempty"`
	Removed   ErasureCounts `json:"removed"`
	RemovedAt *time.Time    `json:"removedAt,omitempty"`
	EndedAt   *time.Time    `json:"endedAt,omitempty"`
}

// ErasureStatus says how far an erasure is.
type ErasureStatus string

// The statuses: nothing shows the person from the first one on; rows are gone with the second one; the last
// one follows when what arrived late is gone too.
const (
	ErasureHidden   ErasureStatus = "hidden"
	ErasureRemoved  ErasureStatus = "removed"
	ErasureComplete ErasureStatus = "complete"
)

// Values returns the statuses, for descriptions.
func (ErasureStatus) Values() []ErasureStatus {
	return []ErasureStatus{ErasureHidden, ErasureRemoved, ErasureComplete}
}

// ErasureCounts says how much was removed.
type ErasureCounts struct {
	Events      uint64 `json:"events"`
	Occurrences uint64 `json:"occurrences"`
	Visitors    uint64 `json:"visitors"`
	Texts       uint64 `json:"texts"`
}

// ErasureBound is how long after a request everything is removed, but for what the log and backups keep.
const ErasureBound = 24 * time.Hour

// MaxErasures is how many erasures of an application are listed; older ones that are complete keep only
// their numbers.
const MaxErasures = 10_000

// ErasedVisitors says which visitors were erased, and since when their ids stand for others. The zero value
// knows none.
type ErasedVisitors struct {
	// lives are those of a visitor by environment and number of the id, in the order of time.
	lives map[uint64]map[uint64][]erasedLife
	// first is the number of the id by environment and a later number.
	first map[[2]uint64]uint64
	// counts are how many lives there are by environment.
	counts map[uint64]int
}

type erasedLife struct {
	atMs int64
	life uint64
}

// NewErasedVisitors folds erasures, whose order does not count.
func NewErasedVisitors(erasures []Erasure) *ErasedVisitors {
	sorted := slices.SortedFunc(slices.Values(erasures), func(a, b Erasure) int { return a.At.Compare(b.At) })
	e := &ErasedVisitors{lives: map[uint64]map[uint64][]erasedLife{}, first: map[[2]uint64]uint64{}, counts: map[uint64]int{}}
	for _, one := range sorted {
		environment := one.EnvironmentNumber
		if e.lives[environment] == nil {
			e.lives[environment] = map[uint64][]erasedLife{}
		}
		for _, visitor := range one.Visitors {
			id := e.idOf(environment, visitor)
			e.counts[environment]++
			e.lives[environment][id] = append(e.lives[environment][id], erasedLife{one.At.UnixMilli(), one.Life})
			e.first[[2]uint64{environment, id ^ one.Life}] = id
		}
	}
	return e
}

// idOf returns the number of the id of a visitor.
func (e *ErasedVisitors) idOf(environment, visitor uint64) uint64 {
	if id, later := e.first[[2]uint64{environment, visitor}]; later {
		return id
	}
	return visitor
}

// IDs returns the numbers of the ids of visitors: an id that came back after an erasure stands for another visitor.
func (e *ErasedVisitors) IDs(environment uint64, visitors []uint64) []uint64 {
	ids := make([]uint64, len(visitors))
	for i, visitor := range visitors {
		ids[i] = visitor
		if e != nil {
			ids[i] = e.idOf(environment, visitor)
		}
	}
	return ids
}

// Count returns how many ids of an environment were erased, each as often as it was: it tells whether anybody was since.
func (e *ErasedVisitors) Count(environment uint64) int {
	if e == nil {
		return 0
	}
	return e.counts[environment]
}

// ErasedLife returns the life of the erasure that took an id that arrived at an instant; false where none did.
func (e *ErasedVisitors) ErasedLife(environment, id uint64, receivedMs int64) (life uint64, erased bool) {
	if e == nil {
		return 0, false
	}
	for _, one := range e.lives[environment][id] {
		if receivedMs <= one.atMs {
			return one.life, true
		}
	}
	return 0, false
}

// ErasedAt returns when an id was erased last, the zero time where it never was.
func (e *ErasedVisitors) ErasedAt(environment, id uint64) (at time.Time) {
	if e == nil {
		return at
	}
	for _, one := range e.lives[environment][id] {
		at = time.UnixMilli(one.atMs)
	}
	return at
}

// ErasedCustomer is what stands in billing for a customer who was erased: sums stay as they are, and without the life nobody can tell
// who it was.
func ErasedCustomer(life uint64, customer string) string {
	sum := sha256.Sum256([]byte(strconv.FormatUint(life, 10) + ":" + customer))
	return "erased_" + hex.EncodeToString(sum[:8])
}

// Any reports whether anybody of an environment was erased.
func (e *ErasedVisitors) Any(environment uint64) bool {
	return e != nil && len(e.lives[environment]) > 0
}

// Life returns what the number of an id is combined with, by exclusive or, for a row that arrived at an instant:
// 0 where nobody with the id was erased before.
func (e *ErasedVisitors) Life(environment, id uint64, receivedMs int64) (life uint64) {
	if e == nil {
		return 0
	}
	for _, one := range e.lives[environment][id] {
		if receivedMs > one.atMs {
			life = one.life
		}
	}
	return life
}
