package ingest

import (
	"svc/domain/event"
	"svc/domain/metric"
	"svc/domain/occurrence"
	"svc/domain/revenue"
)

// Rows are rows of all kinds that are stored in the same block, each kind in the order of creation.
type Rows struct {
	Events      []event.Row
	Occurrences []occurrence.Row
	Points      []metric.Row
	Billings    []revenue.BillingRow
	// Counts are the fates of the items, including the counts of tallies; Tallies identifies the tallies.
	Counts  UsageCounts
	Tallies []TallyMark
}

// Len returns the number of rows of all kinds, without counts and tallies.
func (r *Rows) Len() int { return len(r.Events) + len(r.Occurrences) + len(r.Points) + len(r.Billings) }

// Each calls yield for every row, kind after kind, with the kind and the place of the row's item among the items of its
// kind in the record.
func (r *Rows) Each(yield func(kind LetterKind, item int)) {
	for i := range r.Events {
		yield(LetterEvent, r.Events[i].Item)
	}
	for i := range r.Occurrences {
		yield(LetterError, r.Occurrences[i].Item)
	}
	for i := range r.Points {
		yield(LetterPoint, r.Points[i].Item)
	}
	for i := range r.Billings {
		yield(LetterBilling, r.Billings[i].Item)
	}
}

// Clear removes the rows and everything that they reference, and retains the memory for reuse.
func (r *Rows) Clear() {
	clear(r.Events)
	clear(r.Occurrences)
	clear(r.Points)
	clear(r.Billings)
	clear(r.Counts)
	clear(r.Tallies)
	r.Events, r.Occurrences, r.Points, r.Billings = r.Events[:0], r.Occurrences[:0], r.Points[:0], r.Billings[:0]
	r.Counts, r.Tallies = r.Counts[:0], r.Tallies[:0]
}
