package reference

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The rows of these tests are few, so every number was counted by hand.

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

// rows makes rows from texts "time visitor session name path", in order of arrival.
func rows(t *testing.T, lines ...string) []*Row {
	t.Helper()
	var out []*Row
	for i, line := range lines {
		words := strings.Fields(line)
		at, err := time.Parse("2006-01-02T15:04:05", words[0])
		if err != nil {
			t.Fatal(err)
		}
		row := &Row{ID: string(rune('a' + i)), Ts: at, DistinctID: words[1], SessionID: words[2], Name: words[3], Environment: "production", Arrival: i}
		if len(words) > 4 {
			row.Path = words[4]
		}
		out = append(out, row)
	}
	return out
}

// twoDays has, in Berlin (UTC+1), a session over the midnight that ends 19 November, a bounce, and a session whose
// first event arrived last.
func twoDays(t *testing.T) *Data {
	t.Helper()
	d := New(zone(t, "Europe/Berlin"), rows(t,
		"2026-11-19T22:50:00 anna s1 page_view /",
		"2026-11-19T23:10:00 anna s1 page_view /docs",
		"2026-11-19T12:00:00 bert s2 page_view /",
		"2026-11-20T09:10:00 carl s3 signup",
		"2026-11-20T09:00:00 carl s3 page_view /pricing",
	))
	d.Goals = []Goal{{ID: "g1", Kind: "event", Match: "signup"}, {ID: "g2", Kind: "path", Match: "/doc*"}}
	return d
}

