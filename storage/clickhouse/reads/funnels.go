package reads

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/analytics"
	"svc/domain/funnel"
	"svc/storage/clickhouse"
)

// FunnelResult returns how far the persons that entered a funnel in a window got. A person includes all of its
// visitors. Events within the funnel's hours count even after the window. A funnel with filters on its steps covers at
// most domain.FilteredDays. The scope's filters are ignored.
func (db *Store) FunnelResult(ctx context.Context, scope analytics.Scope, f funnel.Funnel) (funnel.Result, error) {
	scope.Filters = nil
	key := fmt.Sprintf("funnel %s %d %q %s", f.ID, f.WindowHours, f.Steps, scopeKey(scope, nil))
	return share(ctx, db, scope.Environment, key, func(ctx context.Context) (funnel.Result, error) {
		return db.funnelResult(ctx, scope, &f)
	})
}

func (db *Store) funnelResult(ctx context.Context, scope analytics.Scope, f *funnel.Funnel) (funnel.Result, error) {
	var out funnel.Result
	if f.Filtered() {
		scope.Window, out.Capped = scope.Window.Capped()
	}
	tally := funnel.NewFunnelTally(f, scope.Window)
	err := db.funnelRead(scope, f, false).persons(ctx, tally.AddEntered, func(_ uint64, events []funnel.Event) { tally.Add(events) })
	if err != nil {
		return funnel.Result{}, err
	}
	out.Rows = tally.Rows()
	return out, nil
}

// funnelRead is the read of one funnel.
type funnelRead struct {
	db     *Store
	steps  stepSum
	args   clickhouse.Args
	origin int64 // the first millisecond of the window since 1970

	environment uint64
}

// Bits of a step in the numbers of funnel.Paths.
const (
	stepBits = 12
	stepMask = 1<<stepBits - 1
)

// funnelRead returns the read of a funnel's persons. If named is set, persons that took only the first step are also
// read by number.
func (db *Store) funnelRead(scope analytics.Scope, funnel *funnel.Funnel, named bool) funnelRead {
	r := funnelRead{db: db, steps: stepsOf(funnel.Steps), origin: scope.Window.From.UnixMilli(), environment: scope.Environment.Number}
	r.args = r.steps.args.With(environmentArguments(scope)).With(clickhouse.Args{
		"from": scope.Window.From, "to": scope.Window.To, "until": scope.Window.To.Add(funnel.Window()), "origin": r.origin, "named": named,
	})
	return r
}

// tiedPersons has the events of persons with two events at the same time that take different steps. The order of such
// events matters and is not known yet.
type tiedPersons map[uint64][]funnel.Event

// persons passes every person that entered to add, with its number and its events in order. The events are valid only
// during the call. Unless the read is named, persons that took only the first step are just counted with addEntered.
func (r funnelRead) persons(ctx context.Context, addEntered func(persons uint64), add func(person uint64, events []funnel.Event)) error {
	tied, err := r.paths(ctx, addEntered, add)
	if err != nil {
		return err
	}
	if err := r.untie(ctx, tied); err != nil {
		return err
	}
	for person, events := range tied {
		add(person, events)
	}
	return nil
}

// paths is persons without the tied persons, which it returns.
func (r funnelRead) paths(ctx context.Context, addEntered func(persons uint64), add func(person uint64, events []funnel.Event)) (tiedPersons, error) {
	tied := tiedPersons{}
	var events []funnel.Event
	query, whoIs, err := r.db.byPerson(ctx, r.environment, "funnel.Paths", "funnel.PersonPaths")
	if err != nil {
		return nil, err
	}
	err = r.db.conn.Read(ctx, "reading the persons of a funnel", bindSteps(query, r.steps), r.args.With(whoIs), func(rows driver.Rows) (bool, error) {
		var entered uint64
		var packed string
		if err := rows.Scan(&entered, &packed); err != nil {
			return false, err
		}
		addEntered(entered)
		for paths := numbers(packed); len(paths) > 1; {
			person, steps := paths[0], paths[1]
			var ties bool
			if events, ties = r.unpack(events[:0], paths[2:2+steps]); ties {
				tied[person] = slices.Clone(events)
			} else {
				add(person, events)
			}
			paths = paths[2+steps:]
		}
		return true, nil
	})
	return tied, err
}

// unpack appends the events of a path, and reports whether any of them are tied.
func (r funnelRead) unpack(events []funnel.Event, path []uint64) (_ []funnel.Event, ties bool) {
	for _, number := range path {
		event := funnel.Event{TsMs: r.origin + int64(number>>stepBits), Steps: uint16(number & stepMask)}
		if n := len(events); n > 0 && events[n-1].TsMs == event.TsMs && events[n-1].Steps != event.Steps {
			ties = true
		}
		events = append(events, event)
	}
	return events, ties
}

// maxInstants is the maximum number of times that one read lists. With more, one read of the whole window is cheaper.
const maxInstants = 10_000

// untie sorts the events of tied persons.
func (r funnelRead) untie(ctx context.Context, tied tiedPersons) error {
	instants := tied.instants()
	if len(instants) == 0 {
		return nil
	}
	every := len(instants) > maxInstants
	args := r.args.With(clickhouse.Args{"every": every, "instants": instants})
	if every {
		args["instants"] = []int64{}
	} else {
		args["from"], args["until"] = time.UnixMilli(instants[0]), time.UnixMilli(instants[len(instants)-1]+1)
	}
	query, whoIs, err := r.db.byPerson(ctx, r.environment, "funnel.Ties", "funnel.PersonTies")
	if err != nil {
		return err
	}
	return r.db.conn.Read(ctx, "ordering the events of a funnel", bindSteps(query, r.steps), args.With(whoIs), func(rows driver.Rows) (bool, error) {
		var person uint64
		var at int64
		var ordered []uint16
		err := rows.Scan(&person, &at, &ordered)
		tied.order(person, at, ordered)
		return true, err
	})
}

// instants returns the distinct times of tied events, ascending.
func (t tiedPersons) instants() []int64 {
	var out []int64
	for _, events := range t {
		for i := 1; i < len(events); i++ {
			if events[i].TsMs == events[i-1].TsMs {
				out = append(out, events[i].TsMs)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// order sorts the events of a person at one time by their ids.
func (t tiedPersons) order(person uint64, at int64, steps []uint16) {
	events, tied := t[person]
	if !tied {
		return
	}
	from, found := slices.BinarySearchFunc(events, at, func(e funnel.Event, at int64) int { return int(e.TsMs - at) })
	to := from
	for to < len(events) && events[to].TsMs == at {
		to++
	}
	if !found {
		return
	}
	ordered := make([]funnel.Event, len(steps))
	for i, bits := range steps {
		ordered[i] = funnel.Event{TsMs: at, Steps: bits}
	}
	t[person] = slices.Replace(events, from, to, ordered...)
}
