package reads

import (
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/domain/funnel"
	"svc/domain/goal"
	"svc/domain/segment"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

func TestQueriesExplain(t *testing.T) {
	db, now := open(t), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	c, err := db.where(t.Context(), everyFilter(now))
	if err != nil {
		t.Fatal(err)
	}
	steps := stepsOf([]funnel.Step{{Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "x"}}, {Matcher: goal.Matcher{Kind: goal.MatchPath, Match: "/*"}}})
	scope := analytics.Scope{Environment: clickhousetest.Production(), Window: domain.Window{From: now.Add(-time.Hour), To: now, Location: time.UTC}}
	clickhousetest.Exec(t, db.conn, "INSERT INTO links VALUES (7, 1, 2, now64(3))")
	parts, whoIs, err := db.persons.WhoIs(clickhousetest.Deadline(t), 7)
	if err != nil {
		t.Fatal(err)
	}
	args := c.Args().With(whoIs).With(scopeArguments(scope, scope.Window)).With(clickhouse.BucketArgs([]time.Time{now})).With(goalArguments(nil))
	page := clickhouse.Args{"limit": 1, "first_page": true, "search": "", "email": clickhouse.ShapePattern, "personal": clickhouse.PersonalPattern(nil), "personal_key": false, "stay_visitors": []uint64{}, "stay_from": []int64{}, "stay_until": []int64{}}
	clickhousetest.Explain(t, db.conn, db.queries, map[string]clickhouse.Args{
		"":            args,
		"activity":    {"event": "", "named_from": now, "day_from": now, "day_to": now},
		"rest":        {"hour_to": now, "named_from": now, "email": clickhouse.ShapePattern, "property": "x"},
		"retention":   {"event": "", "named_from": now, "day_from": now, "day_to": now},
		"breakdown":   page.With(clickhouse.Args{"property": "x", "after_visitors": int64(0), "after_pageviews": int64(0), "after_value": "", "values": []string{}}),
		"conversions": {"names": []string{}, "email": clickhouse.ShapePattern},
		"events": page.With(clickhouse.Args{
			"hidden": []uint64{}, "event": "", "before_ts": now, "before_id": "", "before_tie": uint64(1), "named_from": now, "after_count": uint64(0), "after_name": "",
		}),
		"funnel":   page.With(steps.args).With(clickhouse.Args{"until": now, "named": true, "property": "x", "origin": int64(0), "every": false, "instants": []int64{0}, "keys": []string{}}),
		"goals":    {"goal_kind": []uint16{0}, "goal_match": []string{"x"}, "goal_until": []int64{0}},
		"live":     {"since": now},
		"journeys": {"start_event": true, "start_open": false, "start": "", "sessions": uint32(1), "steps": uint32(2), "backwards": false},
		"properties": page.With(clickhouse.Args{
			"event": "", "besides": "", "events": uint64(9), "after_count": uint64(0), "after_key": "",
		}),
		"today":   {"since": now, "until": now, "named_from": now, "day_from": now, "day_to": now, "blocks": []uint64{}, "email": clickhouse.ShapePattern, "property": "x", "values": []string{}},
		"traffic": endArguments([]end{{from: now, to: now}}),
		"visits":  {"with_sessions": true},
	}, func(name, text string) string { return withPersons(filled(db, c, steps, name, text), parts) })
}

// filled returns a query with sample values for its placeholders.
func filled(db *testDB, c clickhouse.Clause, steps stepSum, name, text string) string {
	rows := db.queries["breakdown.Events"]
	if strings.HasPrefix(name, "activity.") || strings.HasPrefix(name, "retention.") {
		rows = db.queries["activity.Events"]
	}
	if strings.HasPrefix(name, "journeys.") {
		return clickhouse.Bind(text, c)
	}
	if name == "events.List" {
		text = strings.ReplaceAll(text, "$(order)", byKeyAndTie)
	}
	if strings.HasPrefix(name, "properties.") {
		return clickhouse.Bind(db.shown(text, true), c)
	}
	value := "toString(path)"
	if name == "breakdown.Entry" || name == "breakdown.Exit" {
		value = "toString(marked)"
	}
	text = strings.NewReplacer("$(rows)", rows, "$(mark)", db.queries["mark.Entry"], "$(place)", db.queries["mark.EntryPlace"], "$(measure)", db.queries["measure.Visitors"]).Replace(text)
	text = db.named(strings.ReplaceAll(text, "$(value)", value), name != "events.Names")
	if name == "window.Visits" || name == "activity.Names" {
		text = "SELECT * FROM (" + text + ")"
	}
	return bindSteps(clickhouse.Bind(text, c), steps)
}

// everyFilter has a filter on every dimension.
func everyFilter(now time.Time) analytics.Scope {
	scope := analytics.Scope{Environment: clickhousetest.Production(), AsOf: now, Segment: &segment.Segment{ID: "x", Kind: segment.Static, Members: []uint64{1}}}
	for _, dimension := range filter.FilterDimensions() {
		scope.Filters = append(scope.Filters, filter.Filter{Dimension: dimension, Value: "x"})
	}
	return scope
}
