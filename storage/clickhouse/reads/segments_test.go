package reads

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/segment"
	"svc/storage/clickhouse/clickhousetest"
)

// TestReadsOfASegment counts the events of the people of segments. Ada and Bob used one device, one after the other, so
// its events belong to each of them in turn.
func TestReadsOfASegment(t *testing.T) {
	db := open(t)
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	block := db.NewBlock()
	for i, one := range []struct{ name, distinct, anonymous string }{
		{event.PageView, "", "device"}, // Ada, who identifies herself next
		{event.IdentifyEvent, "ada", "device"},
		{event.PageView, "", "device"},
		{"order", "ada", ""},
		{event.IdentifyEvent, "bob", "device"},
		{event.PageView, "", "device"}, // Bob
		{event.PageView, "", "device"},
		{event.PageView, "cyd", ""},
	} {
		row := clickhousetest.Row(clickhousetest.Production().Number, start.Add(time.Duration(i)*time.Minute), fmt.Sprint("e", i), one.distinct, fmt.Sprint("s", i))
		row.Name, row.AnonymousID = one.name, one.anonymous
		row.Properties = json.RawMessage(fmt.Sprintf(`{"plan":%q}`, one.distinct))
		block.Append(row)
	}
	insert(t, db, "block-1", 1, block)
	for definition, want := range map[string]uint64{
		`{"all":[{"field":"did_event","op":"gte","value":1,"event":{"name":"order"}}]}`: 2,
		`{"all":[{"field":"trait.plan","op":"eq","value":"bob"}]}`:                      2,
		`{"all":[{"field":"not_did_event","op":"exists","event":{"name":"order"}}]}`:    3,
		`{"all":[{"field":"events","op":"lt","value":2}]}`:                              1,
	} {
		group, problems := segment.ParseSegmentDefinition(json.RawMessage(definition))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		scope := analytics.Scope{
			Environment: clickhousetest.Production(), Window: domain.Window{From: start.Add(-time.Hour), To: start.Add(time.Hour), Location: time.UTC},
			Filters: filter.Filters{{Dimension: filter.DimSegment, Value: "seg_1"}}, Segment: &segment.Segment{ID: "seg_1", Kind: segment.Dynamic, Definition: group}, AsOf: start.Add(time.Hour),
		}
		overview, err := db.Overview(deadline(t), scope, nil)
		if err != nil || overview.Current.Pageviews != want {
			t.Errorf("%s: %d page views, %v, want %d", definition, overview.Current.Pageviews, err, want)
		}
		scope.Filters = append(scope.Filters, filter.Filter{Dimension: filter.DimEvent, Value: event.PageView})
		paths, err := db.Breakdown(deadline(t), analytics.BreakdownQuery{Scope: scope, Dimension: filter.DimPath, Limit: 10}, nil)
		if err != nil || len(paths.Rows) != int(min(want, 1)) || want > 0 && paths.Rows[0].Pageviews != want {
			t.Errorf("%s: the paths are %+v, %v, want %d page views", definition, paths.Rows, err, want)
		}
	}
}

// TestRetentionLeavesIdentityItemsOut has two people use a device on one day. A week later, the device only identifies a person, without
// a visit. No person is active then.
func TestRetentionLeavesIdentityItemsOut(t *testing.T) {
	db := open(t)
	start := time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)
	block := db.NewBlock()
	for i, one := range []struct {
		name, distinct string
		days           int
		deeds          event.SessionDeeds
	}{
		{event.PageView, "", 0, 0}, {event.IdentifyEvent, "ada", 0, 0}, {event.IdentifyEvent, "bob", 0, 0}, {event.PageView, "", 0, 0}, {event.IdentifyEvent, "", 7, event.Unbegun},
	} {
		row := clickhousetest.Row(clickhousetest.Production().Number, start.AddDate(0, 0, one.days).Add(time.Duration(i)*time.Minute), fmt.Sprint("e", i), one.distinct, fmt.Sprint("s", i))
		row.Name, row.AnonymousID, row.Session.Deeds = one.name, "device", one.deeds
		block.Append(row)
	}
	insert(t, db, "block-1", 1, block)
	got, err := db.Retention(deadline(t), analytics.RetentionQuery{CohortBy: domain.Week, Scope: analytics.Scope{
		Environment: clickhousetest.Production(), Window: domain.Window{From: start.Truncate(24 * time.Hour), To: start.AddDate(0, 0, 14).Truncate(24 * time.Hour), Location: time.UTC},
	}})
	if err != nil || fmt.Sprint(got.Cohorts[0].Periods) != "[2 0]" {
		t.Errorf("%+v, %v, want 2 people and none in the second week", got.Cohorts, err)
	}
}
