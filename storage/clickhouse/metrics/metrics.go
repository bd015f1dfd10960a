package metrics

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/metric"
	"svc/storage/clickhouse"
)

// MetricNames returns the metrics of an environment, sorted by name.
func (db *Store) MetricNames(ctx context.Context, environment domain.Environment) ([]metric.Name, error) {
	var names []metric.Name
	args := clickhouse.Args{"environment": environment.Number}
	err := db.conn.Read(ctx, "listing metrics", db.queries["metrics.Names"], args, func(rows driver.Rows) (bool, error) {
		var name metric.Name
		var kind string
		err := rows.Scan(&name.Name, &kind, &name.Unit, &name.LabelKeys, &name.Series, &name.LastSeenAt)
		name.Kind = metric.Kind(kind)
		names = append(names, name)
		return true, err
	})
	return names, err
}

// MetricSeries returns a metric in buckets, including empty ones. For an unknown metric all buckets are empty.
func (db *Store) MetricSeries(ctx context.Context, query metric.Query) (metric.Series, error) {
	return clickhouse.Whole(ctx, db.conn.Of(query.Environment.Number), func(ctx context.Context) (metric.Series, error) { return db.metricSeries(ctx, query) })
}

// metricSeries is MetricSeries without coordination with inserts under way.
func (db *Store) metricSeries(ctx context.Context, query metric.Query) (metric.Series, error) {
	var out metric.Series
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		found, err := db.metricParts(ctx, query, metricParting{buckets: query.Window.Buckets()})
		out.Points, out.Summary = found[""].points(query)
		return err
	})
	if query.GroupBy != "" {
		group.Go(func() (err error) {
			out.Groups, out.GroupCount, err = db.metricGroups(ctx, query)
			return err
		})
	}
	return out, group.Wait()
}

// metricGroups ranks the groups by their value in the whole window, and returns the first groups with their points and
// the number of all groups. If there are few groups, one scan reads the values and points of all. Otherwise one scan
// reads the values and another the points of the first groups.
func (db *Store) metricGroups(ctx context.Context, query metric.Query) (groups []metric.Group, count int, err error) {
	buckets := query.Window.Buckets()
	most, err := db.metricGroupCount(ctx, query)
	if err != nil {
		return nil, 0, err
	}
	few := most*uint64(len(buckets)) <= db.rowsAtOnce
	parting := metricParting{label: query.GroupBy, buckets: []time.Time{time.Unix(wholeWindow, 0)}}
	if few {
		_, percentile := query.Agg.Percentile()
		parting.buckets, parting.whole = buckets, percentile
	}
	found, err := db.metricParts(ctx, query, parting)
	if err != nil {
		return nil, 0, err
	}
	for part, of := range found {
		groups = append(groups, metric.Group{Label: part, Value: of.whole().value(query)})
	}
	slices.SortFunc(groups, metric.CompareMetricGroups)
	count, groups = len(groups), groups[:min(len(groups), query.Groups)]
	if !few && len(groups) > 0 {
		parting = metricParting{buckets: buckets, label: query.GroupBy}
		for i := range groups {
			parting.parts = append(parting.parts, groups[i].Label)
		}
		if found, err = db.metricParts(ctx, query, parting); err != nil {
			return nil, 0, err
		}
	}
	for i := range groups {
		groups[i].Points, groups[i].Summary = found[groups[i].Label].points(query)
	}
	return groups, count, nil
}

// metricGroupCount returns the number of values of a label in the series of a metric, including values without data in
// the window.
func (db *Store) metricGroupCount(ctx context.Context, query metric.Query) (count uint64, err error) {
	args := LabelArgs(query.Labels).With(clickhouse.Args{"environment": query.Environment.Number, "name": query.Name, "group_by": query.GroupBy})
	err = db.conn.Read(ctx, "counting groups of a metric", db.queries["metrics.GroupCount"], args, func(rows driver.Rows) (bool, error) {
		return true, rows.Scan(&count)
	})
	return count, err
}

// metricBucket has the totals of one bucket.
type metricBucket struct {
	metric.Totals
	// quantiles has metric.Percentiles: the values for points, the bins of sketches for rollups.
	quantiles []float64
}

// value returns the aggregation of the query for the bucket.
func (b *metricBucket) value(query metric.Query) *float64 {
	at, percentile := query.Agg.Percentile()
	switch {
	case !percentile:
		return query.Agg.Of(b.Totals)
	case len(b.quantiles) <= at:
		return nil
	case query.Window.Source == metric.SourceRollups:
		return metric.SketchValue(int16(b.quantiles[at]), b.Totals)
	}
	return &b.quantiles[at]
}

