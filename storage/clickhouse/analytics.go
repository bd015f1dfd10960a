package clickhouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc"
)

// Overview returns the headline of a window and that of the window before. With filters
// both cover at most svc.FilteredDays. Without goals there are no conversions.
//
// Visitors and sessions are sums over the local days of those who were active on the
// day, the days cut at the ends of the window. Bounces and durations count at the
// instant at which their session began.
func (db *DB) Overview(ctx context.Context, scope svc.AnalyticsScope, goals []GoalMatch) (svc.Overview, error) {
	key := "overview " + scopeKey(scope, goals)
	return share(ctx, &db.flight, key, func(ctx context.Context) (svc.Overview, error) {
		return db.overview(ctx, scope, goals)
	})
}

func (db *DB) overview(ctx context.Context, scope svc.AnalyticsScope, goals []GoalMatch) (svc.Overview, error) {
	out := svc.Overview{Window: scope.Window}
	previous := scope
	previous.Window = scope.Window.Previous()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		out.Current, out.Capped, err = db.headline(ctx, scope, goals)
		return err
	})
	group.Go(func() (err error) {
		out.Previous, _, err = db.headline(ctx, previous, goals)
		return err
	})
	err := group.Wait()
	return out, err
}

// headline computes the metrics of one window and says whether it was capped.
func (db *DB) headline(ctx context.Context, scope svc.AnalyticsScope, goals []GoalMatch) (svc.Headline, bool, error) {
	var counts windowCounts
	var conversions map[int64]uint64
	capped := false
	if len(scope.Filters) > 0 {
		scope.Window, capped = scope.Window.Capped()
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		if len(scope.Filters) > 0 {
			counts, err = db.filteredCounts(ctx, scope, localDays(scope.Window), true)
		} else {
			counts, err = db.wholeCounts(ctx, scope)
		}
		return err
	})
	group.Go(func() (err error) {
		conversions, err = db.conversions(ctx, scope, goals, localDays(scope.Window))
		return err
	})
	if err := group.Wait(); err != nil {
		return svc.Headline{}, false, err
	}
	h := counts.headline()
	for _, n := range conversions {
		h.Conversions += n
	}
	return h, capped, nil
}

// tally is what was counted in one bucket.
type tally struct {
	visitors, sessions, events, pageviews uint64
}

// windowCounts is what was counted in one window.
type windowCounts struct {
	buckets map[int64]tally // by the beginning of the bucket in seconds since 1970
	unique  uint64
	bounces int64
	lasted  int64 // milliseconds
}

func (c windowCounts) headline() svc.Headline {
	h := svc.Headline{UniqueVisitors: c.unique}
	for _, t := range c.buckets {
		h.Visitors += t.visitors
		h.Sessions += t.sessions
		h.Events += t.events
		h.Pageviews += t.pageviews
	}
	if h.Sessions > 0 {
		h.BounceRate = min(max(float64(c.bounces)/float64(h.Sessions), 0), 1)
		h.AvgDurationMs = uint64(max(c.lasted, 0)) / h.Sessions
	}
	return h
}

// filteredCounts counts the events that pass the scope's filters, per bucket. The window
// is capped already. Without stays the bounces and durations are left out.
func (db *DB) filteredCounts(ctx context.Context, scope svc.AnalyticsScope, buckets []time.Time, stays bool) (windowCounts, error) {
	counts := windowCounts{buckets: map[int64]tally{}}
	c, err := db.where(scope.Filters)
	if err != nil {
		return counts, err
	}
	args := c.args.with(scopeArguments(scope, scope.Window)).with(bucketArguments(buckets))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return db.read(ctx, "counting filtered events", bind(db.queries["events.Count"], c), args, func(rows driver.Rows) (bool, error) {
			var bucket uint32
			var single uint8
			var t tally
			err := rows.Scan(&bucket, &single, &t.events, &t.pageviews, &t.visitors, &t.sessions)
			if single == 1 {
				counts.buckets[int64(bucket)] = t
			} else {
				counts.unique = t.visitors
			}
			return true, err
		})
	})
	if stays {
		group.Go(func() error {
			return db.read(ctx, "adding up filtered sessions", bind(db.queries["events.Stays"], c), args, func(rows driver.Rows) (bool, error) {
				return true, rows.Scan(&counts.bounces, &counts.lasted)
			})
		})
	}
	err = group.Wait()
	return counts, err
}

// conversions counts the events that complete any of the goals, each once, by the
// beginnings of buckets. The window is capped already if there are filters.
func (db *DB) conversions(ctx context.Context, scope svc.AnalyticsScope, goals []GoalMatch, buckets []time.Time) (map[int64]uint64, error) {
	if len(goals) == 0 {
		return nil, nil
	}
	c, err := db.where(scope.Filters)
	if err != nil {
		return nil, err
	}
	query := bind(db.queries["conversions.Count"], c)
	if len(scope.Filters) == 0 && onlyEvents(goals) {
		query = db.queries["conversions.ByName"]
	}
	args := c.args.with(scopeArguments(scope, scope.Window)).with(bucketArguments(buckets)).with(goalArguments(goals))
	out := map[int64]uint64{}
	err = db.read(ctx, "counting conversions", query, args, func(rows driver.Rows) (bool, error) {
		var bucket uint32
		var n uint64
		err := rows.Scan(&bucket, &n)
		out[int64(bucket)] = n
		return true, err
	})
	return out, err
}

func onlyEvents(goals []GoalMatch) bool {
	for _, goal := range goals {
		if goal.Kind != GoalEvent {
			return false
		}
	}
	return true
}

// scopeKey names what an analytics read is about, for sharing its execution.
func scopeKey(scope svc.AnalyticsScope, goals []GoalMatch) string {
	w := scope.Window
	return fmt.Sprintf("%d %d %d %s %t %q %q", scope.Environment.Number, w.From.UnixMilli(), w.To.UnixMilli(),
		w.Location, scope.IncludeBots, scope.Filters.String(), goals)
}
