package reads

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/funnel"
	"svc/domain/goal"
)

// shopRows generates events in two environments, with properties of all types. Persons have several events at the same
// time, and some are recognised.
func shopRows(seed uint64, events int, from time.Time, step time.Duration, steps int64) []event.Row {
	r := rand.New(rand.NewPCG(seed, 9))
	one := func(words ...string) string { return words[r.IntN(len(words))] }
	rows := make([]event.Row, events)
	for i := range rows {
		person := r.IntN(60)
		at := from.Add(time.Duration(r.Int64N(steps)) * step)
		e := event.Event{
			ID: fmt.Sprintf("%08x", r.Uint32()), Ts: at, ReceivedAt: at, Name: one(event.PageView, "$pageview", "signup", "purchase", "it's \\ odd"),
			Path: one("/", "/pricing", "/pricing/pro", "/döcs*", ""), URL: "https://shop.example/" + one("a", "b"), Title: one("", "Über uns"),
			DistinctID: fmt.Sprint("user-", person), AnonymousID: fmt.Sprint("anon-", person), SessionID: "s",
			Country: one("DE", "NP", ""), Browser: "Firefox", BrowserVersion: one("9", "10.5", "x10"), Locale: "de", IsBot: r.IntN(20) == 0,
			Currency: one("", "EUR"), Release: one("1.0", "2"),
			Properties: json.RawMessage(one(
				`{}`, `{"plan":"pro","n":5}`, `{"plan":null,"n":"5.0"}`, `{"plan":true,"n":-1.5}`, `{"plan":["pro"],"n":"a 5"}`, `{"plan":{"a":1},"n":12}`, `{"plan":"","n":"007"}`, `{"pl\"an":"'x'\\","plan":"pro"}`,
			)),
		}
		e.Source = one("google", "news", "")
		switch person % 5 {
		case 0:
			e.DistinctID = ""
		case 1: // half of the events show that two visitors are one person
			if r.IntN(2) == 0 {
				e.PersonID = fmt.Sprint("per-", person/10)
			}
		}
		if r.IntN(3) == 0 {
			value := float64(r.IntN(40)) / 4
			e.Value = &value
		}
		rows[i] = event.Row{Event: e, EnvironmentNumber: uint64(7 + i%8/7), SessionStartedMs: at.UnixMilli(), RetentionDays: 3650}
	}
	return rows
}

