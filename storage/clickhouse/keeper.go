package clickhouse

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
	// keptShare is the part of the memory of ranks that a keeper fills, in percent. The rest is
	// left to what is asked for.
	keptShare = 75
	// keeperMemory bounds what one statement of a keeper may allocate in the engine, in bytes.
	keeperMemory = 1 << 30
)

// keptSpans are how many days back a keeper counts for all sites before it goes on to the
// next span.
func keptSpans() []int { return []int{31, 366} }

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
	DB *DB
	// Sites returns whose days are counted; those without events cost one small statement a
	// round.
	Sites func() []Site
	// Busy says that inserts wait for the engine.
	Busy   func() bool
	Now    func() time.Time
	Logger *slog.Logger
}

// Run counts until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	quiet := k.DB.background()
	return k.rounds(ctx, func(ctx context.Context, site Site, days int) error {
		return quiet.keepDays(ctx, site, k.Now(), days, k.pace)
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
	for waited := time.Duration(0); waited < giveWay && (k.Busy() || k.DB.reading.Load() > 0); waited += giveWayStep {
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

// background returns the database for work that nobody waits for: its statements have one
// thread. What they count is kept where db keeps it.
func (db *DB) background() *DB {
	return &DB{
		conn: db.conn, queries: db.queries, server: db.server, native: db.native, quiet: true,
		days: db.days, ranks: db.ranks, rests: db.rests, past: db.past, todays: db.todays,
	}
}

// keepDays counts what is not kept of the days of a site that are over: the values of all
// dimensions, and the rolling uniques. pace runs each statement.
func (db *DB) keepDays(ctx context.Context, site Site, now time.Time, days int, pace func(context.Context, func() error) error) error {
	today := svc.Day.Floor(now.In(site.Location))
	scope := svc.AnalyticsScope{Environment: site.Environment, Window: svc.Window{
		From: svc.Day.Floor(today.AddDate(0, 0, -days)), To: today, Location: site.Location, Interval: svc.Day,
	}}
	var cuts []cut
	err := pace(ctx, func() (err error) {
		cuts, _ = cutWindows([]svc.Window{scope.Window}, svc.Day)
		cuts, err = db.readCuts(ctx, scope, cuts)
		return err
	})
	if err != nil || len(cuts) == 0 {
		return err
	}
	var problems []error
	for _, dimension := range svc.Dimensions() {
		problems = append(problems, db.keepDimension(ctx, svc.BreakdownQuery{AnalyticsScope: scope, Dimension: dimension}, cuts, pace))
	}
	problems = append(problems, pace(ctx, func() error {
		_, err := db.ActiveUsers(ctx, subWindow(scope, svc.Day.Floor(today.AddDate(0, 0, 1-svc.MonthlyDays)), now))
		return err
	}))
	return errors.Join(problems...)
}

// keepDimension counts the values of a dimension on the days that are not kept, the last
// first, while there is room for them.
func (db *DB) keepDimension(ctx context.Context, q svc.BreakdownQuery, cuts []cut, pace func(context.Context, func() error) error) error {
	v, err := db.valuesOf(q)
	if err != nil {
		return err
	}
	for last := len(cuts) - 1; last >= 0; last-- {
		if db.ranks.has(cuts[last].rankKey(q)) {
			continue
		}
		if db.ranks.full(keptShare) {
			return nil
		}
		first, events := last, cuts[last].sums.events
		for first > 0 && events+cuts[first-1].sums.events <= keptEvents && !db.ranks.has(cuts[first-1].rankKey(q)) {
			first--
			events += cuts[first].sums.events
		}
		run := slices.Clone(cuts[first : last+1])
		err := pace(ctx, func() error {
			_, err := db.readDays(ctx, q, v, run)
			return err
		})
		if err != nil {
			return err
		}
		last = first
	}
	return nil
}
