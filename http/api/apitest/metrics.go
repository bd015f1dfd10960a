package apitest

import (
	"slices"
	"time"

	"svc"
	"svc/protos"
)

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
