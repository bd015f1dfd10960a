package reads

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
)

const (
	// warmEvery is the pause of a warmer between rounds. Within it the warmer notices a day that has ended or a late
	// event.
	warmEvery = 10 * time.Minute
	// restFactor is the ratio of a warmer's pause after a statement to the duration of the statement. A warmer thus
	// uses at most a quarter of one CPU.
	restFactor = 3
	// giveWay limits how long a warmer waits for running reads and inserts.
	giveWay = 2 * time.Second
	// giveWayStep is how often it checks whether the reads and inserts have ended.
	giveWayStep = 20 * time.Millisecond
	// warmedEvents is the maximum number of events of one statement of a warmer, unless it covers only one day.
	warmedEvents = 1_000_000
	// edgeEvents is the minimum number of events of a day for which a warmer counts the parts at the ends of windows.
	// Fewer events are read in some milliseconds.
	edgeEvents = 50_000
	// warmedShare is the part of a cache that a warmer fills, in percent. askedShare is the same for environments that
	// users have requested. The rest is left to reads.
	warmedShare = 75
	askedShare  = 90
)

// warmedSpans returns numbers of days. A warmer counts that many days back for all targets before it goes on to the
// next number.
func warmedSpans() []int { return []int{31, 366} }

// warmedWindows returns the windows for which a warmer counts the first day.
func warmedWindows() []string { return []string{"24h", "7d", "14d", "30d", "90d", "12m"} }

// Target is an environment to count, with the time zone of its days.
type Target struct {
	Environment domain.Environment
	Location    *time.Location
}

// Warmer counts past days for every dimension in advance, the newest first, so that no read of a dashboard waits for
// it. It runs one statement at a time with one thread, yields to reads and inserts, and rests three times as long as it
// worked. It fills the caches that reads use. A day with changed events is counted again in the next round.
type Warmer struct {
	Store *Store
	// Targets returns the targets to count. A target without events costs a small statement per round.
	Targets func() []Target
	// Busy reports whether inserts wait for the engine.
	Busy func() bool
	// Counted is called after each round.
	Counted func()
	Now     func() time.Time
	Logger  *slog.Logger
}

// Run counts until ctx ends.
func (k *Warmer) Run(ctx context.Context) error {
	quiet := k.Store.quiet()
	return k.rounds(ctx, func(ctx context.Context, target Target, days int) error {
		one := warming{db: quiet, target: target, now: k.Now(), edge: edgeEvents, share: warmedShare, pace: k.pace}
		if k.Store.asked.Has(target.Environment.Number) {
			one.share = askedShare
		}
		return one.warm(ctx, days)
	})
}

// rounds calls warm for every target, span by span, round after round. A target that fails is tried again in the next
// round.
func (k *Warmer) rounds(ctx context.Context, warm func(context.Context, Target, int) error) error {
	for {
		for _, days := range warmedSpans() {
			for target := range k.inTurn() {
				if err := warm(ctx, target, days); err != nil && ctx.Err() == nil {
					k.Logger.Warn("past days could not be counted", "environment", target.Environment.ID, "error", err)
				}
			}
		}
		if ctx.Err() == nil {
			k.Counted()
		}
		if !rest(ctx, warmEvery) {
			return nil
		}
	}
}

// inTurn yields the targets that users have requested, the latest first. It then yields the others while the cache has
// room for them.
func (k *Warmer) inTurn() iter.Seq[Target] {
	targets := map[uint64]Target{}
	all := k.Targets()
	for _, target := range all {
		targets[target.Environment.Number] = target
	}
	return func(yield func(Target) bool) {
		for number := range k.Store.asked.All() {
			if target, there := targets[number]; there && !yield(target) {
				return
			}
			delete(targets, number)
		}
		for _, target := range all {
			_, left := targets[target.Environment.Number]
			if left && (k.Store.ranks.Full(warmedShare) || !yield(target)) {
				return
			}
		}
	}
}

// pace runs a statement once no read and no insert is running, and rests after it. It returns the error of ctx if ctx
// has ended.
func (k *Warmer) pace(ctx context.Context, work func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for waited := time.Duration(0); waited < giveWay && (k.Busy() || k.Store.conn.Reading()); waited += giveWayStep {
		if !rest(ctx, giveWayStep) {
			return context.Cause(ctx)
		}
	}
	began := k.Now()
	err := work()
	if !rest(ctx, restFactor*k.Now().Sub(began)) {
		return context.Cause(ctx)
	}
	return err
}

// rest waits. It returns false if ctx ends.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// warming is one round for one target.
type warming struct {
	db     *Store
	target Target
	now    time.Time
	// edge is the minimum number of events of a day for which its parts are counted.
	edge int64
	// share is the part of the caches that may be filled, in percent.
	share int
	// pace runs each statement.
	pace func(context.Context, func() error) error
}

