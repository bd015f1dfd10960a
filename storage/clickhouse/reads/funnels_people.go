package reads

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
	"svc/storage/clickhouse"
)

// FunnelSplit is FunnelResult with additional rows for the persons of each value of a dimension. If it splits by a
// custom property, it covers at most svc.FilteredDays.
func (db *Store) FunnelSplit(ctx context.Context, scope svc.AnalyticsScope, funnel svc.Funnel, split svc.FunnelSplit) (svc.FunnelResult, error) {
	scope.Filters = nil
	key := fmt.Sprintf("funnel %q %t %v %s %d %q %s", split.Dimension, split.Masked, split.Fields, funnel.ID, funnel.WindowHours, funnel.Steps, scopeKey(scope, nil))
	return share(ctx, db, scope.Environment, key, func(ctx context.Context) (svc.FunnelResult, error) {
		return db.funnelSplit(ctx, scope, &funnel, split)
	})
}

func (db *Store) funnelSplit(ctx context.Context, scope svc.AnalyticsScope, funnel *svc.Funnel, split svc.FunnelSplit) (svc.FunnelResult, error) {
	out := svc.FunnelResult{Values: []svc.FunnelValue{}}
	if funnel.Filtered() || split.Scans() {
		scope.Window, out.Capped = scope.Window.Capped()
	}
	words, places, err := db.funnelValues(ctx, scope, funnel, split)
	if err != nil {
		return svc.FunnelResult{}, err
	}
	all, tallies := svc.NewFunnelTally(funnel, scope.Window), make([]*svc.FunnelTally, len(words))
	for i := range words {
		tallies[i] = svc.NewFunnelTally(funnel, scope.Window)
	}
	err = db.funnelRead(scope, funnel, true).persons(ctx, all.AddEntered, func(person uint64, events []svc.FunnelEvent) {
		all.Add(events)
		if place, shown := places[person]; shown {
			tallies[place].Add(events)
		}
	})
	if err != nil {
		return svc.FunnelResult{}, err
	}
	out.Rows = all.Rows()
	for i, word := range words {
		out.Values = append(out.Values, svc.FunnelValue{Value: word, Rows: tallies[i].Rows()})
	}
	return out, nil
}

// funnelValues returns the values with which most persons entered a funnel. places maps each of these persons to the
// index of its value.
func (db *Store) funnelValues(ctx context.Context, scope svc.AnalyticsScope, funnel *svc.Funnel, split svc.FunnelSplit) (words []string, places map[uint64]int, err error) {
	expression, args, err := db.valueOf(split.Dimension, split.Masked, split.Fields)
	if err != nil {
		return nil, nil, err
	}
	query, whoIs, err := db.byPerson(ctx, scope.Environment.Number, "funnel.Entries", "funnel.PersonEntries")
	if err != nil {
		return nil, nil, err
	}
	first := stepsOf(funnel.Steps[:1])
	args = args.With(whoIs).With(first.args).With(environmentArguments(scope)).With(clickhouse.Args{"from": scope.Window.From, "to": scope.Window.To, "limit": svc.MaxFunnelValues})
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
// steps count from 1. If there are more than svc.MaxDropOffs, it returns the ones that began last. A funnel with
// filters on its steps covers at most svc.FilteredDays.
func (db *Store) DroppedOff(ctx context.Context, scope svc.AnalyticsScope, funnel svc.Funnel, step int) ([]uint64, error) {
	scope.Filters = nil
	key := fmt.Sprintf("dropped %d %s %d %q %s", step, funnel.ID, funnel.WindowHours, funnel.Steps, scopeKey(scope, nil))
	return share(ctx, db, scope.Environment, key, func(ctx context.Context) ([]uint64, error) {
		if funnel.Filtered() {
			scope.Window, _ = scope.Window.Capped()
		}
		dropped := svc.NewFunnelDropOffs(&funnel, scope.Window, step)
		err := db.funnelRead(scope, &funnel, true).persons(ctx, func(uint64) {}, dropped.Add)
		return dropped.Persons(), err
	})
}
