package analytics

import (
	"strings"

	"svc/domain"
	"svc/domain/filter"
)

// MaxBreakdownPageSize is the size of the largest page of a breakdown (contract 33).
const MaxBreakdownPageSize = 100

// BreakdownQuery selects a page of the values of a dimension, ordered by visitors, the most first.
type BreakdownQuery struct {
	Scope
	Dimension filter.Dimension
	// Search selects the values that contain it, ignoring case; empty selects all.
	Search string
	// Masked says that the caller may not see e-mail-like values. Such values of custom properties are counted as one
	// masked value.
	Masked bool
	// Fields are the additional personal names of the application.
	Fields domain.PersonalFields
	After  *BreakdownKey
	Limit  int
}

// BreakdownKey is a value's place in the ranking.
type BreakdownKey struct {
	Visitors, Pageviews uint64
	Value               string
}

// BreakdownRow is one value of a dimension with the totals of its events. Events without a value of the dimension are
// in no row.
type BreakdownRow struct {
	Value string
	// Visitors and Sessions are sums over local days: each day counts the visitors and sessions with an event of the
	// value.
	Visitors, Pageviews, Sessions uint64
	// BounceRate is 0..1.
	BounceRate float64
	// Conversions is the number of goals that the row's visitors completed (contract 48).
	Conversions uint64
}

// Key returns the row's place in the ranking.
func (r *BreakdownRow) Key() BreakdownKey { return BreakdownKey{r.Visitors, r.Pageviews, r.Value} }

// Compare is negative if k ranks before other: by visitors and page views, the most first, then by the bytes of the
// value.
func (k BreakdownKey) Compare(other BreakdownKey) int {
	switch {
	case k.Visitors != other.Visitors:
		return compareDown(k.Visitors, other.Visitors)
	case k.Pageviews != other.Pageviews:
		return compareDown(k.Pageviews, other.Pageviews)
	}
	return strings.Compare(k.Value, other.Value)
}

func compareDown(a, b uint64) int {
	if a > b {
		return -1
	}
	return 1
}

// Breakdown is one page of the ranking; More says that another one follows.
type Breakdown struct {
	Rows   []BreakdownRow
	More   bool
	Capped bool
}
