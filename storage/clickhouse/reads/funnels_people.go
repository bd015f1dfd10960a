package reads

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/analytics"
	"svc/domain/funnel"
	"svc/storage/clickhouse"
)

// FunnelSplit is FunnelResult with additional rows for the persons of each value of a dimension. If it splits by a
// custom property, it covers at most domain.FilteredDays.
func (db *Store) FunnelSplit(ctx context.Context, scope analytics.Scope, f funnel.Funnel, split funnel.Split) (funnel.Result, error) {
	scope.Filters = nil
	key := fmt.Sprintf("funnel %q %t %v %s %d %q %s", split.Dimension, split.Masked, split.Fields, f.ID, f.WindowHours, f.Steps, scopeKey(scope, nil))
	return share(ctx, db, scope.Environment, key, func(ctx context.Context) (funnel.Result, error) {
		return db.funnelSplit(ctx, scope, &f, split)
	})
}

func (db *Store) funnelSplit(ctx context.Context, scope analytics.Scope, f *funnel.Funnel, split funnel.Split) (funnel.Result, error) {
	out := funnel.Result{Values: []funnel.Value{}}
	if f.Filtered() || split.Scans() {
		scope.Window, out.Capped = scope.Window.Capped()
	}
	words, places, err := db.funnelValues(ctx, scope, f, split)
	if err != nil {
		return funnel.Result{}, err
	}
	all, tallies := funnel.NewFunnelTally(f, scope.Window), make([]*funnel.Tally, len(words))
	for i := range words {
		tallies[i] = funnel.NewFunnelTally(f, scope.Window)
	}
	err = db.funnelRead(scope, f, true).persons(ctx, all.AddEntered, func(person uint64, events []funnel.Event) {
		all.Add(events)
		if place, shown := places[person]; shown {
			tallies[place].Add(events)
		}
	})
	if err != nil {
		return funnel.Result{}, err
	}
	out.Rows = all.Rows()
	for i, word := range words {
		out.Values = append(out.Values, funnel.Value{Value: word, Rows: tallies[i].Rows()})
	}
	return out, nil
}

// funnelValues returns the values with which most persons entered a funnel. places maps each of these persons to the
// index of its value.
func (db *Store) funnelValues(ctx context.Context, scope analytics.Scope, f *funnel.Funnel, split funnel.Split) (words []string, places map[uint64]int, err error) {
	expression, args, err := db.valueOf(split.Dimension, split.Masked, split.Fields)
	if err != nil {
		return nil, nil, err
	}
	query, whoIs, err := db.byPerson(ctx, scope.Environment.Number, "funnel.Entries", "funnel.PersonEntries")
	if err != nil {
		return nil, nil, err
	}
	first := stepsOf(f.Steps[:1])
	args = args.With(whoIs).With(first.args).With(environmentArguments(scope)).With(clickhouse.Args{"from": scope.Window.From, "to": scope.Window.To, "limit": funnel.MaxFunnelValues})
	places = map[uint64]int{}
	err = db.conn.Read(ctx, "reading by which values persons entered a funnel", bindSteps(bindValue(query, expression), first), args, func(rows driver.Rows) (bool, error) {
		var word, persons string
		if err := rows.Scan(&word, &persons); err != nil {
			return false, err
		}
		for _, person := range numbers(persons) {
			places[person] = len(words)
		}
		words = append(words, word)
		return true, nil
	})
	return words, places, err
}

// DroppedOff returns the numbers of the persons that entered a funnel in a window and went no further than a step;
// steps count from 1. If there are more than funnel.MaxDropOffs, it returns the ones that began last. A funnel with
// filters on its steps covers at most domain.FilteredDays.
func (db *Store) DroppedOff(ctx context.Context, scope analytics.Scope, f funnel.Funnel, step int) ([]uint64, error) {
	scope.Filters = nil
	key := fmt.Sprintf("dropped %d %s %d %q %s", step, f.ID, f.WindowHours, f.Steps, scopeKey(scope, nil))
	return share(ctx, db, scope.Environment, key, func(ctx context.Context) ([]uint64, error) {
		if f.Filtered() {
			scope.Window, _ = scope.Window.Capped()
		}
		dropped := funnel.NewFunnelDropOffs(&f, scope.Window, step)
		err := db.funnelRead(scope, &f, true).persons(ctx, func(uint64) {}, dropped.Add)
		return dropped.Persons(), err
	})
}