// warm computes and caches missing data of the last days: the values of all dimensions on past days, the ends of
// windows within a day, the current day so far, and the rolling uniques.
func (k *warming) warm(ctx context.Context, days int) error {
	today := domain.Day.Floor(k.now.In(k.target.Location))
	scope := k.scope(domain.Day.Floor(today.AddDate(0, 0, -days)), k.now)
	cuts, err := k.cuts(ctx, scope)
	if err != nil || len(cuts) == 0 {
		return err
	}
	var problems []error
	whole := slices.DeleteFunc(slices.Clone(cuts), func(c cut) bool { return !c.whole })
	for _, dimension := range filter.Dimensions() {
		problems = append(problems, k.warmDimension(ctx, analytics.BreakdownQuery{Scope: scope, Dimension: dimension}, whole))
	}
	for _, c := range cuts {
		if again := !c.whole && days > warmedSpans()[0]; c.sums.events >= k.edge && !again {
			problems = append(problems, k.warmEdges(ctx, scope, &c))
		}
	}
	return errors.Join(append(problems, k.pace(ctx, func() error {
		_, err := k.db.ActiveUsers(ctx, k.scope(domain.Day.Floor(today.AddDate(0, 0, 1-analytics.MonthlyDays)), k.now))
		return err
	}))...)
}

// scope returns the scope of the target in a window.
func (k *warming) scope(from, to time.Time) analytics.Scope {
	return analytics.Scope{Environment: k.target.Environment, Window: domain.Window{From: from, To: to, Location: k.target.Location, Interval: domain.Day}}
}

// cuts returns the days of a scope that have events.
func (k *warming) cuts(ctx context.Context, scope analytics.Scope) (cuts []cut, err error) {
	err = k.pace(ctx, func() (err error) {
		cuts, err = k.db.readCuts(ctx, scope, cutDays(scope.Window))
		return err
	})
	return cuts, err
}

// warmDimension counts the values of a dimension on the days that are not cached, the last day first, while the cache
// has room.
func (k *warming) warmDimension(ctx context.Context, q analytics.BreakdownQuery, cuts []cut) error {
	ranks := k.db.ranks
	v, err := k.db.valuesOf(ctx, q)
	if err != nil {
		return err
	}
	for last := len(cuts) - 1; last >= 0; last-- {
		if ranks.Has(cuts[last].rankKey(q)) {
			continue
		}
		if ranks.Full(k.share) {
			return nil
		}
		first, events := last, cuts[last].sums.events
		for first > 0 && events+cuts[first-1].sums.events <= warmedEvents && !ranks.Has(cuts[first-1].rankKey(q)) {
			first--
			events += cuts[first].sums.events
		}
		run := slices.Clone(cuts[first : last+1])
		err := k.pace(ctx, func() error {
			_, err := k.db.readDays(ctx, q, v, run)
			return err
		})
		if err != nil {
			return err
		}
		last = first
	}
	return nil
}

// warmEdges counts the parts of a day at which windows begin, for windows that end now or before the next round. For
// the current day it counts the day so far.
func (k *warming) warmEdges(ctx context.Context, scope analytics.Scope, day *cut) error {
	if !day.whole {
		return k.warmEdge(ctx, scope, day, func(*cut, analytics.BreakdownQuery) bool { return k.db.todays.Full(k.share) })
	}
	var problems []error
	for _, key := range warmedWindows() {
		for _, now := range []time.Time{k.now, k.now.Add(warmEvery)} {
			w, _ := domain.ParseWindow(key, now, k.target.Location) // the keys are constants, so there is no error
			if !w.From.After(time.Unix(day.from, 0)) || !w.From.Before(time.Unix(day.to, 0)) {
				continue
			}
			begin := k.scope(w.From, time.Unix(day.to, 0))
			cuts, err := k.cuts(ctx, begin)
			problems = append(problems, err)
			for _, c := range cuts {
				problems = append(problems, k.warmEdge(ctx, begin, &c, func(c *cut, q analytics.BreakdownQuery) bool {
					return k.db.rests.Full(k.share) || k.db.rests.Has(c.rankKey(q))
				}))
			}
		}
	}
	return errors.Join(problems...)
}

// warmEdge counts a part of a day for every dimension, except where leave reports that it is cached or has no room.
func (k *warming) warmEdge(ctx context.Context, scope analytics.Scope, c *cut, leave func(*cut, analytics.BreakdownQuery) bool) error {
	for _, dimension := range filter.Dimensions() {
		q := analytics.BreakdownQuery{Scope: scope, Dimension: dimension}
		if leave(c, q) {
			continue
		}
		v, err := k.db.valuesOf(ctx, q)
		if err != nil {
			return err
		}
		err = k.pace(ctx, func() error {
			_, err := k.db.partOfDay(ctx, q, v, c)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
