package person

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"svc/domain"
)

// Erasure is a request to erase a person, and its progress. It names no person. The numbers of the visitors find their
// rows until these are removed, and distinguish a returning visitor from the erased one.
type Erasure struct {
	ID                string        `json:"id"`
	App               domain.AppRef `json:"app"`
	Environment       string        `json:"environment"`
	EnvironmentNumber uint64        `json:"environmentNumber"`
	Visitors          []uint64      `json:"visitors"`
	// Life turns the numbers of the visitors into new ones for everything that arrives after the request.
	Life   uint64             `json:"life"`
	At     time.Time          `json:"at"`
	By     domain.LedgerActor `json:"by"`
	Status ErasureStatus      `json:"status"`
	// Turn is the last removal pass that is counted in Removed. Rows are counted before they are removed.
	Turn      string        `json:"turn,omitempty"`
	Removed   ErasureCounts `json:"removed"`
	RemovedAt *time.Time    `json:"removedAt,omitempty"`
	EndedAt   *time.Time    `json:"endedAt,omitempty"`
}

// ErasureStatus is the progress of an erasure.
type ErasureStatus string

// The statuses. From the first one on, the person is hidden everywhere. With the second one, the rows are removed. The
// last one follows when late arrivals are removed too.
const (
	ErasureHidden   ErasureStatus = "hidden"
	ErasureRemoved  ErasureStatus = "removed"
	ErasureComplete ErasureStatus = "complete"
)

// Values lists the statuses.
func (ErasureStatus) Values() []ErasureStatus {
	return []ErasureStatus{ErasureHidden, ErasureRemoved, ErasureComplete}
}

// ErasureCounts counts the removed rows.
type ErasureCounts struct {
	Events      uint64 `json:"events"`
	Occurrences uint64 `json:"occurrences"`
	Visitors    uint64 `json:"visitors"`
	Texts       uint64 `json:"texts"`
}

// ErasureBound is the time after a request within which everything is removed, except from the log and backups.
const ErasureBound = 24 * time.Hour

// MaxErasures limits the listed erasures of an application; of older complete ones, only the numbers are retained.
const MaxErasures = 10_000

// ErasedVisitors knows the erased visitors, and since when their ids stand for new visitors. The zero value knows none.
type ErasedVisitors struct {
	// lives are the lives of a visitor by environment and number of the id, in order of time.
	lives map[uint64]map[uint64][]erasedLife
	// first is the number of the id by environment and a later number.
	first map[[2]uint64]uint64
	// counts are the numbers of lives by environment.
	counts map[uint64]int
}

type erasedLife struct {
	atMs int64
	life uint64
}

// NewErasedVisitors folds erasures in any order.
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

// idOf returns the number of a visitor's id.
func (e *ErasedVisitors) idOf(environment, visitor uint64) uint64 {
	if id, later := e.first[[2]uint64{environment, visitor}]; later {
		return id
	}
	return visitor
}

// IDs returns the numbers of the ids of visitors: an id that returned after an erasure stands for another visitor.
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

// Count returns the number of erasures of ids in an environment. A changed count shows that there were new erasures.
func (e *ErasedVisitors) Count(environment uint64) int {
	if e == nil {
		return 0
	}
	return e.counts[environment]
}

// ErasedLife returns the life of the erasure that covers an id that arrived at an instant. erased is false if no
// erasure covers it.
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

// ErasedAt returns when an id was last erased, the zero time if it never was.
func (e *ErasedVisitors) ErasedAt(environment, id uint64) (at time.Time) {
	if e == nil {
		return at
	}
	for _, one := range e.lives[environment][id] {
		at = time.UnixMilli(one.atMs)
	}
	return at
}

// ErasedCustomer replaces an erased customer in billing: sums are unchanged, and the customer cannot be identified
// without the life.
func ErasedCustomer(life uint64, customer string) string {
	sum := sha256.Sum256([]byte(strconv.FormatUint(life, 10) + ":" + customer))
	return "erased_" + hex.EncodeToString(sum[:8])
}

// Any reports whether an environment has erased visitors.
func (e *ErasedVisitors) Any(environment uint64) bool {
	return e != nil && len(e.lives[environment]) > 0
}

// Life returns the number that is combined with the number of an id by exclusive or, for a row that arrived at an
// instant. It is 0 if the id was not erased before.
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