// metricBuckets has buckets by their start in seconds since 1970.
type metricBuckets map[int64]*metricBucket

// whole returns the bucket of the whole window if it was requested, otherwise the sum of all buckets, which has no
// percentiles.
func (m metricBuckets) whole() *metricBucket {
	if whole := m[wholeWindow]; whole != nil {
		return whole
	}
	var sum metricBucket
	for _, bucket := range m {
		sum.Add(bucket.Totals)
	}
	return &sum
}

// points returns the points of all buckets, including empty ones, and their totals.
func (m metricBuckets) points(query metric.Query) ([]metric.Point, metric.Totals) {
	var summary metric.Totals
	buckets := query.Window.Buckets()
	points := make([]metric.Point, len(buckets))
	for i, t := range buckets {
		bucket := m[t.Unix()]
		if bucket == nil {
			bucket = &metricBucket{}
		}
		summary.Add(bucket.Totals)
		points[i] = metric.Point{T: t, Value: bucket.value(query)}
	}
	return points, summary
}

// metricParting describes how a metric is divided.
type metricParting struct {
	buckets []time.Time
	// label is empty if the metric is not divided by a label. Without parts, all values of the label count.
	label string
	parts []string
	// whole requests the whole window in addition to the buckets, under wholeWindow.
	whole bool
}

// wholeWindow is the start time that stands for the bucket of a whole window.
const wholeWindow = 0

// metricParts reads the buckets of a query by the values of a label. Without a label they are all under "".
func (db *Store) metricParts(ctx context.Context, query metric.Query, by metricParting) (map[string]metricBuckets, error) {
	args := LabelArgs(query.Labels).With(clickhouse.BucketArgs(by.buckets)).With(clickhouse.Args{
		"environment": query.Environment.Number, "name": query.Name, "from": query.Window.From, "to": query.Window.To, "all": len(query.Labels) == 0,
		"group_by": by.label, "parts": append([]string{}, by.parts...),
	})
	found := map[string]metricBuckets{}
	err := db.conn.Read(ctx, "reading a metric", db.metricQuery(query, by), args, func(rows driver.Rows) (bool, error) {
		var at uint32
		var part string
		b := &metricBucket{}
		if err := rows.Scan(&at, &part, &b.Count, &b.Sum, &b.Min, &b.Max, &b.quantiles); err != nil {
			return false, err
		}
		if found[part] == nil {
			found[part] = metricBuckets{}
		}
		found[part][int64(at)] = b
		return true, nil
	})
	return found, err
}

// metricQuery returns the cheapest query that answers a metric query.
func (db *Store) metricQuery(query metric.Query, by metricParting) string {
	name, quantiles, totals, grouping := "metrics.Totals", "metrics.Inexact", "metric_totals", "bucket, part"
	_, percentile := query.Agg.Percentile()
	switch points := query.Window.Source == metric.SourcePoints; {
	case points && by.label != "":
		name = "metrics.PointGroups"
	case points:
		name = "metrics.Points"
	case by.label != "":
		name = "metrics.RollupGroups"
	case len(query.Labels) > 0:
		name = "metrics.Rollups"
	}
	switch {
	case percentile && query.Window.Source == metric.SourcePoints:
		quantiles = "metrics.Exact"
	case percentile:
		quantiles = "metrics.Sketched"
	}
	if by.whole {
		grouping = "GROUPING SETS ((bucket, part), (part))"
	}
	if wholeHours(query.Window.From, by.buckets) {
		totals = "metric_hours"
	}
	return strings.NewReplacer("$(totals)", totals, "$(quantiles)", db.queries[quantiles], "$(grouping)", grouping).Replace(db.queries[name])
}

// wholeHours reports whether a window and all its buckets begin with an hour of UTC. Sums of hours then equal sums of
// five minutes.
func wholeHours(from time.Time, buckets []time.Time) bool {
	return !slices.ContainsFunc(append([]time.Time{from}, buckets...), func(t time.Time) bool { return !t.Equal(t.Truncate(time.Hour)) })
}

// LabelArgs returns the values of metrics.Matching.
func LabelArgs(labels []metric.Label) clickhouse.Args {
	keys, wanted := []string{}, []string{}
	for _, label := range labels {
		if !slices.Contains(keys, label.Key) {
			keys = append(keys, label.Key)
		}
		wanted = append(wanted, strconv.Itoa(len(label.Key))+":"+label.Key+label.Value)
	}
	slices.SortFunc(keys, cmp.Compare)
	return clickhouse.Args{"keys": keys, "wanted": wanted}
}
