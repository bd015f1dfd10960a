package reads

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"svc"
)

const (
	// keepEvery is how long a keeper rests between rounds. Within it a day that is over, or
	// an event that came late, is noticed.
	keepEvery = 10 * time.Minute
	// restFactor is how much longer than a statement a keeper rests behind it, so that it
	// uses a quarter of one processor at most.
	restFactor = 3
	// giveWay bounds how long a keeper waits for reads and inserts that are under way.
	giveWay = 2 * time.Second
	// giveWayStep is how often it looks whether they have ended.
	giveWayStep = 20 * time.Millisecond
	// keptEvents is the number of events from which a statement of a keeper counts no
	// further day.
	keptEvents = 1_000_000
	// edgeEvents is the number of events of a day from which a keeper counts the part of it at
	// an end of a window; fewer are read in some milliseconds.
	edgeEvents = 50_000
	// keptShare is the part of the memory of ranks that a keeper fills, in percent. The rest is
	// left to what is asked for.
	keptShare = 75
)

// keptSpans are how many days back a keeper counts for all sites before it goes on to the
// next span.
func keptSpans() []int { return []int{31, 366} }

// keptWindows are the windows whose beginnings a keeper counts.
func keptWindows() []string { return []string{"24h", "7d", "14d", "30d", "90d", "12m"} }

// Site is an environment with the time zone of its days.
type Site struct {
	Environment svc.Environment
	Location    *time.Location
}

// Keeper counts the days that are over for every dimension, those that ended last first, before
// anybody asks, so that no read of a dashboard waits for it. It has one statement under way at a
// time, with one thread, gives way to reads and inserts, and rests three times as long as
// it worked. What it counted is kept, saved and validated as what reads count; a day whose
// events have changed is counted again in the next round.
type Keeper struct {
	DB *Store
	// Sites returns whose days are counted; those without events cost one small statement a
	// round.
	Sites func() []Site
	// Busy says that inserts wait for the engine.
	Busy func() bool
	// Counted is called after each round.
	Counted func()
	Now     func() time.Time
	Logger  *slog.Logger
}

// Run counts until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	quiet := k.DB.quiet()
	return k.rounds(ctx, func(ctx context.Context, site Site, days int) error {
		one := keeping{db: quiet, site: site, now: k.Now(), edge: edgeEvents, pace: k.pace}
		return one.keep(ctx, days)
	})
}

// rounds has keep count the days of every site, span by span, round after round. A site
// that fails is left for the next round.
func (k *Keeper) rounds(ctx context.Context, keep func(context.Context, Site, int) error) error {
	for {
		for _, days := range keptSpans() {
			for _, site := range k.Sites() {
				if err := keep(ctx, site, days); err != nil && ctx.Err() == nil {
					k.Logger.Warn("past days could not be counted", "environment", site.Environment.ID, "error", err)
				}
			}
		}
		if ctx.Err() == nil {
			k.Counted()
		}
		if !rest(ctx, keepEvery) {
			return nil
		}
	}
}