// randomFunnel returns a funnel with steps that use everything that a step may use.
func randomFunnel(r *rand.Rand) funnel.Funnel {
	matchers := []goal.Matcher{
		{Kind: goal.MatchPath, Match: "/"},
		{Kind: goal.MatchPath, Match: "/pricing*"},
		{Kind: goal.MatchPath, Match: "*"},
		{Kind: goal.MatchPath, Match: "/döcs*"},
		{Kind: goal.MatchEvent, Match: "signup"},
		{Kind: goal.MatchEvent, Match: "purchase"},
		{Kind: goal.MatchEvent, Match: "it's \\ odd"},
		{Kind: goal.MatchEvent, Match: "nothing"},
	}
	filters := []filter.StepFilter{
		{Property: "country", Op: filter.OpEq, Value: "DE"},
		{Property: "source", Op: filter.OpNeq, Value: "google"},
		{Property: "url", Op: filter.OpContains, Value: "/a"},
		{Property: "title", Op: filter.OpNotContains, Value: "Über"},
		{Property: "country", Op: filter.OpIn, Value: []any{"NP", "", 5.0}},
		{Property: "value", Op: filter.OpGt, Value: 2.5},
		{Property: "value", Op: filter.OpLte, Value: 2.5},
		{Property: "value", Op: filter.OpExists},
		{Property: "value", Op: filter.OpEq, Value: 2.5},
		{Property: "value", Op: filter.OpNeq, Value: "2.5"},
		{Property: "property.n", Op: filter.OpGte, Value: 5.0},
		{Property: "property.n", Op: filter.OpLt, Value: 0.0},
		{Property: "property.n", Op: filter.OpEq, Value: 5.0},
		{Property: "property.n", Op: filter.OpEq, Value: "5"},
		{Property: "property.n", Op: filter.OpNeq, Value: 7.0},
		{Property: "property.plan", Op: filter.OpExists, Value: true},
		{Property: "property.plan", Op: filter.OpExists, Value: false},
		{Property: "property.plan", Op: filter.OpEq, Value: true},
		{Property: "property.plan", Op: filter.OpIn, Value: []any{"pro", true}},
		{Property: "property.plan", Op: filter.OpContains, Value: "pro"},
		{Property: `property.pl"an`, Op: filter.OpEq, Value: `'x'\`},
		{Property: "property.none", Op: filter.OpNeq, Value: "x"},
		{Property: "browser_version", Op: filter.OpGt, Value: 9.5},
		{Property: "event", Op: filter.OpContains, Value: "sign"},
		{Property: "name", Op: filter.OpNotContains, Value: "page"},
		{Property: "release", Op: filter.OpLte, Value: 1.0},
	}
	f := funnel.Funnel{ID: "fun_1", Name: "f", WindowHours: []int{1, 2, 5}[r.IntN(3)]}
	for range 2 + r.IntN(4) {
		step := funnel.Step{Matcher: matchers[r.IntN(len(matchers))]}
		for range max(0, r.IntN(4)-1) {
			step.Filters = append(step.Filters, filters[r.IntN(len(filters))])
		}
		f.Steps = append(f.Steps, step)
	}
	return f
}

// funnel counts a funnel by its definition: every attempt of every person, step by step.
func (m model) funnel(scope analytics.Scope, f *funnel.Funnel) []funnel.Row {
	rows := m.inScope(scope)
	slices.SortFunc(rows, func(a, b *event.Row) int {
		return cmp.Or(a.Event.Ts.Compare(b.Event.Ts), cmp.Compare(a.Event.ID, b.Event.ID))
	})
	persons := map[string][]*event.Row{}
	for _, row := range rows {
		persons[row.Event.Person()] = append(persons[row.Event.Person()], row)
	}
	reached, took := make([]uint64, len(f.Steps)), make([][]float64, len(f.Steps))
	for _, rows := range persons {
		for i, at := range deepest(scope.Window, f, rows) {
			reached[i]++
			took[i] = append(took[i], at)
		}
	}
	out := make([]funnel.Row, len(f.Steps))
	for i := range out {
		out[i] = funnel.Row{Step: i + 1, Name: f.Steps[i].Match, Entered: reached[i], Converted: reached[min(i+1, len(reached)-1)]}
		out[i].DropOff = out[i].Entered - out[i].Converted
		if out[i].Entered > 0 {
			out[i].ConversionRate = float64(out[i].Converted) / float64(out[i].Entered)
		}
		if slices.Sort(took[i]); i > 0 && len(took[i]) > 0 {
			median := (took[i][(len(took[i])-1)/2] + took[i][len(took[i])/2]) / 2
			out[i].MedianSeconds = &median
		}
	}
	return out
}

// deepest returns the seconds of each step since the step before, for the first of a person's deepest attempts.
func deepest(w domain.Window, f *funnel.Funnel, rows []*event.Row) (took []float64) {
	for i, first := range rows {
		if !inWindow(w, first.Event.Ts) || !f.Steps[0].Takes(&first.Event) {
			continue
		}
		attempt, last := []float64{0}, first.Event.Ts
		for _, row := range rows[i+1:] {
			inTime := row.Event.Ts.Sub(first.Event.Ts) <= f.Window()
			if len(attempt) < len(f.Steps) && inTime && f.Steps[len(attempt)].Takes(&row.Event) {
				attempt = append(attempt, row.Event.Ts.Sub(last).Seconds())
				last = row.Event.Ts
			}
		}
		if len(attempt) > len(took) {
			took = attempt
		}
	}
	return took
}

// TestFunnelResult compares the engine with the definition, over random events and funnels.
func TestFunnelResult(t *testing.T) {
	from := time.Date(2026, 10, 24, 20, 0, 0, 0, time.UTC)
	deep := 0
	for seed, grid := range []time.Duration{time.Hour, 10 * time.Minute, time.Second} {
		db := open(t)
		rows := shopRows(uint64(seed), 2500, from, grid, int64(20*time.Hour/grid))
		store(t, db, rows, 700)
		m, r := model{rows}, rand.New(rand.NewPCG(5, uint64(seed)))
		for range each(60) {
			f := randomFunnel(r)
			start := from.Add(time.Duration(r.IntN(10)) * time.Hour)
			scope := analytics.Scope{
				Environment: domain.Environment{Number: 7}, IncludeBots: r.IntN(2) == 0,
				Window: domain.Window{From: start, To: start.Add(time.Duration(1+r.IntN(8)) * time.Hour), Location: time.UTC},
			}
			got, err := db.FunnelResult(deadline(t), scope, f)
			if err != nil {
				t.Fatal(err)
			}
			want := funnel.Result{Rows: m.funnel(scope, &f)}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v\n%+v\n got %s\nwant %s", f, scope, shown(t, got.Rows), shown(t, want.Rows))
			}
			for i, row := range got.Rows {
				if row.Converted+row.DropOff != row.Entered || i > 0 && got.Rows[i-1].Converted != row.Entered {
					t.Errorf("the rows do not add up: %s", shown(t, got.Rows))
				}
			}
			if got.Rows[min(2, len(got.Rows)-1)].Entered > 0 {
				deep++
			}
		}
	}
	if deep < each(60) {
		t.Errorf("only %d funnels have persons in their third step", deep)
	}
}

func shown(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFunnelCapped requests a year: a funnel with filters covers the last 90 days of it.
func TestFunnelCapped(t *testing.T) {
	db := open(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	rows := slices.Concat(shopRows(1, 400, now.AddDate(0, 0, -200), time.Minute, 100), shopRows(2, 300, now.AddDate(0, 0, -2), time.Minute, 100))
	store(t, db, rows, 1000)
	scope := analytics.Scope{Environment: domain.Environment{Number: 7}, Window: domain.Window{From: now.AddDate(-1, 0, 0), To: now, Location: time.UTC}}
	f := funnel.Funnel{WindowHours: 1, Steps: []funnel.Step{
		{Matcher: goal.Matcher{Kind: goal.MatchPath, Match: "*"}}, {Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "signup"}},
	}}
	for _, filtered := range []bool{false, true} {
		covered := scope
		if filtered {
			f.Steps[0].Filters = []filter.StepFilter{{Property: "browser", Op: filter.OpEq, Value: "Firefox"}}
			covered.Window.From = now.AddDate(0, 0, -90)
		}
		got, err := db.FunnelResult(deadline(t), scope, f)
		if err != nil {
			t.Fatal(err)
		}
		if want := (funnel.Result{Rows: model{rows}.funnel(covered, &f), Capped: filtered}); !reflect.DeepEqual(got, want) {
			t.Errorf("filtered %t: got %s, want %s", filtered, shown(t, got), shown(t, want))
		}
	}
}

// TestFunnelOfManyTies has more tied times than one read lists.
func TestFunnelOfManyTies(t *testing.T) {
	db := open(t)
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	b := db.NewBlock()
	for i := range maxInstants + 1 {
		for j, name := range []string{"b", "a"} { // the event with the lower id is the second step
			at := from.Add(time.Duration(i) * time.Second)
			e := event.Event{ID: fmt.Sprint(j), Ts: at, ReceivedAt: at, Name: name, DistinctID: fmt.Sprint(i)}
			if i%2 == 0 {
				e.ID = fmt.Sprint(9 - j)
			}
			b.Append(&event.Row{Event: e, EnvironmentNumber: 7, RetentionDays: 3650})
		}
	}
	insert(t, db, "x", 1, b)
	scope := analytics.Scope{Environment: domain.Environment{Number: 7}, Window: domain.Window{From: from, To: from.AddDate(0, 0, 5), Location: time.UTC}}
	f := funnel.Funnel{WindowHours: 1, Steps: []funnel.Step{{Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "a"}}, {Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "b"}}}}
	got, err := db.FunnelResult(deadline(t), scope, f)
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows[0].Entered != maxInstants+1 || got.Rows[1].Entered != maxInstants/2+1 || *got.Rows[1].MedianSeconds != 0 {
		t.Errorf("%s", shown(t, got.Rows))
	}
}
