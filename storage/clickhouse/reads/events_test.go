package reads

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/goal"
	"svc/storage/clickhouse/clickhousetest"
)

// feed returns all pages of a query.
func feed(t *testing.T, db *testDB, q analytics.EventQuery) []event.Event {
	t.Helper()
	var all []event.Event
	for {
		page, more, err := db.List(deadline(t), q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if !more {
			return all
		}
		if len(page) != q.Limit {
			t.Fatalf("a page that is not the last one has %d rows, want %d", len(page), q.Limit)
		}
		key := page[len(page)-1].Key()
		q.Before = &key
	}
}

// withoutTie returns an event in the form in which it was sent to the store.
func withoutTie(e event.Event) event.Event {
	e.Tie, e.VisitorNumber = 0, 0
	return e
}

// newest returns the events of the production environment that keep selects, in feed order.
func newest(rows []event.Row, keep func(*event.Event) bool) []event.Event {
	var out []event.Event
	for i := range rows {
		if rows[i].EnvironmentNumber == 7 && keep(&rows[i].Event) {
			e := rows[i].Event
			e.Environment = "production"
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b event.Event) int {
		return cmp.Or(b.Ts.Compare(a.Ts), cmp.Compare(b.ID, a.ID))
	})
	return out
}

func TestList(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	for i := range rows { // many events at the same time
		rows[i].Event.Ts = rows[i].Event.Ts.Truncate(24 * time.Hour)
	}
	store(t, db, rows, 2000)
	one := rows[3].Event
	visitor := feed(t, db, analytics.EventQuery{Environment: clickhousetest.Production(), ID: one.ID, Limit: 1})[0].VisitorNumber
	stay := func(visitor uint64) *analytics.PersonStays {
		return &analytics.PersonStays{Visitors: []uint64{visitor}, FromMs: []int64{0}, UntilMs: []int64{math.MaxInt64}}
	}
	for _, c := range []struct {
		name  string
		query analytics.EventQuery
		keep  func(*event.Event) bool
	}{
		{"all", analytics.EventQuery{}, func(*event.Event) bool { return true }},
		{"name", analytics.EventQuery{Name: "signup"}, func(e *event.Event) bool { return e.Name == "signup" }},
		{"session", analytics.EventQuery{SessionID: one.SessionID}, func(e *event.Event) bool { return e.SessionID == one.SessionID }},
		{"id", analytics.EventQuery{ID: one.ID}, func(e *event.Event) bool { return e.ID == one.ID }},
		{"a person without a visitor here", analytics.EventQuery{Stays: stay(1)}, func(e *event.Event) bool { return false }},
		{"a person whose visitor stayed", analytics.EventQuery{Stays: stay(visitor)}, func(e *event.Event) bool { return e.Visitor() == one.Visitor() }},
		{"search", analytics.EventQuery{Search: "USER-1"}, func(e *event.Event) bool { return len(e.DistinctID) >= 6 && e.DistinctID[:6] == "user-1" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := newest(rows, c.keep)
			for _, limit := range []int{1, 7, 500} {
				if limit == 1 && len(want) > 100 {
					continue
				}
				c.query.Environment, c.query.Limit = clickhousetest.Production(), limit
				got := feed(t, db, c.query)
				if len(got) != len(want) {
					t.Fatalf("pages of %d hold %d events, want %d", limit, len(got), len(want))
				}
				for i := range want {
					if !reflect.DeepEqual(withoutTie(got[i]), want[i]) {
						t.Fatalf("event %d:\n got %+v\nwant %+v", i, got[i], want[i])
					}
				}
			}
		})
	}
}

// TestPagesHoldRowsOfOneTimeAndID stores items with the same time and id, from several visitors and two blocks. Every
// page size must show each row once.
func TestPagesHoldRowsOfOneTimeAndID(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC)
	for block := range uint64(2) {
		b := db.NewBlock()
		for n := range 16 - 15*block {
			b.Append(&event.Row{
				Event:             event.Event{ID: "same", Name: fmt.Sprint(block, "-", n), Ts: at, DistinctID: fmt.Sprint("u", n)},
				EnvironmentNumber: 7, SessionStartedMs: at.UnixMilli(), RetentionDays: 3650,
			})
		}
		insert(t, db, fmt.Sprint(block), block, b)
	}
	for limit := 1; limit <= 18; limit++ {
		seen := map[string]bool{}
		for _, e := range feed(t, db, analytics.EventQuery{Environment: clickhousetest.Production(), Limit: limit}) {
			seen[e.Name] = true
		}
		if len(seen) != 17 {
			t.Errorf("pages of %d hold %d of 17 events", limit, len(seen))
		}
	}
}

