package reads

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/goal"
	"svc/storage/clickhouse/clickhousetest"
)

// valueIn returns an event's value of a dimension. Entry and exit paths belong to the event's session on the local day,
// within the rows that count.
func valueIn(r *event.Row, dimension filter.Dimension, within []*event.Row, loc *time.Location) string {
	e := &r.Event
	switch dimension {
	case filter.DimPath:
		return e.Path
	case filter.DimReferrerDomain:
		return e.ReferrerDomain
	case filter.DimSource:
		return e.Source
	case filter.DimMedium:
		return e.Medium
	case filter.DimUTMSource, filter.DimUTMMedium, filter.DimUTMTerm, filter.DimUTMContent, filter.DimRegion:
		return ""
	case filter.DimUTMCampaign:
		return e.UTMCampaign
	case filter.DimCountry:
		return e.Country
	case filter.DimCity:
		return e.City
	case filter.DimDevice:
		return e.Device
	case filter.DimBrowser:
		return e.Browser
	case filter.DimOS:
		return e.OS
	case filter.DimEvent:
		return e.Name
	case "property.plan":
		return "pro"
	case "property.none":
		return ""
	}
	var views []*event.Row
	for _, other := range within {
		if sessionOf(other) == sessionOf(r) && event.IsPageview(other.Event.Name) && domain.Day.Floor(other.Event.Ts.In(loc)).Equal(domain.Day.Floor(e.Ts.In(loc))) {
			views = append(views, other)
		}
	}
	if len(views) == 0 {
		return ""
	}
	slices.SortFunc(views, func(a, b *event.Row) int {
		return cmp.Or(a.Event.Ts.Compare(b.Event.Ts), cmp.Compare(a.Event.ID, b.Event.ID))
	})
	if dimension == filter.DimExitPath {
		return views[len(views)-1].Event.Path
	}
	return views[0].Event.Path
}

// breakdown recomputes all rows of a breakdown.
func (m model) breakdown(q analytics.BreakdownQuery, goals []goal.Matcher) []analytics.BreakdownRow {
	q.Filters = q.Filters.Without(q.Dimension)
	if _, isProperty := q.Dimension.Property(); isProperty || len(q.Filters) > 0 {
		q.Window, _ = q.Window.Capped()
	}
	loc := q.Window.Location
	plain := q.Scope
	plain.Filters = nil
	within := m.matching(plain)
	day := func(ms int64) int64 { return domain.Day.Floor(time.UnixMilli(ms).In(loc)).Unix() }
	net := map[string]int64{} // the balance of each session's bounce
	for _, r := range m.inScope(plain) {
		net[sessionOf(r)] += int64(r.Bounce)
	}
	completions := map[string]uint64{}
	for _, r := range within {
		if completes(&r.Event, goals) {
			completions[visitorOf(r)]++
		}
	}
	type counted struct {
		visitors, sessions, bounces, ever map[string]bool
		pageviews                         uint64
	}
	byValue := map[string]*counted{}
	for _, r := range m.matching(q.Scope) {
		value := valueIn(r, q.Dimension, within, loc)
		if value == "" || !strings.Contains(strings.ToLower(value), strings.ToLower(q.Search)) {
			continue
		}
		c := byValue[value]
		if c == nil {
			c = &counted{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, 0}
			byValue[value] = c
		}
		on := day(r.Event.Ts.UnixMilli())
		c.visitors[fmt.Sprint(on, visitorOf(r))], c.sessions[fmt.Sprint(on, sessionOf(r))], c.ever[visitorOf(r)] = true, true, true
		if event.IsPageview(r.Event.Name) {
			c.pageviews++
		}
		if net[sessionOf(r)] > 0 && day(r.SessionStartedMs) == on && inWindow(q.Window, time.UnixMilli(r.SessionStartedMs)) {
			c.bounces[sessionOf(r)] = true
		}
	}
	rows := []analytics.BreakdownRow{}
	for value, c := range byValue {
		row := analytics.BreakdownRow{Value: value, Visitors: uint64(len(c.visitors)), Pageviews: c.pageviews, Sessions: uint64(len(c.sessions))}
		row.BounceRate = float64(len(c.bounces)) / float64(row.Sessions)
		for visitor := range c.ever {
			row.Conversions += completions[visitor]
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b analytics.BreakdownRow) int { return a.Key().Compare(b.Key()) })
	return rows
}

// allPages reads a breakdown in pages of a size.
func allPages(t *testing.T, db *testDB, q analytics.BreakdownQuery, goals []goal.Matcher) []analytics.BreakdownRow {
	t.Helper()
	rows := []analytics.BreakdownRow{}
	for range 1000 {
		page, err := db.Breakdown(deadline(t), q, goals)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, page.Rows...)
		if !page.More {
			return rows
		}
		key := rows[len(rows)-1].Key()
		q.After = &key
	}
	t.Fatal("the pages do not end")
	return nil
}

