package reads

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/goal"
	"svc/storage/clickhouse/clickhousetest"
)

// scopes returns windows on which the engine and the model must agree: whole days, windows with arbitrary milliseconds
// as ends, windows within one slot, and windows over clock changes.
func scopes(t testing.TB, rows []event.Row) []analytics.Scope {
	t.Helper()
	environment := domain.Environment{Number: 7, Slug: "production"}
	event := rows[len(rows)/2].Event.Ts
	spans := []struct{ from, to time.Time }{
		{time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 5, 0, 0, 0, 0, time.UTC)},
		{time.Date(2026, 10, 10, 3, 7, 11, 123e6, time.UTC), time.Date(2026, 11, 2, 14, 52, 59, 999e6, time.UTC)},
		{time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 23, 0, 0, 0, time.UTC)},
		{event, event.Add(time.Millisecond)},
		{event.Add(time.Millisecond), event.Add(36 * time.Hour)},
		{event.Add(-36 * time.Hour), event},
		{event.Add(-3 * time.Minute).Truncate(15 * time.Minute), event.Add(11 * time.Minute)},
		{time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 3, 0, 0, 0, 0, time.UTC)},
	}
	var out []analytics.Scope
	for _, zone := range []string{"UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Pacific/Chatham"} {
		for i, s := range spans {
			out = append(out, analytics.Scope{
				Environment: environment, IncludeBots: i%2 == 1,
				Window: domain.Window{From: s.from, To: s.to, Location: clickhousetest.Location(t, zone)},
			})
		}
	}
	return out
}

func filters() []filter.Filters {
	return []filter.Filters{
		nil,
		{{Dimension: filter.DimPath, Value: "/p/3"}},
		{{Dimension: filter.DimSource, Value: "google"}, {Dimension: filter.DimCountry, Value: "NP"}},
		{{Dimension: filter.DimEvent, Value: "signup"}},
		{{Dimension: filter.DimEntryPath, Value: "/p/1"}},
		{{Dimension: filter.DimEntryPath, Value: "/p/1"}, {Dimension: filter.DimExitPath, Value: "/p/2"}, {Dimension: filter.DimBrowser, Value: "Safari"}},
		{{Dimension: filter.DimCity, Value: "Ü-Stadt 'quoted' \\ \t"}},
		{{Dimension: filter.DimPath, Value: "' OR 1=1 --"}},
	}
}

func goalSets() [][]goal.Matcher {
	return [][]goal.Matcher{
		nil,
		{eventOf("signup"), eventOf("purchase"), eventOf("signup")},
		{eventOf("purchase"), viewOf("/p/4"), viewOf("/p/1*")},
		{eventOf("page_view"), viewOf("/p/*")},
		{viewOf("/x'y\\*"), viewOf("/ü.*|")},
	}
}

func TestOverview(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 300)
	m := model{rows}
	for i, scope := range scopes(t, rows) {
		for j, f := range filters() {
			if j > 0 && ((i+j)%4 != 0 || skipped(i+j/4)) {
				continue
			}
			scope.Filters = f
			goals := goalSets()[(i+j/4)%5]
			got, err := db.Overview(deadline(t), scope, goals)
			if err != nil {
				t.Fatal(err)
			}
			want := analytics.Overview{Window: scope.Window, Current: m.headline(scope, goals)}
			previous := scope
			previous.Window = scope.Window.Previous()
			want.Previous = m.headline(previous, goals)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s..%s %s bots %t filters %q goals %v:\n got %+v\nwant %+v", scope.Window.From, scope.Window.To,
					scope.Window.Location, scope.IncludeBots, f, goals, got, want)
			}
			for _, h := range []analytics.Headline{got.Current, got.Previous} {
				if h.UniqueVisitors > h.Visitors || h.Visitors > h.Sessions || h.Sessions > h.Events {
					t.Errorf("%+v: unique visitors, visitors, sessions and events must ascend", h)
				}
			}
		}
	}
}

// TestOverviewComparesWhatIsCovered requests more than a filtered read covers. The comparison is then with the 90 days
// immediately before the 90 days that count.
func TestOverviewComparesWhatIsCovered(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 5000)
	scope := scopes(t, rows)[0]
	scope.Window.From, scope.Window.To = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 15, 0, 0, 0, 0, time.UTC)
	scope.Filters = filters()[1]
	got, err := db.Overview(deadline(t), scope, nil)
	if err != nil {
		t.Fatal(err)
	}
	current, previous := scope, scope
	current.Window, _ = scope.Window.Capped()
	previous.Window = current.Window.Previous()
	m := model{rows}
	want := analytics.Overview{Window: scope.Window, Capped: true, Current: m.headline(current, nil), Previous: m.headline(previous, nil)}
	if !reflect.DeepEqual(got, want) || want.Previous.Events == 0 {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// TestOverviewFollowsInserts reads before and after every insert, so that cached days meet changed data.
func TestOverviewFollowsInserts(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	scope := scopes(t, rows)[9]
	const step = 200
	for i := 0; i < len(rows); i += step {
		end := min(i+step, len(rows))
		b := db.NewBlock()
		for j := i; j < end; j++ {
			b.Append(&rows[j])
		}
		insert(t, db, fmt.Sprint(i), uint64(i), b)
		for range 2 {
			got, err := db.Overview(deadline(t), scope, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := (model{rows[:end]}).headline(scope, nil); got.Current != want {
				t.Fatalf("after %d rows:\n got %+v\nwant %+v", end, got.Current, want)
			}
		}
	}
}

func TestCountInEngine(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 5000)
	for _, scope := range scopes(t, rows) {
		days := localDays(scope.Window)
		counts := windowCounts{buckets: map[int64]tally{}}
		if err := db.countInEngine(deadline(t), scope, days, &counts); err != nil {
			t.Fatal(err)
		}
		got, want := counts.headline(nil), (model{rows}).headline(scope, nil)
		if got.Visitors != want.Visitors || got.Sessions != want.Sessions || got.UniqueVisitors != want.UniqueVisitors {
			t.Errorf("%+v: got %+v, want %+v", scope.Window, got, want)
		}
	}
}

func TestTimeseries(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 5000)
	m := model{rows}
	for i, scope := range scopes(t, rows) {
		for j, f := range filters() {
			if (i+j)%len(filters()) != 0 && j > 0 {
				continue
			}
			scope.Filters = f
			for k, metric := range analytics.Metrics() {
				if skipped(i + j + k) {
					continue
				}
				for _, interval := range []domain.Interval{domain.Hour, []domain.Interval{domain.Day, domain.Week, domain.Month}[(i+j+k)%3]} {
					goals := goalSets()[(i+j)%5]
					got, err := db.Timeseries(deadline(t), scope, metric, interval, goals)
					if err != nil {
						t.Fatal(err)
					}
					want := m.series(scope, metric, interval, goals)
					if len(got.Points) != len(want) {
						t.Fatalf("%d points, want %d", len(got.Points), len(want))
					}
					for k := range want {
						if !got.Points[k].T.Equal(want[k].T) || got.Points[k].Value != want[k].Value {
							t.Fatalf("%s %s %+v filters %q point %d: got %v, want %v", metric, interval, scope.Window, f, k, got.Points[k], want[k])
						}
					}
				}
			}
		}
	}
}
