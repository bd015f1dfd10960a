package apitest

import (
	"slices"
	"time"

	"svc/domain/metric"
	"svc/protos"
)

// FixtureMetrics returns the metric points of the application acme/web: a counter in
// three series, a histogram and a web vital.
func FixtureMetrics(now time.Time) []metric.Row {
	var rows []metric.Row
	add := func(name string, kind metric.Kind, unit string, back time.Duration, values []float64, labels ...metric.Label) {
		at := now.Add(-back).Truncate(time.Millisecond)
		row := metric.Row{Name: name, Kind: kind, Unit: unit, Ts: at, ReceivedAt: at, Labels: labels}
		var words []string
		for _, label := range labels {
			words = append(words, label.Key, label.Value)
		}
		row.Series = protos.SeriesNumber(0, name, words)
		for _, value := range values {
			row.Add(metric.Totals{Count: 1, Sum: value, Min: value, Max: value})
		}
		if len(values) > 1 {
			row.Values = values
			row.Weights = slices.Repeat([]uint64{1}, len(values))
		}
		rows = append(rows, row)
	}
	plan := func(plan, zone string) []metric.Label {
		return []metric.Label{{Key: "plan", Value: plan}, {Key: "zone", Value: zone}}
	}
	for n := range 40 {
		back := time.Duration(n*n)*9*time.Minute + 30*time.Second
		add("orders", metric.Counter, "1", back+time.Minute, []float64{float64(n % 3)}, plan([]string{"pro", "team", "free"}[n%3], []string{"eu", "us"}[n%2])...)
		add("checkout.duration", metric.MetricHistogram, "ms", back+2*time.Minute, []float64{float64(20 + 7*n), float64(400 - 3*n), 1.5})
		add("LCP", metric.Vital, "ms", back+3*time.Minute, []float64{float64(1200 + 31*n)}, metric.Label{Key: "path", Value: []string{"/cart", "/"}[n%2]})
	}
	return rows
}
