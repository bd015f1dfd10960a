package reads

import (
	"context"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/goal"
	"svc/storage/clickhouse"
)

// Timeseries returns a metric of a window in buckets, including empty ones. In hours, visitors and sessions are the
// ones active in the hour. In days and longer buckets they are sums over local days, so that the points add up to the
// overview. With filters the series covers at most domain.FilteredDays.
func (db *Store) Timeseries(ctx context.Context, scope analytics.Scope, metric analytics.Metric, interval domain.Interval, goals []goal.Matcher) (analytics.Series, error) {
	key := "series " + string(metric) + " " + string(interval) + " " + scopeKey(scope, goals)
	return share(ctx, db, scope.Environment, key, func(ctx context.Context) (analytics.Series, error) {
		return db.series(ctx, scope, metric, interval, goals)
	})
}

func (db *Store) series(ctx context.Context, scope analytics.Scope, metric analytics.Metric, interval domain.Interval, goals []goal.Matcher) (analytics.Series, error) {
	out := analytics.Series{Metric: metric, Interval: interval}
	if len(scope.Filters) > 0 {
		scope.Window, out.Capped = scope.Window.Capped()
	}
	grain := domain.Day
	if interval == domain.Hour {
		grain = domain.Hour
	}
	values, err := db.values(ctx, scope, metric, scope.Window.Buckets(grain), grain, goals)
	if err != nil {
		return analytics.Series{}, err
	}
	sums := map[int64]float64{}
	for at, value := range values {
		bucket := interval.Floor(time.Unix(at, 0).In(scope.Window.Location))
		sums[bucket.Unix()] += value
	}
	for _, bucket := range scope.Window.Buckets(interval) {
		out.Points = append(out.Points, analytics.Point{T: bucket, Value: sums[bucket.Unix()]})
	}
	return out, nil
}

// values returns a metric by the start of each hour or local day. Empty ones may be missing.
func (db *Store) values(ctx context.Context, scope analytics.Scope, metric analytics.Metric, buckets []time.Time, grain domain.Interval, goals []goal.Matcher) (map[int64]float64, error) {
	if metric == analytics.MetricConversions {
		conversions, err := db.conversions(ctx, scope, goals, buckets)
		out := make(map[int64]float64, len(conversions))
		for bucket, n := range conversions {
			out[bucket] = float64(n)
		}
		return out, err
	}
	if len(scope.Filters) > 0 {
		return db.filteredValues(ctx, scope, metric, buckets)
	}
	counts, err := db.bucketCounts(ctx, scope, metric, buckets, grain)
	out := make(map[int64]float64, len(counts.buckets))
	for bucket, t := range counts.buckets {
		switch metric {
		case analytics.MetricVisitors:
			out[bucket] = float64(t.visitors)
		case analytics.MetricSessions:
			out[bucket] = float64(t.sessions)
		case analytics.MetricEvents:
			out[bucket] = float64(t.events)
		case analytics.MetricPageviews:
			out[bucket] = float64(t.pageviews)
		case analytics.MetricConversions:
		}
	}
	return out, err
}

// measureOf returns the name of the query part that computes a metric of filtered events.
func measureOf(metric analytics.Metric) string {
	switch metric {
	case analytics.MetricVisitors:
		return "measure.Visitors"
	case analytics.MetricSessions:
		return "measure.Sessions"
	case analytics.MetricPageviews:
		return "measure.Pageviews"
	case analytics.MetricEvents, analytics.MetricConversions:
	}
	return "measure.Events"
}

// filteredValues returns a metric of the events that pass the scope's filters, by the start of each bucket. The window
// must be capped already.
func (db *Store) filteredValues(ctx context.Context, scope analytics.Scope, metric analytics.Metric, buckets []time.Time) (map[int64]float64, error) {
	c, err := db.where(ctx, scope)
	if err != nil {
		return nil, err
	}
	query := strings.ReplaceAll(db.queries["events.Series"], "$(measure)", db.queries[measureOf(metric)])
	args := c.Args().With(scopeArguments(scope, scope.Window)).With(clickhouse.BucketArgs(buckets))
	out := map[int64]float64{}
	err = db.conn.Read(ctx, "measuring filtered events", clickhouse.Bind(query, c), args, func(rows driver.Rows) (bool, error) {
		var bucket uint32
		var measured uint64
		err := rows.Scan(&bucket, &measured)
		out[int64(bucket)] = float64(measured)
		return true, err
	})
	return out, err
}

// bucketCounts computes at least the counts that a metric needs, without filters.
func (db *Store) bucketCounts(ctx context.Context, scope analytics.Scope, metric analytics.Metric, buckets []time.Time, grain domain.Interval) (windowCounts, error) {
	distinct := metric == analytics.MetricVisitors || metric == analytics.MetricSessions
	switch {
	case distinct && grain == domain.Day:
		counts, err := db.wholeCounts(ctx, scope, []domain.Window{scope.Window}, false)
		if err != nil {
			return windowCounts{}, err
		}
		return counts[0], nil
	case distinct:
		return db.hourlyVisits(ctx, scope, buckets)
	}
	counts := windowCounts{buckets: map[int64]tally{}}
	t, err := db.readTraffic(ctx, scope, []domain.Window{scope.Window}, grain, false)
	t.count(0, &counts)
	return counts, err
}

// hourlyVisits counts visitors and sessions per hour.
func (db *Store) hourlyVisits(ctx context.Context, scope analytics.Scope, hours []time.Time) (windowCounts, error) {
	counts := windowCounts{buckets: map[int64]tally{}}
	args := scopeArguments(scope, scope.Window).With(clickhouse.BucketArgs(hours))
	err := db.conn.Read(ctx, "counting visits", db.queries["visits.Count"], args, func(rows driver.Rows) (bool, error) {
		var bucket uint32
		var t tally
		err := rows.Scan(&bucket, &t.visitors, &t.sessions)
		counts.buckets[int64(bucket)] = t
		return true, err
	})
	return counts, err
}