// TestListKeepsEveryField stores and reads an event with every field set.
func TestListKeepsEveryField(t *testing.T) {
	db, value := open(t), 12.5
	at := time.Date(2026, 11, 20, 1, 2, 3, 456e6, time.UTC)
	want := event.Event{
		ID: "i", Ts: at, ReceivedAt: at.Add(7 * time.Millisecond), Name: "n", URL: "u", Path: "p", Title: "t", Referrer: "r",
		DistinctID: "d", AnonymousID: "a", PersonID: "pe", SessionID: "s",
		Country: "c", Region: "re", City: "ci", Device: "de", Browser: "b", BrowserVersion: "bv", OS: "o", OSVersion: "ov",
		Screen: "sc", Locale: "l", Value: &value, Currency: "cu", Properties: json.RawMessage(`{"ü":"\\ '"}`),
		Release: "rel", Library: "lib", IsBot: true, Environment: "production",
		Attribution: event.Attribution{
			ReferrerDomain: "rd", Source: "so", Medium: "me", UTMSource: "us", UTMMedium: "um", UTMCampaign: "uc", UTMTerm: "ut", UTMContent: "uo",
			ClickIDs: event.ClickIDs{GCLID: "1", FBCLID: "2", MSCLKID: "3", TTCLID: "4", LiFatID: "5", TWCLID: "6"},
		},
	}
	v := reflect.ValueOf(want)
	for i := range v.NumField() {
		if v.Field(i).IsZero() && !slices.Contains([]string{"Tie", "VisitorNumber"}, v.Type().Field(i).Name) {
			t.Fatalf("the test sets no %s", v.Type().Field(i).Name)
		}
	}
	b := db.NewBlock()
	b.Append(&event.Row{Event: want, EnvironmentNumber: 7, SessionStartedMs: at.UnixMilli(), RetentionDays: 365})
	insert(t, db, "1", 1, b)
	got := feed(t, db, analytics.EventQuery{Environment: clickhousetest.Production(), Limit: 10})
	if len(got) != 1 || !reflect.DeepEqual(withoutTie(got[0]), want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestSearchMasked(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC)
	events := []event.Event{
		{ID: "1", DistinctID: "jane.doe@example.com", Name: "signup"},
		{ID: "2", DistinctID: "u", URL: "https://x.org/?mail=jane.doe%2540example.com&plan=pro", Name: "view"},
		{ID: "3", DistinctID: "u", Properties: []byte(`{"mail":"jane.doe@example.com","plan":"pro"}`), Name: "view"},
		{ID: "4", DistinctID: "u", Properties: []byte(`{"mail":"jane.doe\u0040example.com","plan":"pro"}`), Name: "view"},
		{ID: "5", DistinctID: "u", Path: "/Example.com/JANE", Name: "view"},
	}
	b := db.NewBlock()
	for i := range events {
		events[i].Ts = at
		b.Append(&event.Row{Event: events[i], EnvironmentNumber: 7, SessionStartedMs: at.UnixMilli(), RetentionDays: 3650})
	}
	insert(t, db, "1", 1, b)
	for _, c := range []struct {
		search string
		masked bool
		want   string
	}{
		{"jane", false, "54321"},
		{"jane", true, "5"},
		{"example.com", false, "54321"},
		{"EXAMPLE.COM", true, "5"},
		{"plan", true, "32"},
		{"doe@ex", true, ""},
		{"SIGN", true, "1"},
		{"%", true, ""},
		{"%", false, "2"},
		{"_", false, ""},
		{`\`, false, "4"},
		{"'", false, ""},
	} {
		got := ""
		for _, e := range feed(t, db, analytics.EventQuery{Environment: clickhousetest.Production(), Search: c.search, SearchMasked: c.masked, Limit: 2}) {
			got += e.ID
		}
		if got != c.want {
			t.Errorf("searching %q, masked %t: got events %q, want %q", c.search, c.masked, got, c.want)
		}
	}
}

// names recomputes the catalogue.
func (m model) names(scope analytics.Scope, goals []goal.Matcher) []analytics.EventName {
	if len(scope.Filters) > 0 {
		scope.Window, _ = scope.Window.Capped()
	}
	plain := scope
	plain.Filters = nil
	completions := map[string]uint64{}
	for _, r := range m.matching(plain) {
		if completes(&r.Event, goals) {
			completions[visitorOf(r)]++
		}
	}
	users, rows := map[string]map[string]bool{}, map[string]*analytics.EventName{}
	for _, r := range m.matching(scope) {
		e := r.Event
		row := rows[e.Name]
		if row == nil {
			row = &analytics.EventName{Name: e.Name}
			rows[e.Name], users[e.Name] = row, map[string]bool{}
		}
		row.Count++
		if row.LastSeenAt == nil || e.Ts.After(*row.LastSeenAt) {
			row.LastSeenAt = &e.Ts
		}
		if !users[e.Name][visitorOf(r)] {
			users[e.Name][visitorOf(r)] = true
			row.Users++
			row.Conversions += completions[visitorOf(r)]
		}
	}
	out := []analytics.EventName{}
	for _, row := range rows {
		out = append(out, *row)
	}
	slices.SortFunc(out, func(a, b analytics.EventName) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func TestNames(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 2000)
	m := model{rows}
	for i, scope := range scopes(t, rows) {
		scope.Filters = filters()[i%len(filters())]
		goals := goalSets()[(i+i/8)%5]
		want := m.names(scope, goals)
		for _, limit := range []int{1, 2, 100} {
			got, q := []analytics.EventName{}, analytics.EventNamesQuery{Scope: scope, Limit: limit}
			for {
				page, err := db.Names(deadline(t), q, goals)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, page.Rows...)
				if !page.More {
					break
				}
				last := got[len(got)-1]
				q.After = &analytics.EventNameKey{Count: last.Count, Name: last.Name}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%+v by pages of %d:\n got %+v\nwant %+v", scope, limit, got, want)
			}
		}
	}
}

// TestNamesMasked lists names for a caller that may not see addresses. Names that differ only in an address are one
// name, across pages and in the conversions of their visitors.
func TestNamesMasked(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	b := db.NewBlock()
	for i, c := range []struct{ name, visitor string }{
		{"invite ada@acme.example", "1"}, {"invite bob@acme.example", "2"}, {"invite bob@acme.example", "1"}, {"signup", "2"},
	} {
		e := event.Event{ID: string(rune('a' + i)), Ts: at.Add(time.Duration(i) * time.Second), Name: c.name, DistinctID: c.visitor}
		b.Append(&event.Row{Event: e, EnvironmentNumber: 7, SessionStartedMs: at.UnixMilli(), RetentionDays: 3650})
	}
	insert(t, db, "1", 1, b)
	goals := []goal.Matcher{{Kind: goal.MatchEvent, Match: "signup"}}
	seen := func(second int) *time.Time {
		last := at.Add(time.Duration(second) * time.Second)
		return &last
	}
	want := []analytics.EventName{
		{Name: "invite ***", Count: 3, Users: 2, Conversions: 1, LastSeenAt: seen(2)}, {Name: "signup", Count: 1, Users: 1, Conversions: 1, LastSeenAt: seen(3)},
	}
	for _, filters := range []filter.Filters{nil, {{Dimension: filter.DimCountry, Value: ""}}} {
		q := analytics.EventNamesQuery{Masked: true, Limit: 1}
		q.Environment, q.Filters = clickhousetest.Production(), filters
		q.Window = domain.Window{From: at.Add(-time.Hour), To: at.Add(time.Hour), Location: time.UTC}
		first, err := db.Names(deadline(t), q, goals)
		if err != nil || !first.More {
			t.Fatalf("%+v %v", first, err)
		}
		q.After = &analytics.EventNameKey{Count: first.Rows[0].Count, Name: first.Rows[0].Name}
		second, err := db.Names(deadline(t), q, goals)
		if got := append(first.Rows, second.Rows...); err != nil || second.More || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %+v %v\nwant %+v", filters, got, err, want)
		}
		q.After, q.Masked, q.Limit = nil, false, 9
		if open, err := db.Names(deadline(t), q, goals); err != nil || len(open.Rows) != 3 {
			t.Errorf("%v: who may see addresses sees %+v %v", filters, open.Rows, err)
		}
	}
}

func TestLiveVisits(t *testing.T) {
	db := open(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	b := db.NewBlock()
	for i, c := range []struct {
		ago     time.Duration
		visitor string
		path    string
		bot     bool
	}{
		{0, "a", "/x", false},
		{time.Minute, "a", "/y", false},
		{299 * time.Second, "b", "/x", false},
		{300 * time.Second, "c", "/x", false},
		{time.Minute, "bot", "/x", true},
	} {
		e := &event.Event{ID: string(rune('0' + i)), Ts: now.Add(-c.ago), Name: event.PageView, DistinctID: c.visitor, Path: c.path, IsBot: c.bot, Device: "mobile"}
		e.Source = "direct"
		b.Append(&event.Row{Event: *e, EnvironmentNumber: 7, SessionStartedMs: e.Ts.UnixMilli(), RetentionDays: 3650})
	}
	insert(t, db, "1", 1, b)
	window := analytics.NewLiveWindow()
	err := db.LiveVisits(deadline(t), clickhousetest.Production().Number, now.Add(-analytics.LiveSeconds*time.Second), func(visit analytics.LiveVisit, block uint64) bool {
		window.Add(visit)
		return block == 1
	})
	if err != nil {
		t.Fatal(err)
	}
	got := window.At(now)
	want := analytics.Live{
		AsOf: now, Visitors: 2, Pageviews: 3, Pages: []analytics.LiveRow{{Value: "/x", Visitors: 2}, {Value: "/y", Visitors: 1}},
		Sources: []analytics.LiveRow{{Value: "direct", Visitors: 2}}, Countries: []analytics.LiveRow{}, Devices: []analytics.LiveRow{{Value: "mobile", Visitors: 2}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
