package reads

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"svc"
	"svc/storage/clickhouse/clickhousetest"
)

// TestReadsOfASegment counts the events of the people of segments. Ada and Bob used one device, one after the other, so
// its events belong to each of them in turn.
func TestReadsOfASegment(t *testing.T) {
	db := open(t)
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	block := db.NewBlock()
	for i, one := range []struct{ name, distinct, anonymous string }{
		{svc.PageView, "", "device"}, // Ada, who identifies herself next
		{svc.IdentifyEvent, "ada", "device"},
		{svc.PageView, "", "device"},
		{"order", "ada", ""},
		{svc.IdentifyEvent, "bob", "device"},
		{svc.PageView, "", "device"}, // Bob
		{svc.PageView, "", "device"},
		{svc.PageView, "cyd", ""},
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
		group, problems := svc.ParseSegmentDefinition(json.RawMessage(definition))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		scope := svc.AnalyticsScope{
			Environment: clickhousetest.Production(), Window: svc.Window{From: start.Add(-time.Hour), To: start.Add(time.Hour), Location: time.UTC},
			Filters: svc.Filters{{Dimension: svc.DimSegment, Value: "seg_1"}}, Segment: &svc.Segment{ID: "seg_1", Kind: svc.SegmentDynamic, Definition: group}, AsOf: start.Add(time.Hour),
		}
		overview, err := db.Overview(deadline(t), scope, nil)
		if err != nil || overview.Current.Pageviews != want {
			t.Errorf("%s: %d page views, %v, want %d", definition, overview.Current.Pageviews, err, want)
		}
		scope.Filters = append(scope.Filters, svc.Filter{Dimension: svc.DimEvent, Value: svc.PageView})
		paths, err := db.Breakdown(deadline(t), svc.BreakdownQuery{AnalyticsScope: scope, Dimension: svc.DimPath, Limit: 10}, nil)
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
		deeds          svc.SessionDeeds
	}{
		{svc.PageView, "", 0, 0}, {svc.IdentifyEvent, "ada", 0, 0}, {svc.IdentifyEvent, "bob", 0, 0}, {svc.PageView, "", 0, 0}, {svc.IdentifyEvent, "", 7, svc.Unbegun},
	} {
		row := clickhousetest.Row(clickhousetest.Production().Number, start.AddDate(0, 0, one.days).Add(time.Duration(i)*time.Minute), fmt.Sprint("e", i), one.distinct, fmt.Sprint("s", i))
		row.Name, row.AnonymousID, row.Session.Deeds = one.name, "device", one.deeds
		block.Append(row)
	}
	insert(t, db, "block-1", 1, block)
	got, err := db.Retention(deadline(t), svc.RetentionQuery{CohortBy: svc.Week, AnalyticsScope: svc.AnalyticsScope{
		Environment: clickhousetest.Production(), Window: svc.Window{From: start.Truncate(24 * time.Hour), To: start.AddDate(0, 0, 14).Truncate(24 * time.Hour), Location: time.UTC},
	}})
	if err != nil || fmt.Sprint(got.Cohorts[0].Periods) != "[2 0]" {
		t.Errorf("%+v, %v, want 2 people and none in the second week", got.Cohorts, err)
	}
}
