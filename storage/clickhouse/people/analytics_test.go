package people_test

import (
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
	"svc/domain/person"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/reads"
)

// TestFunnelsAndRetentionCountPersons compares the counts of random histories with the counts of the same events in
// another environment, in which each event carries its person as distinct id and no visitors are linked.
func TestFunnelsAndRetentionCountPersons(t *testing.T) {
	for seed := range seeds(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			db, rows := open(t), history(random, 150+random.IntN(150))
			for i := range rows {
				rows[i].Ts = rows[i].Ts.Truncate(time.Duration(1+random.IntN(2)*3_600_000) * time.Millisecond) // some at the same instant
				rows[i].SessionStartedMs = rows[i].Ts.UnixMilli()
			}
			const alone = environment + 1
			persons, _ := grouped(rows)
			block := db.blocks.NewBlock()
			for i := range rows {
				block.Append(&rows[i])
			}
			for person, events := range persons {
				for _, row := range events {
					renamed := *row
					renamed.EnvironmentNumber, renamed.DistinctID, renamed.AnonymousID = alone, "person "+person, ""
					if row.Name == event.IdentifyEvent || row.Name == event.AliasEvent {
						renamed.Name = "told"
					}
					block.Append(&renamed)
				}
			}
			if err := db.blocks.Insert(clickhousetest.Deadline(t), "block-1", 1, block); err != nil {
				t.Fatal(err)
			}
			if err := db.Unite(clickhousetest.Deadline(t), environment); err != nil {
				t.Fatal(err)
			}
			store, err := reads.New(db.conn)
			if err != nil {
				t.Fatal(err)
			}
			from, to := rows[0].Ts.Truncate(24*time.Hour).AddDate(0, 0, random.IntN(3)), rows[len(rows)-1].Ts.Add(time.Hour)
			window := domain.Window{From: from, To: to, Location: time.UTC}
			compareReads(t, store, window, environment, alone)
			comparePeople(t, db, store, window, environment, alone)
		})
	}
}

// comparePeople checks that two environments have the same funnels by property values, and that the lists of people
// that dropped off have the sizes that the funnel reports.
func comparePeople(t *testing.T, db *testDB, store *reads.Store, window domain.Window, one, other uint64) {
	t.Helper()
	scope := func(number uint64) analytics.Scope {
		return analytics.Scope{Environment: domain.Environment{Number: number}, Window: window}
	}
	f := funnel.Funnel{ID: "fun_1", WindowHours: 48, Steps: []funnel.Step{
		{Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: event.PageView}}, {Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "order"}},
	}}
	for _, dimension := range []filter.Dimension{filter.DimPath, filter.DimSource, filter.DimCountry, "property.plan"} {
		got, err := store.FunnelSplit(clickhousetest.Deadline(t), scope(one), f, funnel.Split{Dimension: dimension})
		want, bad := store.FunnelSplit(clickhousetest.Deadline(t), scope(other), f, funnel.Split{Dimension: dimension})
		if err != nil || bad != nil || !reflect.DeepEqual(got, want) || len(want.Values) == 0 {
			t.Errorf("by %s the funnel is %+v (%v), want %+v (%v)", dimension, got, err, want, bad)
		}
		dropped, err := store.DroppedOff(clickhousetest.Deadline(t), scope(one), f, 1)
		if err != nil || uint64(len(dropped)) != got.Rows[0].DropOff {
			t.Fatalf("%d dropped off, %v, want %d", len(dropped), err, got.Rows[0].DropOff)
		}
		list, err := db.People(clickhousetest.Deadline(t), person.Query{Environment: domain.Environment{Number: one}, Persons: dropped, Now: window.To, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		numbers := make([]uint64, len(list.Rows))
		for i := range list.Rows {
			numbers[i] = list.Rows[i].Number
		}
		slices.Sort(numbers)
		if !slices.Equal(numbers, dropped) {
			t.Errorf("the people are %v, want %v", numbers, dropped)
		}
	}
}

// compareReads checks that two environments have the same funnels and cohorts.
func compareReads(t *testing.T, store *reads.Store, window domain.Window, one, other uint64) {
	t.Helper()
	scope := func(number uint64) analytics.Scope {
		return analytics.Scope{Environment: domain.Environment{Number: number}, Window: window}
	}
	e := func(name string) funnel.Step {
		return funnel.Step{Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: name}}
	}
	for _, steps := range [][]funnel.Step{
		{e(event.PageView), e("order")},
		{e("order"), e(event.PageView), e("order"), e(event.PageView)},
		{{Matcher: goal.Matcher{Kind: goal.MatchPath, Match: "/*"}}, e(event.PageView), e("order")},
	} {
		funnel := funnel.Funnel{ID: "fun_1", WindowHours: 48, Steps: steps}
		got, err := store.FunnelResult(clickhousetest.Deadline(t), scope(one), funnel)
		want, bad := store.FunnelResult(clickhousetest.Deadline(t), scope(other), funnel)
		if err != nil || bad != nil || !reflect.DeepEqual(got, want) || want.Rows[1].Entered == 0 {
			t.Errorf("the funnel is %+v (%v), want %+v (%v)", got, err, want, bad)
		}
	}
	for _, e := range []string{"", "order"} {
		for _, filters := range []filter.Filters{nil, {{Dimension: filter.DimEvent, Value: event.PageView}}} {
			ask := func(number uint64) (analytics.Retention, error) {
				query := analytics.RetentionQuery{Scope: scope(number), CohortBy: domain.Day, Event: e}
				query.Filters = filters
				return store.Retention(clickhousetest.Deadline(t), query)
			}
			got, err := ask(one)
			want, bad := ask(other)
			if err != nil || bad != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("with %q and %v the cohorts are %+v (%v), want %+v (%v)", e, filters, got, err, want, bad)
			}
		}
	}
}
