package reports

import (
	"cmp"
	"slices"
	"sync"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/report"
)

// Known is this node's snapshot of all reports, in which the runner finds the reports that are due. NewKnown makes one.
type Known struct {
	mu    sync.Mutex
	known map[string]report.Report // by id; guarded by mu
}

// NewKnown returns an empty snapshot.
func NewKnown() *Known { return &Known{known: map[string]report.Report{}} }

// EntityKinds returns the kinds of the entities in the snapshot.
func (k *Known) EntityKinds() []string { return []string{entityReport} }

// PublishEntities publishes the reports of one application.
func (k *Known) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, entity := range entities {
		if entity.Deleted {
			delete(k.known, entity.ID)
			continue
		}
		if one := grain.DecodeOrSkip[report.Report](entity, skipped); one != nil {
			k.known[one.ID] = *one
		}
	}
}

// enabled returns the enabled reports, in the order of their applications.
func (k *Known) enabled() (list []report.Report) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, one := range k.known {
		if one.Enabled && len(one.Recipients) > 0 {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b report.Report) int {
		return cmp.Or(cmp.Compare(a.App.String(), b.App.String()), cmp.Compare(a.ID, b.ID))
	})
	return list
}
