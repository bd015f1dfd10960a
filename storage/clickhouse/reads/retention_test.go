package reads

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/storage/clickhouse/clickhousetest"
)

func (m model) retention(q analytics.RetentionQuery) []analytics.Cohort {
	plain := q.Scope
	plain.Filters = nil
	if len(q.Filters) > 0 {
		q.Window, _ = q.Window.Capped()
	}
	first := map[string]time.Time{}
	for _, r := range m.inScope(plain) {
		if at, known := first[visitorOf(r)]; !known || r.Event.Ts.Before(at) {
			first[visitorOf(r)] = r.Event.Ts
		}
	}
	period := func(at time.Time) int64 { return q.CohortBy.Floor(at.In(q.Window.Location)).Unix() }
	seen, counted := map[string]map[int64]bool{}, map[string]map[int64]bool{}
	for _, r := range m.matching(q.Scope) {
		visitor := visitorOf(r)
		if seen[visitor] == nil {
			seen[visitor], counted[visitor] = map[int64]bool{}, map[int64]bool{}
		}
		seen[visitor][period(r.Event.Ts)] = true
		if q.Event == "" || r.Event.Name == q.Event {
			counted[visitor][period(r.Event.Ts)] = true
		}
	}
	out := []analytics.Cohort{}
	begins := q.Window.Buckets(q.CohortBy)
	for i, begin := range begins {
		cohort := analytics.Cohort{From: begin, Periods: make([]uint64, len(begins)-i)}
		for visitor, at := range first {
			if !inWindow(q.Window, at) || period(at) != begin.Unix() || !seen[visitor][begin.Unix()] {
				continue
			}
			cohort.Size++
			for k := range cohort.Periods {
				if k == 0 || counted[visitor][begins[i+k].Unix()] {
					cohort.Periods[k]++
				}
			}
		}
		out = append(out, cohort)
	}
	return out
}

func (m model) activeUsers(scope analytics.Scope) (out analytics.ActiveUsers) {
	if len(scope.Filters) > 0 {
		scope.Window, out.Capped = scope.Window.Capped()
	}
	loc := scope.Window.Location
	for _, day := range scope.Window.Buckets(domain.Day) {
		end := domain.Day.Next(day)
		if end.After(scope.Window.To) {
			end = scope.Window.To
		}
		unique := func(days int) float64 {
			s := scope
			s.Window = domain.Window{From: domain.Day.Floor(day.In(loc).AddDate(0, 0, 1-days)), To: end, Location: loc}
			visitors := map[string]bool{}
			for _, r := range m.matching(s) {
				visitors[visitorOf(r)] = true
			}
			return float64(len(visitors))
		}
		dau, wau, mau := unique(1), unique(7), unique(30)
		stickiness := 0.0
		if mau > 0 {
			stickiness = dau / mau
		}
		out.DAU, out.WAU = append(out.DAU, analytics.Point{T: day, Value: dau}), append(out.WAU, analytics.Point{T: day, Value: wau})
		out.MAU, out.Stickiness = append(out.MAU, analytics.Point{T: day, Value: mau}), append(out.Stickiness, analytics.Point{T: day, Value: stickiness})
	}
	return out
}

// rowFilters returns the filters that use only the event itself.
func rowFilters() []filter.Filters {
	return slices.DeleteFunc(filters(), func(f filter.Filters) bool {
		return slices.ContainsFunc(f, func(f filter.Filter) bool {
			return f.Dimension == filter.DimEntryPath || f.Dimension == filter.DimExitPath
		})
	})
}

func TestRetention(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 300)
	for i, scope := range scopes(t, rows) {
		for j, f := range filters() {
			if j > 0 && (i+j)%4 != 0 {
				continue
			}
			scope.Filters = f
			q := analytics.RetentionQuery{Scope: scope, CohortBy: analytics.CohortIntervals()[(i+j)%2], Event: []string{"", "", "signup"}[(i+j)%3]}
			got, err := db.Retention(deadline(t), q)
			if err != nil {
				t.Fatal(err)
			}
			if want := (model{rows}).retention(q); !reflect.DeepEqual(got.Cohorts, want) {
				t.Errorf("%s %q %s..%s %s filters %q:\n got %v\nwant %v", q.CohortBy, q.Event, scope.Window.From, scope.Window.To, scope.Window.Location, f, got.Cohorts, want)
			}
			for _, cohort := range got.Cohorts {
				if cohort.Periods[0] != cohort.Size || slices.Max(cohort.Periods) > cohort.Size {
					t.Errorf("%+v: nobody comes back who was not there", cohort)
				}
			}
		}
	}
}

