package reports

import (
	"cmp"
	"slices"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/report"
)

// Known is this node's snapshot of all reports, in which the runner finds the reports that are due. NewKnown makes one.
type Known struct {
	reports grain.Snapshot[string, string, report.Report] // by id
}

// NewKnown returns an empty snapshot.
func NewKnown() *Known { return &Known{} }

// EntityKinds returns the kinds of the entities in the snapshot.
func (k *Known) EntityKinds() []string { return []string{entityReport} }

// PublishEntities publishes the reports of one application.
func (k *Known) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	for _, entity := range entities {
		if entity.Deleted {
			k.reports.Replace(entity.Version, entity.ID, nil)
			continue
		}
		if one := grain.DecodeOrSkip[report.Report](entity, skipped); one != nil {
			k.reports.Replace(entity.Version, entity.ID, map[string]report.Report{one.ID: *one})
		}
	}
}

// enabled returns the enabled reports, in the order of their applications.
func (k *Known) enabled() (list []report.Report) {
	for _, one := range k.reports.All() {
		if one.Enabled && len(one.Recipients) > 0 {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b report.Report) int {
		return cmp.Or(cmp.Compare(a.App.String(), b.App.String()), cmp.Compare(a.ID, b.ID))
	})
	return list
}