func TestOverviewByHand(t *testing.T) {
	t.Parallel()
	d := twoDays(t)
	window, err := d.Window("custom:2026-11-19..2026-11-20", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	got := d.Overview(Query{Environment: "production"}, window)
	want := map[string]any{
		"range":       map[string]any{"from": "2026-11-18T23:00:00.000Z", "to": "2026-11-20T23:00:00.000Z", "interval": "hour"},
		"environment": "production", "capped": false,
		// Anna counts on both days, and so does her session.
		"visitors": 4.0, "uniqueVisitors": 3.0, "pageviews": 4.0, "sessions": 4.0,
		// One bounce and 20 + 0 + 10 minutes over four sessions.
		"bounceRate": 0.25, "avgDurationMs": 450_000.0, "conversions": 2.0,
		"comparison": map[string]any{
			"visitors": 0.0, "uniqueVisitors": 0.0, "pageviews": 0.0, "sessions": 0.0, "bounceRate": 0.0, "avgDurationMs": 0.0, "conversions": 0.0,
			"delta": map[string]any{
				"visitors": nil, "uniqueVisitors": nil, "pageviews": nil, "sessions": nil, "bounceRate": nil, "avgDurationMs": nil, "conversions": nil,
			},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	second, _ := d.Window("custom:2026-11-20..2026-11-20", time.Time{})
	day := d.Overview(Query{Environment: "production", Filters: map[string]string{"entry_path": "/docs"}}, second)
	// Anna's session began the day before: it is active, but does not count for stays, and its first page of this day
	// is its entry.
	if day["sessions"] != 1.0 || day["bounceRate"] != 0.0 || day["avgDurationMs"] != 0.0 || day["pageviews"] != 1.0 {
		t.Errorf("%v", day)
	}
	if delta := day["comparison"].(map[string]any)["delta"].(map[string]any); delta["visitors"] != nil {
		t.Errorf("%v", delta)
	}
}

func TestBucketsByHand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, zone, word, interval string
		want                       []string
	}{
		{"a day of 25 hours", "Europe/Berlin", "custom:2026-10-25..2026-10-26", "day", []string{"2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z"}},
		{"a quarter off", "Asia/Kathmandu", "custom:2026-11-20..2026-11-20", "day", []string{"2026-11-19T18:15:00.000Z"}},
		{"weeks begin on Monday", "America/New_York", "custom:2026-10-30..2026-11-10", "week", []string{"2026-10-26T04:00:00.000Z", "2026-11-02T05:00:00.000Z", "2026-11-09T05:00:00.000Z"}},
		{"months", "UTC", "custom:2026-01-31..2026-03-01", "month", []string{"2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z"}},
		{"no midnight", "America/Santiago", "custom:2026-09-05..2026-09-07", "day", []string{"2026-09-05T04:00:00.000Z", "2026-09-06T04:00:00.000Z", "2026-09-07T03:00:00.000Z"}},
	} {
		d := New(zone(t, test.zone), nil)
		window, err := d.Window(test.word, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, at := range d.buckets(window, test.interval) {
			got = append(got, Stamp(at))
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
	berlin := New(zone(t, "Europe/Berlin"), nil)
	window, _ := berlin.Window("custom:2026-10-25..2026-10-25", time.Time{})
	if hours := berlin.buckets(window, "hour"); len(hours) != 25 {
		t.Errorf("the day has %d hours", len(hours))
	}
}

func TestSessionsByHand(t *testing.T) {
	t.Parallel()
	named := map[string]string{"d": "mine"}
	check := func(lines ...string) error {
		return New(time.UTC, rows(t, lines...)).CheckSessions(func(row *Row) string { return named[row.ID] })
	}
	good := []string{
		"2026-11-20T09:00:00 anna s1 page_view",
		"2026-11-20T09:30:00 anna s1 page_view",   // 30 minutes are not a pause
		"2026-11-20T10:00:01 anna s2 page_view",   // a second more is a pause
		"2026-11-20T10:00:02 anna mine page_view", // the client sets it
		"2026-11-20T08:40:00 anna s1 page_view",   // late
	}
	if err := check(good...); err != nil {
		t.Error(err)
	}
	for i, wrong := range map[int]string{1: "2026-11-20T09:30:00 anna s9 page_view", 2: "2026-11-20T10:00:01 anna s1 page_view", 3: "2026-11-20T10:00:02 anna s2 page_view"} {
		lines := append([]string{}, good...)
		lines[i] = wrong
		if err := check(lines...); err == nil {
			t.Errorf("%q passed", wrong)
		}
	}
}

func TestFunnelByHand(t *testing.T) {
	t.Parallel()
	d := New(time.UTC, rows(t,
		"2026-11-20T09:00:00 anna s page_view /", // an attempt that ends here
		"2026-11-20T12:00:00 anna s page_view /", // the one that counts
		"2026-11-20T12:00:00 anna s cart",        // the same instant, a later id
		"2026-11-20T13:00:00 anna s buy",         // exactly an hour after
		"2026-11-20T09:00:00 bert s cart",        // before
		"2026-11-20T09:01:00 bert s page_view /",
		"2026-11-20T09:00:00 carl s page_view /",
		"2026-11-20T09:10:00 carl s cart",
		"2026-11-20T10:00:01 carl s buy", // too late
	))
	funnel := Funnel{WindowHours: 1, Steps: []Step{{Kind: "path", Match: "/"}, {Kind: "event", Match: "cart"}, {Kind: "event", Match: "buy"}}}
	window := Window{From: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), To: time.Date(2026, 11, 20, 12, 0, 0, 1e6, time.UTC)}
	got, capped := d.FunnelSteps(Query{Environment: "production"}, window, &funnel)
	row := func(step, entered, converted, rate, dropOff float64) any {
		return map[string]any{"step": step, "entered": entered, "converted": converted, "conversionRate": rate, "dropOff": dropOff}
	}
	want := []any{row(1, 3, 2, 2.0/3, 1), row(2, 2, 1, 0.5, 1), row(3, 1, 1, 1, 0)}
	if !reflect.DeepEqual(got, want) || capped {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	// Without Anna's second attempt, no person gets further than the cart.
	window.To = window.To.Add(-time.Second)
	got, _ = d.FunnelSteps(Query{Environment: "production"}, window, &funnel)
	if want := []any{row(1, 3, 1, 1.0/3, 2), row(2, 1, 0, 0, 1), row(3, 0, 0, 0, 0)}; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestPeopleByHand(t *testing.T) {
	t.Parallel()
	d := New(time.UTC, rows(t,
		"2026-11-02T09:00:00 anna s page_view", // Monday
		"2026-11-04T09:00:00 bert s page_view",
		"2026-11-10T09:00:00 anna s page_view",
		"2026-11-10T09:00:00 carl s signup",
		"2026-11-17T09:00:00 anna s signup",
	))
	window, err := d.Window("custom:2026-11-02..2026-11-17", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	cohort := func(date string, periods ...any) any {
		return map[string]any{"cohort": date, "size": periods[0], "periods": periods}
	}
	all := d.Retention(Query{Environment: "production"}, window, "week", "")["cohorts"]
	if want := []any{cohort("2026-11-02", 2.0, 1.0, 1.0), cohort("2026-11-09", 1.0, 0.0), cohort("2026-11-16", 0.0)}; !reflect.DeepEqual(all, want) {
		t.Errorf("got  %v\nwant %v", all, want)
	}
	signups := d.Retention(Query{Environment: "production"}, window, "week", "signup")["cohorts"]
	if want := []any{cohort("2026-11-02", 2.0, 0.0, 1.0), cohort("2026-11-09", 1.0, 0.0), cohort("2026-11-16", 0.0)}; !reflect.DeepEqual(signups, want) {
		t.Errorf("got  %v\nwant %v", signups, want)
	}
	active := d.ActiveUsers(Query{Environment: "production"}, window)
	at := func(list string, day int) any { return active[list].([]any)[day].(map[string]any)["value"] }
	for _, test := range []struct {
		list string
		day  int // since 2 November
		want float64
	}{{"dau", 0, 1}, {"dau", 1, 0}, {"wau", 2, 2}, {"wau", 6, 2}, {"wau", 7, 1}, {"wau", 8, 3}, {"mau", 15, 3}, {"stickiness", 8, 2.0 / 3}, {"stickiness", 1, 0}} {
		if got := at(test.list, test.day); got != test.want {
			t.Errorf("%s on day %d: got %v, want %v", test.list, test.day, got, test.want)
		}
	}
	window.From = window.To
	want := map[string]any{"capped": false, "environment": "production", "dau": []any{}, "wau": []any{}, "mau": []any{}, "stickiness": []any{}}
	if got := d.ActiveUsers(Query{Environment: "production"}, window); !reflect.DeepEqual(got, want) {
		t.Errorf("active users of an empty window: got %v, want %v", got, want)
	}
}

func TestGoalsByHand(t *testing.T) {
	t.Parallel()
	d := twoDays(t)
	d.Goals = append(d.Goals, Goal{ID: "g3", Kind: "path", Match: "/*"}, Goal{ID: "g4", Kind: "event", Match: "signup"}, Goal{ID: "g0", Name: "Never", Kind: "event", Match: "never"})
	d.End("g3", time.Date(2026, 11, 19, 23, 0, 0, 0, time.UTC))
	d.End("g4", time.Date(2026, 11, 20, 9, 10, 0, 0, time.UTC)) // the instant of the one event
	window, err := d.Window("custom:2026-11-19..2026-11-20", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := d.GoalResults(Query{Environment: "production"}, window)
	row := func(id string, name, kind, match any, conversions, visitors float64) any {
		return map[string]any{"goalId": id, "name": name, "kind": kind, "match": match, "conversions": conversions, "visitors": visitors}
	}
	want := []any{
		row("g3", nil, nil, nil, 2, 2), row("g1", "", "event", "signup", 1, 1), row("g2", "", "path", "/doc*", 1, 1), row("g0", "Never", "event", "never", 0, 0),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if all := d.Overview(Query{Environment: "production"}, window)["conversions"]; all != 2.0 {
		t.Errorf("%v conversions: a goal that was deleted makes none", all)
	}
}

// TestActiveUsersLookBackByHand checks that entries are determined from 29 days before the window on: the entry of a
// session over the midnight at which they begin is its first page after it.
func TestActiveUsersLookBackByHand(t *testing.T) {
	t.Parallel()
	d := New(zone(t, "Europe/Berlin"), rows(t,
		"2026-10-21T21:50:00 anna s1 page_view /", // ten minutes before 22 October
		"2026-10-21T22:10:00 anna s1 page_view /docs",
		"2026-11-20T09:00:00 bert s2 page_view /docs",
		"2026-11-20T09:10:00 carl s3 page_view /",
	))
	for _, test := range []struct {
		day, entry string
		mau        any
	}{
		{"2026-11-20", "/docs", 2.0}, // Anna, on 22 October, and Bert
		{"2026-11-20", "/", 1.0},
		{"2026-11-19", "/docs", 0.0}, // including 21 October, the entry of Anna's session was /
		{"2026-11-19", "/", 1.0},
	} {
		window, err := d.Window("custom:"+test.day+".."+test.day, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		got := d.ActiveUsers(Query{Environment: "production", Filters: map[string]string{"entry_path": test.entry}}, window)
		if mau := got["mau"].([]any)[0].(map[string]any)["value"]; mau != test.mau {
			t.Errorf("%s entered by %s: got %v, want %v", test.day, test.entry, mau, test.mau)
		}
	}
}

func TestStepFiltersByHand(t *testing.T) {
	t.Parallel()
	row := &Row{Name: "x", Source: "google", Properties: map[string]any{"n": 5.0, "word": "pro", "written": "12.5", "yes": true, "none": nil}}
	for _, test := range []struct {
		property, op string
		value        any
		want         bool
	}{
		{"source", "eq", "google", true},
		{"source", "neq", "google", false},
		{"country", "neq", "DE", true},
		{"source", "contains", "oog", true},
		{"property.n", "gt", 4.0, true},
		{"property.n", "lt", 5.0, false},
		{"property.n", "lte", 5.0, true},
		{"property.word", "gt", 1.0, false},
		{"property.written", "gt", 12.0, true},
		{"property.yes", "gt", 0.0, false},
		{"property.word", "in", []any{"free", "pro"}, true},
		{"property.yes", "eq", true, true},
		{"property.none", "exists", nil, false},
		{"property.absent", "not_contains", "a", true},
		{"property.n", "eq", 5.0, true},
	} {
		filter := StepFilter{Property: test.property, Op: test.op, Value: test.value}
		if got := filter.holds(row); got != test.want {
			t.Errorf("%+v: got %v", filter, got)
		}
	}
}

// TestOriginsByHand has a visit with the campaign of the event that arrived first, and a bot with the same visitor and
// session and its own campaign.
func TestOriginsByHand(t *testing.T) {
	t.Parallel()
	said := map[string]Origin{"a": {UTMSource: "News"}, "b": {Referrer: "https://acme.example/"}, "c": {UTMSource: "other"}, "d": {}}
	check := func(change func(rows []*Row)) error {
		all := rows(t,
			"2026-11-20T09:00:00 anna s1 page_view",
			"2026-11-20T09:10:00 anna s1 page_view",
			"2026-11-20T08:50:00 anna s1 page_view", // late
			"2026-11-20T09:00:00 anna s1 page_view", // a bot
		)
		all[3].IsBot = true
		for _, row := range all[:3] {
			row.UTMSource, row.Source = "News", "news"
		}
		all[3].Source = "direct"
		change(all)
		return New(time.UTC, all).CheckOrigins(func(row *Row) Origin { return said[row.ID] })
	}
	if err := check(func([]*Row) {}); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(rows []*Row){
		"a page says it itself":    func(rows []*Row) { rows[1].UTMSource, rows[1].Referrer = "", "https://acme.example/" },
		"a page is direct":         func(rows []*Row) { rows[1].Source = "direct" },
		"another campaign":         func(rows []*Row) { rows[2].UTMSource = "other" },
		"a bot takes part":         func(rows []*Row) { rows[3].UTMSource, rows[3].Source = "News", "news" },
		"the first says otherwise": func(rows []*Row) { rows[0].Source = "google" },
	} {
		if check(change) == nil {
			t.Errorf("%s: nothing was found", name)
		}
	}
}

// TestIdentitiesByHand has a device that two people share, an alias that arrived first, and a single visitor.
func TestIdentitiesByHand(t *testing.T) {
	t.Parallel()
	all := rows(t,
		"2026-11-19T12:00:00 ada s1 $alias",
		"2026-11-19T08:00:00 - s2 page_view /a",
		"2026-11-19T09:00:00 ada s3 $identify",
		"2026-11-19T10:00:00 - s4 page_view /b",
		"2026-11-19T11:00:00 bert s5 $identify",
		"2026-11-19T13:00:00 - s6 page_view /c",
		"2026-11-19T07:00:00 countess s7 signup",
		"2026-11-19T06:00:00 carl s8 page_view /d",
	)
	for i, row := range all {
		if row.DistinctID == "-" {
			row.DistinctID = ""
		}
		if i > 0 && i < 6 {
			row.AnonymousID = "device"
		}
	}
	all[0].AnonymousID = "countess"
	all[2].Properties = map[string]any{"email": "ada@example.com", "plan": "pro", "$set_once": map[string]any{"plan": "free", "from": "here"}}
	d := New(time.UTC, all)
	d.Decisions = []Decision{{Place: Place{"production", Visitor{ID: "countess"}}, Tags: map[string]bool{"vip": true}}}
	d.Merges = []Merge{{"production", Visitor{ID: "carl"}, Visitor{ID: "nobody"}}}
	type brief struct {
		id       string
		ids      string
		events   int
		tags     string
		stage    string
		timeline int
	}
	var got []brief
	for _, p := range d.People("production") {
		stage, _ := p.stage()
		got = append(got, brief{p.Key.ID, strings.Join(p.ids(), " "), len(p.rows), strings.Join(p.Tags(), " "), stage, len(d.Timeline("production", p, "event"))})
	}
	want := []brief{
		{"bert", "bert device", 2, "", "signup", 2}, // first seen last
		{"ada", "ada countess device", 5, "vip", "signup", 5},
		{"carl", "carl", 1, "", "visitor", 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
	ada := d.People("production")[1]
	if !reflect.DeepEqual(ada.facts.traits, map[string]any{"email": "ada@example.com", "plan": "pro", "from": "here"}) {
		t.Errorf("the traits are %v", ada.facts.traits)
	}
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for definition, in := range map[*map[string]any]bool{
		{"all": []any{map[string]any{"field": "trait.plan", "op": "eq", "value": "pro"}}}:                                                                                    true,
		{"any": []any{map[string]any{"field": "tag", "op": "neq", "value": "vip"}, map[string]any{"field": "events", "op": "gt", "value": 5.0}}}:                             false,
		{"all": []any{map[string]any{"field": "did_event", "op": "within_days", "value": 1.0, "event": map[string]any{"name": "signup", "count": 1.0}}}}:                     true,
		{"all": []any{map[string]any{"field": "not_did_event", "op": "gte", "value": 2.0, "event": map[string]any{"name": "page_view"}}}}:                                    false,
		{"all": []any{map[string]any{"field": "last_seen_at", "op": "not_within_days", "value": 0.5}, map[string]any{"field": "trait.from", "op": "exists", "value": true}}}: false,
	} {
		if (&Segment{Definition: *definition}).Has(d, "production", ada, now) != in {
			t.Errorf("%v: not %v", *definition, in)
		}
	}
	d.Gone = map[Place]bool{}
	for _, member := range ada.Members {
		d.Gone[Place{"production", member}] = true
	}
	d.Erase()
	if left := d.People("production"); len(left) != 2 || strings.Join(left[0].ids(), " ") != "bert" {
		t.Errorf("after the erasure %d people are left", len(left))
	}
}

// TestATiedDeviceByHand has a device that a merge joined with Ada, and on which Bert is identified twice afterwards:
// members' decisions about the device stay with Ada.
func TestATiedDeviceByHand(t *testing.T) {
	t.Parallel()
	all := rows(t,
		"2026-11-19T08:00:00 - s1 page_view /a",
		"2026-11-19T09:00:00 bert s2 $identify",
		"2026-11-19T10:00:00 - s3 page_view /b",
		"2026-11-19T11:00:00 bert s4 $identify",
		"2026-11-19T07:00:00 ada s5 page_view /c",
	)
	for i, row := range all[:4] {
		if i%2 == 0 {
			row.DistinctID = ""
		}
		row.AnonymousID = "device"
	}
	device := Place{"production", Visitor{ID: "device"}}
	d := New(time.UTC, all)
	d.Merges = []Merge{{"production", Visitor{ID: "ada"}, device.Visitor}}
	d.Decisions = []Decision{{Place: device, Tags: map[string]bool{"vip": true}}}
	d.Activities = []Activity{{Place: device, Title: "note"}}
	var got []string
	for _, p := range d.People("production") {
		got = append(got, fmt.Sprint(p.ids(), len(p.rows), p.Tags(), len(d.Timeline("production", p, "activity"))))
	}
	if want := []string{"[bert device] 3 [] 0", "[ada device] 2 [vip] 1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