// pace runs a statement once the engine has nothing better to do, and rests after it. It
// returns the error of ctx when that has ended.
func (k *Keeper) pace(ctx context.Context, work func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for waited := time.Duration(0); waited < giveWay && (k.Busy() || k.DB.conn.Reading()); waited += giveWayStep {
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

// rest waits and says whether ctx goes on.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// keeping is the counting of a site at an instant.
type keeping struct {
	db   *Store
	site Site
	now  time.Time
	// edge is the number of events of a day from which its parts are counted.
	edge int64
	// pace runs each statement.
	pace func(context.Context, func() error) error
}

// keep counts what is not kept of a number of days: the values of all dimensions on those
// that are over, how windows begin within a day, what has begun of today, and the rolling
// uniques.
func (k *keeping) keep(ctx context.Context, days int) error {
	today := svc.Day.Floor(k.now.In(k.site.Location))
	scope := k.scope(svc.Day.Floor(today.AddDate(0, 0, -days)), k.now)
	cuts, err := k.cuts(ctx, scope)
	if err != nil || len(cuts) == 0 {
		return err
	}
	var problems []error
	whole := slices.DeleteFunc(slices.Clone(cuts), func(c cut) bool { return !c.whole })
	for _, dimension := range svc.Dimensions() {
		problems = append(problems, k.keepDimension(ctx, svc.BreakdownQuery{AnalyticsScope: scope, Dimension: dimension}, whole))
	}
	for _, c := range cuts {
		if again := !c.whole && days > keptSpans()[0]; c.sums.events >= k.edge && !again {
			problems = append(problems, k.keepEdges(ctx, scope, &c))
		}
	}
	return errors.Join(append(problems, k.pace(ctx, func() error {
		_, err := k.db.ActiveUsers(ctx, k.scope(svc.Day.Floor(today.AddDate(0, 0, 1-svc.MonthlyDays)), k.now))
		return err
	}))...)
}

// scope is the site in a window.
func (k *keeping) scope(from, to time.Time) svc.AnalyticsScope {
	return svc.AnalyticsScope{Environment: k.site.Environment, Window: svc.Window{From: from, To: to, Location: k.site.Location, Interval: svc.Day}}
}

// cuts returns the days of a scope that hold events.
func (k *keeping) cuts(ctx context.Context, scope svc.AnalyticsScope) (cuts []cut, err error) {
	err = k.pace(ctx, func() (err error) {
		cuts, err = k.db.readCuts(ctx, scope, cutDays(scope.Window))
		return err
	})
	return cuts, err
}

// keepDimension counts the values of a dimension on the days that are not kept, the last
// first, while there is room for them.
func (k *keeping) keepDimension(ctx context.Context, q svc.BreakdownQuery, cuts []cut) error {
	ranks := k.db.ranks
	v, err := k.db.valuesOf(q)
	if err != nil {
		return err
	}
	for last := len(cuts) - 1; last >= 0; last-- {
		if ranks.Has(cuts[last].rankKey(q)) {
			continue
		}
		if ranks.Full(keptShare) {
			return nil
		}
		first, events := last, cuts[last].sums.events
		for first > 0 && events+cuts[first-1].sums.events <= keptEvents && !ranks.Has(cuts[first-1].rankKey(q)) {
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

// keepEdges counts the parts of a day at which windows begin, of those that end now or before
// the next round, and the day as far as it has gone.
func (k *keeping) keepEdges(ctx context.Context, scope svc.AnalyticsScope, day *cut) error {
	if !day.whole {
		return k.keepEdge(ctx, scope, day, func(*cut, svc.BreakdownQuery) bool { return k.db.todays.Full(keptShare) })
	}
	var problems []error
	for _, key := range keptWindows() {
		for _, now := range []time.Time{k.now, k.now.Add(keepEvery)} {
			w, _ := svc.ParseWindow(key, now, k.site.Location) // the keys are known
			if !w.From.After(time.Unix(day.from, 0)) || !w.From.Before(time.Unix(day.to, 0)) {
				continue
			}
			begin := k.scope(w.From, time.Unix(day.to, 0))
			cuts, err := k.cuts(ctx, begin)
			problems = append(problems, err)
			for _, c := range cuts {
				problems = append(problems, k.keepEdge(ctx, begin, &c, func(c *cut, q svc.BreakdownQuery) bool {
					return k.db.rests.Full(keptShare) || k.db.rests.Has(c.rankKey(q))
				}))
			}
		}
	}
	return errors.Join(problems...)
}

// keepEdge counts a part of a day for every dimension, except where that is kept or has no room.
func (k *keeping) keepEdge(ctx context.Context, scope svc.AnalyticsScope, c *cut, leave func(*cut, svc.BreakdownQuery) bool) error {
	for _, dimension := range svc.Dimensions() {
		q := svc.BreakdownQuery{AnalyticsScope: scope, Dimension: dimension}
		if leave(c, q) {
			continue
		}
		v, err := k.db.valuesOf(q)
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