func dimensions() []filter.Dimension {
	return append(filter.Dimensions(), "property.plan", "property.none")
}

func TestBreakdown(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 300)
	m := model{rows}
	for i, scope := range scopes(t, rows) {
		for j, dimension := range dimensions() {
			if (i+j)%5 != 0 && i > 1 || skipped((i+j)/5) {
				continue
			}
			if (i+j)%3 == 0 {
				scope.Filters = filters()[(i+j)%len(filters())]
			} else {
				scope.Filters = nil
			}
			goals := goalSets()[(i+j)%4]
			q := analytics.BreakdownQuery{Scope: scope, Dimension: dimension, Limit: 100, Search: []string{"", "", "", "P/1"}[(i+j)%4]}
			want := m.breakdown(q, goals)
			for _, limit := range []int{100, 1 + (i+j)%3}[:1+(i+j)%2] {
				q.Limit = limit
				if got := allPages(t, db, q, goals); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s %s..%s %s bots %t filters %q search %q limit %d goals %v:\n got %+v\nwant %+v", dimension, scope.Window.From, scope.Window.To,
						scope.Window.Location, scope.IncludeBots, scope.Filters, q.Search, limit, goals, got, want)
				}
			}
		}
	}
}

// TestBreakdownAddsUp compares the rows with the overview of the same scope, and each row with the overview that is
// filtered by its value.
func TestBreakdownAddsUp(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 5000)
	for i, scope := range scopes(t, rows) {
		overview, err := db.Overview(deadline(t), scope, nil)
		if err != nil {
			t.Fatal(err)
		}
		for j, dimension := range dimensions() {
			if (i+j)%4 != 0 || skipped((i+j)/4) || strings.Contains(string(dimension), "property") {
				continue
			}
			q := analytics.BreakdownQuery{Scope: scope, Dimension: dimension, Limit: 100}
			var pageviews, sessions uint64
			var bounces float64
			for _, row := range allPages(t, db, q, nil) {
				pageviews, sessions, bounces = pageviews+row.Pageviews, sessions+row.Sessions, bounces+row.BounceRate*float64(row.Sessions)
				if row.Visitors > row.Sessions || row.BounceRate > 1 {
					t.Errorf("%s: %+v", dimension, row)
				}
				q.Filters = filter.Filters{{Dimension: filter.DimCountry, Value: "DE"}, {Dimension: dimension, Value: row.Value}}
			}
			if pageviews != overview.Current.Pageviews && !slices.Contains([]filter.Dimension{filter.DimUTMSource, filter.DimUTMMedium, filter.DimUTMTerm, filter.DimUTMContent, filter.DimRegion}, dimension) {
				t.Errorf("%s: %d page views, the overview has %d", dimension, pageviews, overview.Current.Pageviews)
			}
			if dimension == filter.DimCountry {
				want := overview.Current.BounceRate * float64(overview.Current.Sessions)
				if sessions != overview.Current.Sessions || bounces-want > 1e-6 || want-bounces > 1e-6 {
					t.Errorf("%d sessions with %f bounces, the overview has %d with %f", sessions, bounces, overview.Current.Sessions, want)
				}
			}
			with, err := db.Breakdown(deadline(t), q, nil)
			if err != nil {
				t.Fatal(err)
			}
			q.Filters = q.Filters.Without(dimension)
			without, err := db.Breakdown(deadline(t), q, nil)
			if err != nil || !reflect.DeepEqual(with, without) {
				t.Errorf("%s: a filter on the dimension itself changes %+v to %+v (%v)", dimension, without, with, err)
			}
		}
	}
}

// TestMarksEqualTheScan compares entry and exit paths, which are combined from cached days, slots and ends of windows,
// with the engine's counts over all rows. It uses random windows; many are short or end on the same day.
func TestMarksEqualTheScan(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 5000)
	random := rand.New(rand.NewPCG(11, 12))
	spans := []time.Duration{time.Minute, 20 * time.Minute, time.Hour, 9 * time.Hour, 26 * time.Hour, 70 * time.Hour}
	full := 0
	for range each(60) {
		scope := scopes(t, rows)[random.IntN(6)]
		scope.Filters, scope.IncludeBots = nil, random.IntN(2) == 0
		at := rows[random.IntN(len(rows))].Event.Ts
		span := spans[random.IntN(len(spans))]
		scope.Window.From = at.Add(-time.Duration(random.Int64N(int64(span)))).Truncate(time.Millisecond)
		scope.Window.To = scope.Window.From.Add(span)
		for _, dimension := range []filter.Dimension{filter.DimEntryPath, filter.DimExitPath} {
			q := analytics.BreakdownQuery{Scope: scope, Dimension: dimension, Limit: 100}
			v, err := db.valuesOf(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := db.rankEvents(deadline(t), q, v)
			if err != nil {
				t.Fatal(err)
			}
			if full += len(want); !reflect.DeepEqual(allPages(t, db, q, nil), want) {
				t.Errorf("%s %s..%s: got %+v, want %+v", dimension, scope.Window.From, scope.Window.To, allPages(t, db, q, nil), want)
			}
		}
	}
	if full < each(100) {
		t.Errorf("all windows together have %d rows", full)
	}
}

