package clickhouse

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
)

// MetricNames returns the metrics of an environment, sorted by name.
func (db *DB) MetricNames(ctx context.Context, environment svc.Environment) ([]svc.MetricName, error) {
	var names []svc.MetricName
	args := arguments{"environment": environment.Number}
	err := db.read(ctx, "listing metrics", db.queries["metrics.Names"], args, func(rows driver.Rows) (bool, error) {
		var name svc.MetricName
		var kind string
		err := rows.Scan(&name.Name, &kind, &name.Unit, &name.LabelKeys, &name.Series, &name.LastSeenAt)
		name.Kind = svc.MetricKind(kind)
		names = append(names, name)
		return true, err
	})
	return names, err
}

// MetricSeries returns a metric in buckets, quiet ones included. A metric that nobody
// sent is quiet all the time.
func (db *DB) MetricSeries(ctx context.Context, query svc.MetricQuery) (svc.MetricSeries, error) {
	found, err := db.metricParts(ctx, query, query.Window.Buckets(), "", nil)
	if err != nil {
		return svc.MetricSeries{}, err
	}
	var out svc.MetricSeries
	out.Points, out.Summary = found[""].points(query)
	if query.GroupBy == "" {
		return out, nil
	}
	return out, db.metricGroups(ctx, query, &out)
}

// metricGroups ranks the groups by their value of the whole window and reads the
// points of the first.
func (db *DB) metricGroups(ctx context.Context, query svc.MetricQuery, out *svc.MetricSeries) error {
	whole, err := db.metricParts(ctx, query, []time.Time{time.Unix(0, 0)}, query.GroupBy, nil)
	if err != nil {
		return err
	}
	out.GroupCount = len(whole)
	for part, buckets := range whole {
		out.Groups = append(out.Groups, svc.MetricGroup{Label: part, Value: buckets[0].value(query)})
	}
	slices.SortFunc(out.Groups, svc.CompareMetricGroups)
	out.Groups = out.Groups[:min(len(out.Groups), query.Groups)]
	if len(out.Groups) == 0 {
		return nil
	}
	parts := make([]string, len(out.Groups))
	for i := range out.Groups {
		parts[i] = out.Groups[i].Label
	}
	found, err := db.metricParts(ctx, query, query.Window.Buckets(), query.GroupBy, parts)
	for i := range out.Groups {
		out.Groups[i].Points, out.Groups[i].Summary = found[parts[i]].points(query)
	}
	return err
}

// metricBucket is what one bucket holds.
type metricBucket struct {
	svc.MetricTotals
	// quantiles are svc.Percentiles: of points the values, of rollups the bins of sketches.
	quantiles []float64
}

// value returns what the query asks for of a bucket.
func (b *metricBucket) value(query svc.MetricQuery) *float64 {
	at, percentile := query.Agg.Percentile()
	switch {
	case !percentile:
		return query.Agg.Of(b.MetricTotals)
	case len(b.quantiles) <= at:
		return nil
	case query.Window.Source == svc.SourceRollups:
		return svc.SketchValue(int16(b.quantiles[at]), b.MetricTotals)
	}
	return &b.quantiles[at]
}

// metricBuckets are buckets by their beginnings, in seconds since 1970.
type metricBuckets map[int64]*metricBucket

// points returns the dense points and the totals of the buckets.
func (m metricBuckets) points(query svc.MetricQuery) ([]svc.MetricPoint, svc.MetricTotals) {
	var summary svc.MetricTotals
	buckets := query.Window.Buckets()
	points := make([]svc.MetricPoint, len(buckets))
	for i, t := range buckets {
		bucket := m[t.Unix()]
		if bucket == nil {
			bucket = &metricBucket{}
		}
		summary.Add(bucket.MetricTotals)
		points[i] = svc.MetricPoint{T: t, Value: bucket.value(query)}
	}
	return points, summary
}

// metricParts reads the buckets of a query by the values of a label, all under the
// empty one without a label.
func (db *DB) metricParts(ctx context.Context, query svc.MetricQuery, buckets []time.Time, label string, parts []string) (map[string]metricBuckets, error) {
	args := labelArguments(query.Labels).with(bucketArguments(buckets)).with(arguments{
		"environment": query.Environment.Number, "name": query.Name, "from": query.Window.From, "to": query.Window.To, "all": len(query.Labels) == 0,
		"group_by": label, "parts": append([]string{}, parts...),
	})
	found := map[string]metricBuckets{}
	err := db.read(ctx, "reading a metric", db.metricQuery(query, buckets, label != ""), args, func(rows driver.Rows) (bool, error) {
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

// metricQuery returns the cheapest query that answers.
func (db *DB) metricQuery(query svc.MetricQuery, buckets []time.Time, grouped bool) string {
	name, quantiles, totals := "metrics.Totals", "metrics.Inexact", "metric_totals"
	_, percentile := query.Agg.Percentile()
	switch points := query.Window.Source == svc.SourcePoints; {
	case points && grouped:
		name = "metrics.PointGroups"
	case points:
		name = "metrics.Points"
	case grouped:
		name = "metrics.RollupGroups"
	case len(query.Labels) > 0:
		name = "metrics.Rollups"
	}
	switch {
	case percentile && query.Window.Source == svc.SourcePoints:
		quantiles = "metrics.Exact"
	case percentile:
		quantiles = "metrics.Sketched"
	}
	if wholeHours(query.Window.From, buckets) {
		totals = "metric_hours"
	}
	return strings.NewReplacer("$(totals)", totals, "$(quantiles)", db.queries[quantiles]).Replace(db.queries[name])
}

// wholeHours tells whether a window and all its buckets begin with an hour of UTC, so that
// sums of hours say the same as those of five minutes.
func wholeHours(from time.Time, buckets []time.Time) bool {
	return !slices.ContainsFunc(append([]time.Time{from}, buckets...), func(t time.Time) bool { return !t.Equal(t.Truncate(time.Hour)) })
}

// labelArguments are the values of metrics.Matching.
func labelArguments(labels []svc.Label) arguments {
	keys, wanted := []string{}, []string{}
	for _, label := range labels {
		if !slices.Contains(keys, label.Key) {
			keys = append(keys, label.Key)
		}
		wanted = append(wanted, strconv.Itoa(len(label.Key))+":"+label.Key+label.Value)
	}
	slices.SortFunc(keys, cmp.Compare)
	return arguments{"keys": keys, "wanted": wanted}
}
