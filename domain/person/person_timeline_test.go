package person

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestATimelineIsPagedByInstants reads pages by the instants that earlier pages return. It covers entries of all kinds,
// and many of them have the same time.
func TestATimelineIsPagedByInstants(t *testing.T) {
	t.Parallel()
	var all []TimelineEntry
	for i, ms := range []int64{5000, 5000, 5000, 5000, 4001, 4000, 4000, 3000, 2000, 2000, 2000} {
		all = append(all, TimelineEntry{TimelineKey: TimelineKey{TsMs: ms, Kind: TimelineKinds()[i%3], ID: fmt.Sprint("id-", i)}})
	}
	slices.SortFunc(all, func(a, b TimelineEntry) int { return a.Compare(b.TimelineKey) })
	for _, limit := range []int{1, 2, 7, 100} {
		var got []TimelineKey
		query := TimelineQuery{Limit: limit}
		query.From(time.UnixMilli(6000))
		for pages := 0; pages < 20; pages++ {
			var found []TimelineEntry
			for _, kind := range TimelineKinds() { // like the store: a limited number of rows of each kind
				var rows []TimelineEntry
				for _, entry := range all {
					if entry.Kind == kind && entry.Compare(query.Before) > 0 {
						rows = append(rows, entry)
					}
				}
				found = append(found, rows[:min(len(rows), query.Rows())]...)
			}
			slices.SortFunc(found, func(a, b TimelineEntry) int { return a.Compare(b.TimelineKey) })
			page, more := query.Page(found)
			for _, entry := range page {
				got = append(got, entry.TimelineKey)
			}
			if !more {
				break
			}
			at, ok := TimelineMark(page[len(page)-1].TsMs, query.Passed(page))
			if !ok {
				t.Fatalf("limit %d: %v cannot be marked", limit, page)
			}
			query.From(at)
		}
		want := make([]TimelineKey, len(all))
		for i := range all {
			want[i] = all[i].TimelineKey
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
	}
	for before, want := range map[time.Duration]int64{0: 5000, 456 * time.Microsecond: 5001, 7: 5001} {
		query := TimelineQuery{Limit: 1}
		query.From(time.UnixMilli(5000).Add(before))
		if query.Before != (TimelineKey{TsMs: want, Kind: TimelineError}) || query.Skip != int(before)%1000 {
			t.Errorf("%v after the instant: %+v", before, query)
		}
	}
}
