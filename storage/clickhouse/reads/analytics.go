package reads

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/goal"
	"svc/storage/clickhouse"
)

// Overview returns the headline of a window and of the window before. With filters the first covers at most
// domain.FilteredDays of the window, and the second the equally long time immediately before. Without goals there are no
// conversions.
//
// Visitors and sessions are sums over local days of the ones that were active on the day. The days are cut at the ends
// of the window. Bounces and durations count at the start of their session.
func (db *Store) Overview(ctx context.Context, scope analytics.Scope, goals []goal.Matcher) (analytics.Overview, error) {
	db.asked.Put(scope.Environment.Number, struct{}{}, 0)
	key := "overview " + scopeKey(scope, goals)
	return share(ctx, db, scope.Environment, key, func(ctx context.Context) (analytics.Overview, error) {
		return db.overview(ctx, scope, goals)
	})
}

func (db *Store) overview(ctx context.Context, scope analytics.Scope, goals []goal.Matcher) (analytics.Overview, error) {
	out := analytics.Overview{Window: scope.Window}
	covered := scope.Window
	if len(scope.Filters) > 0 {
		covered, out.Capped = covered.Capped()
	}
	windows := []domain.Window{covered.Previous(), covered}
	var counts []windowCounts
	conversions := make([]map[int64]uint64, len(windows))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		counts, err = db.counts(ctx, scope, windows)
		return err
	})
	for i, w := range windows {
		group.Go(func() (err error) {
			scope := scope
			scope.Window = w
			conversions[i], err = db.conversions(ctx, scope, goals, localDays(w))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return analytics.Overview{}, err
	}
	out.Previous, out.Current = counts[0].headline(conversions[0]), counts[1].headline(conversions[1])
	return out, nil
}

// counts counts adjacent windows per local day. With filters the windows must be capped already.
func (db *Store) counts(ctx context.Context, scope analytics.Scope, windows []domain.Window) ([]windowCounts, error) {
	if len(scope.Filters) == 0 {
		return db.wholeCounts(ctx, scope, windows, true)
	}
	counts := make([]windowCounts, len(windows))
	group, ctx := errgroup.WithContext(ctx)
	for i, w := range windows {
		group.Go(func() (err error) {
			scope := scope
			scope.Window = w
			counts[i], err = db.filteredCounts(ctx, scope, localDays(w))
			return err
		})
	}
	err := group.Wait()
	return counts, err
}

// tally has the counts of one bucket.
type tally struct {
	visitors, sessions, events, pageviews uint64
}

// windowCounts has the counts of one window.
type windowCounts struct {
	buckets map[int64]tally // by the start of the bucket in seconds since 1970
	unique  uint64
	bounces int64
	lasted  int64 // milliseconds
}

// headline adds up the buckets.
func (c windowCounts) headline(conversions map[int64]uint64) analytics.Headline {
	h := analytics.Headline{UniqueVisitors: c.unique}
	for _, t := range c.buckets {
		h.Visitors += t.visitors
		h.Sessions += t.sessions
		h.Events += t.events
		h.Pageviews += t.pageviews
	}
	for _, n := range conversions {
		h.Conversions += n
	}
	if h.Sessions > 0 {
		h.BounceRate = min(max(float64(c.bounces)/float64(h.Sessions), 0), 1)
		h.AvgDurationMs = uint64(max(c.lasted, 0)) / h.Sessions
	}
	return h
}

// filteredCounts counts the events that pass the scope's filters per bucket, and adds up their sessions. The window
// must be capped already.
func (db *Store) filteredCounts(ctx context.Context, scope analytics.Scope, buckets []time.Time) (windowCounts, error) {
	counts := windowCounts{buckets: map[int64]tally{}}
	c, err := db.where(ctx, scope)
	if err != nil {
		return counts, err
	}
	args := c.Args().With(scopeArguments(scope, scope.Window)).With(clickhouse.BucketArgs(buckets))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return db.conn.Read(ctx, "counting filtered events", clickhouse.Bind(db.queries["events.Count"], c), args, func(rows driver.Rows) (bool, error) {
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
	group.Go(func() error {
		return db.conn.Read(ctx, "adding up filtered sessions", clickhouse.Bind(db.queries["events.Stays"], c), args, func(rows driver.Rows) (bool, error) {
			return true, rows.Scan(&counts.bounces, &counts.lasted)
		})
	})
	err = group.Wait()
	return counts, err
}

// conversions counts the events that complete any of the goals, each event once, by the start of the bucket. With
// filters the window must be capped already.
func (db *Store) conversions(ctx context.Context, scope analytics.Scope, goals []goal.Matcher, buckets []time.Time) (map[int64]uint64, error) {
	if len(goals) == 0 {
		return nil, nil
	}
	c, err := db.where(ctx, scope)
	if err != nil {
		return nil, err
	}
	query := clickhouse.Bind(db.queries["conversions.Count"], c)
	if len(scope.Filters) == 0 {
		query = db.queries["conversions.BySlot"]
	}
	args := c.Args().With(scopeArguments(scope, scope.Window)).With(clickhouse.BucketArgs(buckets)).With(goalArguments(goals))
	out := map[int64]uint64{}
	err = db.conn.Read(ctx, "counting conversions", query, args, func(rows driver.Rows) (bool, error) {
		var bucket uint32
		var n uint64
		err := rows.Scan(&bucket, &n)
		out[int64(bucket)] = n
		return true, err
	})
	return out, err
}

// scopeKey returns a key for an analytics scope, so that concurrent reads of it share one execution.
func scopeKey(scope analytics.Scope, goals []goal.Matcher) string {
	w, revision := scope.Window, int64(0)
	if scope.Segment != nil {
		revision = scope.Segment.UpdatedAt.UnixMilli()
	}
	return fmt.Sprintf("%d %d %d %s %t %d %q %q", scope.Environment.Number, w.From.UnixMilli(), w.To.UnixMilli(),
		w.Location, scope.IncludeBots, revision, scope.Filters.String(), goals)
}