// TestBreakdownEqualsTheFilteredOverview compares two reads of the same events.
func TestBreakdownEqualsTheFilteredOverview(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 5000)
	for _, scope := range scopes(t, rows)[:4] {
		for _, dimension := range []filter.Dimension{filter.DimCountry, filter.DimPath, filter.DimEvent, filter.DimBrowser} {
			for _, row := range allPages(t, db, analytics.BreakdownQuery{Scope: scope, Dimension: dimension, Limit: 100}, nil) {
				filtered := scope
				filtered.Filters = filter.Filters{{Dimension: dimension, Value: row.Value}}
				overview, err := db.Overview(deadline(t), filtered, nil)
				if err != nil {
					t.Fatal(err)
				}
				if h := overview.Current; h.Visitors != row.Visitors || h.Pageviews != row.Pageviews || h.Sessions != row.Sessions {
					t.Errorf("%s: the row is %+v, the filtered overview %+v", dimension, row, h)
				}
			}
		}
	}
}

// TestBreakdownFollowsInserts reads before and after every insert, so that cached days meet changed data.
func TestBreakdownFollowsInserts(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	const step = 250
	for i := 0; i < len(rows); i += step {
		end := min(i+step, len(rows))
		b := db.NewBlock()
		for j := i; j < end; j++ {
			b.Append(&rows[j])
		}
		insert(t, db, fmt.Sprint(i), uint64(i), b)
		for _, scope := range []analytics.Scope{scopes(t, rows)[1], scopes(t, rows)[9], scopes(t, rows)[14]} {
			for _, dimension := range []filter.Dimension{filter.DimBrowser, filter.DimExitPath} {
				q := analytics.BreakdownQuery{Scope: scope, Dimension: dimension, Limit: 100}
				want := (model{rows[:end]}).breakdown(q, nil)
				for range 2 {
					if got := allPages(t, db, q, nil); !reflect.DeepEqual(got, want) {
						t.Fatalf("%s after %d rows:\n got %+v\nwant %+v", dimension, end, got, want)
					}
				}
			}
		}
	}
}

// TestBreakdownHidesAddresses checks that a masked caller can neither see nor confirm an e-mail address, by value,
// search or ranking key.
func TestBreakdownHidesAddresses(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)
	b := db.NewBlock()
	for i, mail := range []string{"ada@acme.example", "bob@acme.example"} {
		r := clickhousetest.Row(7, at.Add(time.Duration(i)*time.Minute), mail, mail, "s"+mail)
		r.Event.Path, r.Event.Properties = "/u/"+mail, []byte(`{"mail":"`+mail+`","n":3}`)
		b.Append(r)
	}
	insert(t, db, "1", 1, b)
	scope := analytics.Scope{Environment: clickhousetest.Production(), Window: domain.Window{From: at.AddDate(0, 0, -2), To: at.AddDate(0, 0, 2), Location: time.UTC}}
	scope.Environment.Number = 7
	one := func(value string, visitors uint64) []analytics.BreakdownRow {
		return []analytics.BreakdownRow{{Value: value, Visitors: visitors, Pageviews: visitors, Sessions: visitors, BounceRate: 1}}
	}
	for _, c := range []struct {
		dimension filter.Dimension
		search    string
		want      []analytics.BreakdownRow
	}{
		{filter.DimPath, "", one("/u/***", 2)},
		{filter.DimEntryPath, "", one("/u/***", 2)},
		{filter.DimPath, "ada@", []analytics.BreakdownRow{}},
		{"property.mail", "", one("***", 2)},
		{"property.mail", "ada", []analytics.BreakdownRow{}},
		{"property.n", "", one("3", 2)},
	} {
		got, err := db.Breakdown(deadline(t), analytics.BreakdownQuery{Scope: scope, Dimension: c.dimension, Search: c.search, Masked: true, Limit: 10}, nil)
		if err != nil || !reflect.DeepEqual(got.Rows, c.want) {
			t.Errorf("%s %q: %+v %v, want %+v", c.dimension, c.search, got.Rows, err, c.want)
		}
		open, err := db.Breakdown(deadline(t), analytics.BreakdownQuery{Scope: scope, Dimension: c.dimension, Limit: 10}, nil)
		if err != nil || c.dimension != "property.n" && len(open.Rows) != 2 {
			t.Errorf("%s: who may see addresses sees %+v %v", c.dimension, open.Rows, err)
		}
	}
}
