package apitest

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"svc"
	"svc/protos"
)

// measured is the port of metrics, over a list of points.
type measured struct{ *Memory }

// FixtureMetrics returns the metric points of the application acme/web: a counter in
// three series, a histogram and a web vital.
func FixtureMetrics(now time.Time) []svc.MetricRow {
	var rows []svc.MetricRow
	add := func(name string, kind svc.MetricKind, unit string, back time.Duration, values []float64, labels ...svc.Label) {
		at := now.Add(-back).Truncate(time.Millisecond)
		row := svc.MetricRow{Name: name, Kind: kind, Unit: unit, Ts: at, ReceivedAt: at, Labels: labels}
		var words []string
		for _, label := range labels {
			words = append(words, label.Key, label.Value)
		}
		row.Series = protos.SeriesNumber(0, name, words)
		for _, value := range values {
			row.Add(svc.MetricTotals{Count: 1, Sum: value, Min: value, Max: value})
		}
		if len(values) > 1 {
			row.Values = values
			row.Weights = slices.Repeat([]uint64{1}, len(values))
		}
		rows = append(rows, row)
	}
	plan := func(plan, zone string) []svc.Label {
		return []svc.Label{{Key: "plan", Value: plan}, {Key: "zone", Value: zone}}
	}
	for n := range 40 {
		back := time.Duration(n*n)*9*time.Minute + 30*time.Second
		add("orders", svc.MetricCounter, "1", back+time.Minute, []float64{float64(n % 3)}, plan([]string{"pro", "team", "free"}[n%3], []string{"eu", "us"}[n%2])...)
		add("checkout.duration", svc.MetricHistogram, "ms", back+2*time.Minute, []float64{float64(20 + 7*n), float64(400 - 3*n), 1.5})
		add("LCP", svc.MetricVital, "ms", back+3*time.Minute, []float64{float64(1200 + 31*n)}, svc.Label{Key: "path", Value: []string{"/cart", "/"}[n%2]})
	}
	return rows
}

// MetricNames is the port api.Metrics.
func (m measured) MetricNames(_ context.Context, environment svc.Environment) ([]svc.MetricName, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []svc.MetricName
	if environment.Slug != svc.DefaultEnvironment {
		return names, nil
	}
	series := map[uint64]bool{}
	for _, row := range m.points {
		at := slices.IndexFunc(names, func(n svc.MetricName) bool { return n.Name == row.Name })
		if at < 0 {
			at = len(names)
			names = append(names, svc.MetricName{Name: row.Name, Kind: row.Kind, Unit: row.Unit})
		}
		name := &names[at]
		if !series[row.Series] {
			series[row.Series] = true
			name.Series++
		}
		for _, label := range row.Labels {
			if !slices.Contains(name.LabelKeys, label.Key) {
				name.LabelKeys = append(name.LabelKeys, label.Key)
			}
		}
		if row.Ts.After(name.LastSeenAt) {
			name.LastSeenAt = row.Ts
		}
	}
	slices.SortFunc(names, func(a, b svc.MetricName) int { return strings.Compare(a.Name, b.Name) })
	return names, nil
}

// MetricSeries is the port api.Metrics.
func (m measured) MetricSeries(_ context.Context, query svc.MetricQuery) (svc.MetricSeries, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	groups := map[string][]svc.MetricRow{}
	var all []svc.MetricRow
	for _, row := range m.points {
		inside := !row.Ts.Before(query.Window.From) && row.Ts.Before(query.Window.To)
		if row.Name != query.Name || !inside || query.Environment.Slug != svc.DefaultEnvironment || !labelled(query.Labels, row.Labels) {
			continue
		}
		all = append(all, row)
		part := labelValue(row.Labels, query.GroupBy)
		groups[part] = append(groups[part], row)
	}
	var out svc.MetricSeries
	out.Points, out.Summary = pointsOf(query, all)
	if query.GroupBy == "" {
		return out, nil
	}
	for label, rows := range groups {
		group := svc.MetricGroup{Label: label, Value: measure(query, rows)}
		group.Points, group.Summary = pointsOf(query, rows)
		out.Groups = append(out.Groups, group)
	}
	slices.SortFunc(out.Groups, svc.CompareMetricGroups)
	out.GroupCount = len(out.Groups)
	out.Groups = out.Groups[:min(len(out.Groups), query.Groups)]
	return out, nil
}

func labelValue(labels []svc.Label, key string) string {
	at := slices.IndexFunc(labels, func(l svc.Label) bool { return l.Key == key })
	if at < 0 {
		return ""
	}
	return labels[at].Value
}

// labelled says whether labels meet, for every wanted key, one of its values.
func labelled(wanted, labels []svc.Label) bool {
	for _, one := range wanted {
		if !slices.Contains(wanted, svc.Label{Key: one.Key, Value: labelValue(labels, one.Key)}) {
			return false
		}
	}
	return true
}

func pointsOf(query svc.MetricQuery, rows []svc.MetricRow) ([]svc.MetricPoint, svc.MetricTotals) {
	var summary svc.MetricTotals
	buckets := query.Window.Buckets()
	points := make([]svc.MetricPoint, len(buckets))
	for i, t := range buckets {
		inside := slices.DeleteFunc(slices.Clone(rows), func(row svc.MetricRow) bool {
			return row.Ts.Before(t) || i+1 < len(buckets) && !row.Ts.Before(buckets[i+1])
		})
		points[i] = svc.MetricPoint{T: t, Value: measure(query, inside)}
		for _, row := range inside {
			summary.Add(row.MetricTotals)
		}
	}
	return points, summary
}

// measure aggregates points: percentiles exactly for points, by the sketch for
// rollups.
func measure(query svc.MetricQuery, rows []svc.MetricRow) *float64 {
	var totals svc.MetricTotals
	var values []float64
	for _, row := range rows {
		totals.Add(row.MetricTotals)
		all := row.Values
		if len(all) == 0 {
			all = []float64{row.Sum}
		}
		values = append(values, all...)
	}
	at, percentile := query.Agg.Percentile()
	if !percentile {
		return query.Agg.Of(totals)
	}
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	value := values[int(math.Ceil(float64(len(values))*svc.Percentiles()[at]))-1]
	if query.Window.Source == svc.SourceRollups {
		return svc.SketchValue(svc.SketchKey(value), totals)
	}
	return &value
}