// TestRetentionKnowsWhoIsNew repeats blocks and stores the first event of a visitor last.
func TestRetentionKnowsWhoIsNew(t *testing.T) {
	db := open(t)
	monday := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	q := analytics.RetentionQuery{Scope: analytics.Scope{Environment: domain.Environment{Number: 7}, Window: domain.Window{
		From: monday, To: monday.AddDate(0, 0, 21), Location: time.UTC,
	}}, CohortBy: domain.Week}
	visit := func(token, visitor string, days int, bot bool) {
		b := db.NewBlock()
		r := clickhousetest.Row(7, monday.AddDate(0, 0, days).Add(time.Hour), token, visitor, token)
		r.Event.IsBot = bot
		b.Append(r)
		for range 2 {
			insert(t, db, token, 1, b)
		}
	}
	want := func(step string, cohorts ...[]uint64) {
		t.Helper()
		got, err := db.Retention(deadline(t), q)
		if err != nil {
			t.Fatal(err)
		}
		for i, cohort := range got.Cohorts {
			if !slices.Equal(cohort.Periods, cohorts[i]) || !cohort.From.Equal(monday.AddDate(0, 0, 7*i)) {
				t.Errorf("%s: cohort %d is %+v, want %v", step, i, cohort, cohorts[i])
			}
		}
	}
	visit("1", "ada", 8, false)
	visit("2", "ada", 15, false)
	visit("3", "crawler", 1, true)
	want("new in the second week", []uint64{0, 0, 0}, []uint64{1, 1}, []uint64{0})
	visit("4", "ada", 0, false)
	want("an earlier event arrived late", []uint64{1, 1, 1}, []uint64{0, 0}, []uint64{0})
	visit("5", "ada", -100, false)
	want("she was there before the window", []uint64{0, 0, 0}, []uint64{0, 0}, []uint64{0})
}

func TestActiveUsers(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 300)
	for i, scope := range scopes(t, rows) {
		for j, f := range rowFilters() {
			if (i+j)%3 != 0 {
				continue
			}
			scope.Filters = f
			want := (model{rows}).activeUsers(scope)
			for range 2 { // the second time from the cache
				got, err := db.ActiveUsers(deadline(t), scope)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%s..%s %s filters %q:\n got %v\nwant %v", scope.Window.From, scope.Window.To, scope.Window.Location, f, got, want)
				}
			}
			for k := range want.DAU {
				if want.DAU[k].Value > want.WAU[k].Value || want.WAU[k].Value > want.MAU[k].Value {
					t.Errorf("day %d: DAU, WAU and MAU must ascend", k)
				}
			}
		}
	}
}

// TestActiveUsersFollowInserts reads before and after every insert, so that cached activity of past days meets changed
// data.
func TestActiveUsersFollowInserts(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	slices.SortFunc(rows, func(a, b event.Row) int { return a.Event.Ts.Compare(b.Event.Ts) })
	scope := scopes(t, rows)[1]
	for i := 0; i < len(rows); i += 250 {
		end := min(i+250, len(rows))
		b := db.NewBlock()
		for j := i; j < end; j++ {
			b.Append(&rows[(j*7)%len(rows)])
		}
		insert(t, db, fmt.Sprint(i), uint64(i), b)
		var stored []event.Row
		for j := range end {
			stored = append(stored, rows[(j*7)%len(rows)])
		}
		got, err := db.ActiveUsers(deadline(t), scope)
		if err != nil {
			t.Fatal(err)
		}
		if want := (model{stored}).activeUsers(scope); !reflect.DeepEqual(got, want) {
			t.Fatalf("after %d rows:\n got %v\nwant %v", end, got, want)
		}
	}
}

// TestNewcomersOfStoredEvents applies the migration to a store that already has events.
func TestNewcomersOfStoredEvents(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 5000)
	q := analytics.RetentionQuery{Scope: scopes(t, rows)[0], CohortBy: domain.Week}
	want, err := db.Retention(deadline(t), q)
	if err != nil {
		t.Fatal(err)
	}
	newcomers, err := os.ReadFile("../migrations/20261120_04_newcomers.sql")
	if err != nil {
		t.Fatal(err)
	}
	exec(t, db, "TRUNCATE TABLE newcomers")
	for range 2 {
		clickhousetest.ExecAll(t, db.conn, string(newcomers))
		if got, err := db.Retention(deadline(t), q); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v %v, want %v", got, err, want)
		}
	}
}
