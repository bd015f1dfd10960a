package reads

import (
	"cmp"
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
	"svc/domain/funnel"
	"svc/domain/goal"
	"svc/storage/clickhouse/people"
)

// byPerson returns the events of the scope by person, in order.
func (m model) byPerson(scope analytics.Scope) map[string][]*event.Row {
	rows := m.inScope(scope)
	slices.SortFunc(rows, func(a, b *event.Row) int {
		return cmp.Or(a.Event.Ts.Compare(b.Event.Ts), cmp.Compare(a.Event.ID, b.Event.ID))
	})
	persons := map[string][]*event.Row{}
	for _, row := range rows {
		persons[row.Event.Person()] = append(persons[row.Event.Person()], row)
	}
	return persons
}

// funnelValues counts a funnel by its definition, separately for the persons of each value.
func (m model) funnelValues(scope analytics.Scope, f *funnel.Funnel, split funnel.Split) []funnel.Value {
	groups, entered := map[string]model{}, map[string]int{}
	for _, rows := range m.byPerson(scope) {
		first := slices.IndexFunc(rows, func(row *event.Row) bool {
			return inWindow(scope.Window, row.Event.Ts) && f.Steps[0].Takes(&row.Event)
		})
		if first < 0 {
			continue
		}
		value := filter.StepFilter{Property: string(split.Dimension)}.Text(&rows[first].Event)
		if split.Masked && value != "" && strings.Contains(string(split.Dimension), "email") {
			value = "***"
		}
		group := groups[value]
		for _, row := range rows {
			group.rows = append(group.rows, *row)
		}
		groups[value] = group
		entered[value]++
	}
	out := []funnel.Value{}
	for value, group := range groups {
		out = append(out, funnel.Value{Value: value, Rows: group.funnel(scope, f)})
	}
	slices.SortFunc(out, func(a, b funnel.Value) int {
		return cmp.Or(cmp.Compare(entered[b.Value], entered[a.Value]), cmp.Compare(a.Value, b.Value))
	})
	return out
}

// droppedOff returns the persons that went no further than a step, by the definition of funnels.
func (m model) droppedOff(scope analytics.Scope, f *funnel.Funnel, step int) []uint64 {
	out := []uint64{}
	for person, rows := range m.byPerson(scope) {
		if len(deepest(scope.Window, f, rows)) == step {
			out = append(out, people.VisitorNumber(person))
		}
	}
	slices.Sort(out)
	return out
}

// TestFunnelPeople compares the values of funnels and the drop-offs at their steps with the definition, over random
// events and funnels.
func TestFunnelPeople(t *testing.T) {
	from := time.Date(2026, 10, 24, 20, 0, 0, 0, time.UTC)
	dimensions := []filter.Dimension{filter.DimCountry, filter.DimSource, filter.DimPath, filter.DimEvent, "property.plan", "property.n", `property.pl"an`}
	dropped := 0
	for seed, grid := range []time.Duration{10 * time.Minute, time.Second} {
		db := open(t)
		rows := shopRows(uint64(seed+7), 2000, from, grid, int64(20*time.Hour/grid))
		store(t, db, rows, 700)
		m, r := model{rows}, rand.New(rand.NewPCG(6, uint64(seed)))
		for range each(45) {
			f := randomFunnel(r)
			start := from.Add(time.Duration(r.IntN(10)) * time.Hour)
			scope := analytics.Scope{
				Environment: domain.Environment{Number: 7}, IncludeBots: r.IntN(2) == 0,
				Window: domain.Window{From: start, To: start.Add(time.Duration(1+r.IntN(8)) * time.Hour), Location: time.UTC},
			}
			split := funnel.Split{Dimension: dimensions[r.IntN(len(dimensions))], Masked: r.IntN(2) == 0}
			got, err := db.FunnelSplit(deadline(t), scope, f, split)
			if err != nil {
				t.Fatal(err)
			}
			want := funnel.Result{Rows: m.funnel(scope, &f), Values: m.funnelValues(scope, &f, split)}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v by %+v\n%+v\n got %s\nwant %s", f, split, scope, shown(t, got), shown(t, want))
			}
			step := 1 + r.IntN(len(f.Steps)-1)
			who, err := db.DroppedOff(deadline(t), scope, f, step)
			if want := m.droppedOff(scope, &f, step); err != nil || !slices.Equal(who, want) {
				t.Fatalf("%+v\n%+v\nat step %d dropped off %v, %v, want %v", f, scope, step, who, err, want)
			}
			if uint64(len(who)) != got.Rows[step-1].DropOff {
				t.Errorf("%d persons dropped off at step %d, the rows say %d", len(who), step, got.Rows[step-1].DropOff)
			}
			dropped += len(who)
		}
	}
	if dropped < 100 {
		t.Errorf("only %d persons dropped off", dropped)
	}
}

// TestFunnelByPersonalValues splits a funnel by properties that name persons. A caller that may not see them gets one
// masked value.
func TestFunnelByPersonalValues(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	b := db.NewBlock()
	for i, one := range []string{`{"email":"ada@acme.example","note":"for ada@acme.example"}`, `{"email":"bob@acme.example","note":"for bob@acme.example"}`, `{"note":"plain"}`} {
		e := event.Event{ID: string(rune('a' + i)), Ts: at, ReceivedAt: at, Name: "signup", DistinctID: string(rune('a' + i)), Properties: []byte(one)}
		b.Append(&event.Row{Event: e, EnvironmentNumber: 7, RetentionDays: 3650})
	}
	insert(t, db, "x", 1, b)
	scope := analytics.Scope{Environment: domain.Environment{Number: 7}, Window: domain.Window{From: at.AddDate(-1, 0, 0), To: at.Add(time.Hour), Location: time.UTC}}
	f := funnel.Funnel{WindowHours: 1, Steps: []funnel.Step{{Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "signup"}}, {Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "order"}}}}
	for _, one := range []struct {
		key    string
		masked bool
		want   []string
	}{
		{"email", false, []string{"", "ada@acme.example", "bob@acme.example"}},
		{"email", true, []string{"***", ""}},
		{"note", true, []string{"for ***", "plain"}},
	} {
		got, err := db.FunnelSplit(deadline(t), scope, f, funnel.Split{Dimension: filter.Dimension(filter.PropertyPrefix + one.key), Masked: one.masked})
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, value := range got.Values {
			words = append(words, value.Value)
		}
		if !slices.Equal(words, one.want) || !got.Capped || got.Rows[0].Entered != 3 {
			t.Errorf("%s, masked %t: %q, %+v", one.key, one.masked, words, got)
		}
	}
}
