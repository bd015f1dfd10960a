package people_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/occurrence"
	"svc/domain/person"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/people"
)

// TestATimelineIsPagedByInstants reads events, notes and errors in pages, by the instants that earlier pages return.
// Many of them have the same time.
func TestATimelineIsPagedByInstants(t *testing.T) {
	db := open(t)
	ada, at := people.VisitorNumber("ada"), time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	owner := people.PersonOwner(environment, ada)
	block, notes, want := db.blocks.NewBlock(), []domain.Entity{}, []person.TimelineKey{}
	for n := range 24 {
		ts := at.Add(time.Duration(n/9) * time.Millisecond)
		key := person.TimelineKey{TsMs: ts.UnixMilli(), Kind: person.TimelineKinds()[n%3], ID: fmt.Sprintf("id-%02d", n)}
		switch key.Kind {
		case person.TimelineEvent:
			block.Append(clickhousetest.Row(environment, ts, key.ID, "ada", "s"))
		case person.TimelineActivity:
			payload := fmt.Appendf(nil, `{"id":%q,"kind":"note","at":%q,"text":"hello"}`, key.ID, ts.Format(time.RFC3339Nano))
			notes = append(notes, domain.Entity{Owner: owner, Kind: "activity", ID: key.ID, Payload: payload})
		case person.TimelineError:
			block.AppendOccurrence(&occurrence.Row{
				Occurrence:        occurrence.Occurrence{ID: key.ID, Ts: ts, ReceivedAt: ts, DistinctID: "ada", Name: "Broken", Level: occurrence.LevelError},
				EnvironmentNumber: environment, Issue: 7, Fingerprint: "f", RetentionDays: 365,
				FramesJSON: []byte("[]"), BreadcrumbsJSON: []byte("[]"), TagsJSON: []byte("{}"), DetailsJSON: []byte("{}"),
			})
		}
		want = append(want, key)
	}
	if err := db.blocks.Insert(clickhousetest.Deadline(t), "block", 1, block); err != nil {
		t.Fatal(err)
	}
	if err := db.state.Put(clickhousetest.Deadline(t), notes, nil, domain.Trail{}); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(want, func(a, b person.TimelineKey) int { return (&person.TimelineEntry{TimelineKey: a}).Compare(b) })
	for _, limit := range []int{1, 7} {
		var got []person.TimelineKey
		query := person.TimelineQuery{Environment: domain.Environment{Number: environment}, Visitor: ada, Kinds: person.TimelineKinds(), Limit: limit}
		query.From(at.Add(time.Hour))
		for more := true; more && len(got) <= len(want); {
			var page []person.TimelineEntry
			var err error
			if page, more, err = db.Timeline(clickhousetest.Deadline(t), query); err != nil || len(page) == 0 {
				t.Fatalf("limit %d: %d entries (%v)", limit, len(page), err)
			}
			for n := range page {
				got = append(got, page[n].TimelineKey)
			}
			next, ok := person.TimelineMark(page[len(page)-1].TsMs, query.Passed(page))
			if !ok {
				t.Fatalf("limit %d: the page %v cannot be marked", limit, page)
			}
			query.From(next)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("limit %d: the entries are %v, want %v", limit, got, want)
		}
	}
}
