package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/domain/metric"
)

// metricQueries is the folder of the queries against which reads of metrics are measured.
const metricQueries = "../../bench/metrics"

// metricTurn is a read of a metric and the queries with the same answer.
type metricTurn struct {
	name, metric, agg, span string
	// by is the pattern of the files of hand-written queries, and more the query of a label.
	by, more string
	width    time.Duration
}

// BenchmarkMetricReads measures reads of series over HTTP, alternating with the best hand-written queries for the same
// numbers over the same tables. Both must agree before anything is measured. SVC_BENCH_POINTS is the number of points,
// a third of each kind.
func BenchmarkMetricReads(b *testing.B) {
	points := 300_000
	if n, err := strconv.Atoi(os.Getenv("SVC_BENCH_POINTS")); err == nil {
		points = n
	}
	s := startServer(b, b.TempDir(), nil)
	r := &readsBench{server: s, sql: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return s.node.engine.DialContext(ctx, addr)
		},
	}}}
	r.loadMetrics(b, points)
	for _, read := range []metricTurn{
		{name: "counter-30d", metric: "counter", agg: "sum", span: "30d", by: "totals.*.sql", width: 6 * time.Hour},
		{name: "counter-30d/label", metric: "counter", agg: "sum", span: "30d", by: "label.*.sql", more: "&label.plan=pro", width: 6 * time.Hour},
		{name: "counter-30d/groups", metric: "counter", agg: "sum", span: "30d", by: "groups.*.sql", more: "&groupBy=zone", width: 6 * time.Hour},
		{name: "gauge-30d", metric: "gauge", agg: "max", span: "30d", by: "totals.*.sql", width: 6 * time.Hour},
		{name: "gauge-30d/label", metric: "gauge", agg: "max", span: "30d", by: "label.*.sql", more: "&label.plan=pro", width: 6 * time.Hour},
		{name: "histogram-30d", metric: "histogram", agg: "p95", span: "30d", by: "totals.*.sql", width: 6 * time.Hour},
		{name: "histogram-30d/label", metric: "histogram", agg: "p95", span: "30d", by: "label.*.sql", more: "&label.plan=pro", width: 6 * time.Hour},
		{name: "histogram-30d/groups", metric: "histogram", agg: "p95", span: "30d", by: "groups.*.sql", more: "&groupBy=zone", width: 6 * time.Hour},
		{name: "histogram-24h", metric: "histogram", agg: "p95", span: "24h", by: "totals.*.sql", width: 15 * time.Minute},
		{name: "histogram-6h", metric: "histogram", agg: "p95", span: "6h", by: "totals.points.sql", width: 5 * time.Minute},
	} {
		b.Run(read.name, func(b *testing.B) { r.metricInTurns(b, &read) })
	}
}

// loadMetrics stores points of the last 30 days in addition to one sent point, from which it learns the number of the
// environment.
func (r *readsBench) loadMetrics(b *testing.B, points int) {
	b.Helper()
	r.send(map[string]any{"type": "metric", "name": "first", "kind": "gauge", "value": 1})
	r.settled()
	r.environment = r.ask(b, "SELECT toString(any(environment)) FROM metric_points", nil)[0][0].(string)
	now := time.Now()
	from := now.AddDate(0, 0, -31)
	each := points / 3
	step := float64(now.Add(-time.Minute).Sub(from).Milliseconds()) / (float64(each) / 40)
	for _, kind := range metric.Kinds() {
		parameters := map[string]string{
			"environment": r.environment, "name": "bench." + string(kind), "kind": string(kind), "points": strconv.Itoa(each),
			"from_ms": strconv.FormatInt(from.UnixMilli(), 10), "step_ms": strconv.FormatFloat(step, 'f', -1, 64),
		}
		for _, file := range []string{"seed.series.sql", "seed.points.sql"} {
			text, err := os.ReadFile(filepath.Join(metricQueries, file))
			if err != nil {
				b.Fatal(err)
			}
			r.execute(b, string(text), parameters)
		}
	}
	r.awaitMerges(b)
}

// execute runs a statement without an answer in the engine.
func (r *readsBench) execute(b *testing.B, statement string, parameters map[string]string) {
	b.Helper()
	values := url.Values{"database": {"svc"}}
	for name, value := range parameters {
		values.Set("param_"+name, value)
	}
	request, err := http.NewRequestWithContext(b.Context(), "POST", "http://engine/?"+values.Encode(), bytes.NewReader([]byte(statement)))
	if err != nil {
		b.Fatal(err)
	}
	response, err := r.sql.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != 200 {
		b.Fatalf("%d %s %v", response.StatusCode, body, err)
	}
}

// url is the path of the read.
func (t *metricTurn) url() string {
	return metricsPath + "/series?name=bench." + t.metric + "&agg=" + t.agg + "&range=" + t.span + t.more
}

// value is the expression of the read's aggregation over rollups or points.
func (t *metricTurn) value(file string) string {
	if t.agg != "p95" {
		return map[string]string{"sum": "sum(t.sum)", "max": "max(t.max)"}[t.agg]
	}
	if strings.Contains(file, ".points.") {
		return "quantileExactWeightedArray(0.95)(if(empty(t.values), [t.sum], t.values), if(empty(t.values), [t.count], t.weights))"
	}
	const key = "(sumMap(t.sketch) AS bins).1[arrayFirstIndex(c -> c >= ceil(sum(t.count) * 0.95), arrayCumSum(bins.2))]"
	return "2 * exp((" + key + " - 1382) * 0.020000666706669543) / (exp(0.020000666706669543) + 1)"
}

// parameters are the bound values of the hand-written queries, for the span that the API now answers.
func (r *readsBench) metricParameters(b *testing.B, t *metricTurn) map[string]string {
	b.Helper()
	span := r.get(t.url())["range"].(map[string]any)
	out := map[string]string{"environment": r.environment, "name": "bench." + t.metric, "width": strconv.Itoa(int(t.width.Seconds())), "label": "zone"}
	for _, end := range []string{"from", "to"} {
		at, err := time.Parse(time.RFC3339, span[end].(string))
		if err != nil {
			b.Fatal(err)
		}
		out[end] = at.UTC().Format("2006-01-02 15:04:05.000")
	}
	if strings.HasPrefix(t.more, "&label.plan=") {
		out["label"], out["wanted"] = "plan", "pro"
	}
	return out
}

// metricInTurns measures a read and the hand-written queries alternately.
func (r *readsBench) metricInTurns(b *testing.B, t *metricTurn) {
	files, err := filepath.Glob(filepath.Join(metricQueries, t.by))
	if err != nil || len(files) == 0 {
		b.Fatalf("%s names no queries: %v", t.by, err)
	}
	queries := make([]string, len(files))
	for n, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		queries[n] = strings.Replace(string(text), "$(value)", t.value(file), 1)
	}
	parameters := r.metricParameters(b, t)
	for n, query := range queries {
		r.metricsAgree(b, t, files[n], query, parameters)
	}
	api, byHand := &stopwatch{}, make([]stopwatch, len(queries))
	for b.Loop() {
		api.time(func() { r.get(t.url()) })
		for n, query := range queries {
			byHand[n].time(func() { r.ask(b, query, parameters) })
		}
	}
	reportTurns(b, api, byHand)
	if raw := slices.IndexFunc(files, func(name string) bool { return strings.HasSuffix(name, ".points.sql") }); raw >= 0 {
		b.ReportMetric(api.at(0.5)/byHand[raw].at(0.5), "raw-ratio")
	}
}

// metricsAgree fails unless the read and a hand-written query give the same numbers: exactly except for rounding, and
// for percentiles of points within the error of rollups.
func (r *readsBench) metricsAgree(b *testing.B, t *metricTurn, file, query string, parameters map[string]string) {
	b.Helper()
	answer := r.get(t.url())
	series := []any{answer}
	if groups, grouped := answer["groups"].([]any); grouped {
		series = groups
		slices.SortFunc(series, func(x, y any) int {
			return strings.Compare(x.(map[string]any)["label"].(string), y.(map[string]any)["label"].(string))
		})
	}
	var want []float64
	for _, one := range series {
		for _, point := range one.(map[string]any)["points"].([]any) {
			if value, sent := point.(map[string]any)["value"].(float64); sent {
				want = append(want, value)
			}
		}
	}
	rows := r.ask(b, query, parameters)
	tolerance := 1e-9
	if t.agg == "p95" {
		tolerance = metric.SketchAccuracy
	}
	if len(rows) != len(want) {
		b.Fatalf("%s: %s has %d values, the API %d", t.name, file, len(rows), len(want))
	}
	for n, got := range numbersOf(b, column(rows, 1)) {
		// The window of the API has moved since, so the last bucket may differ.
		if math.Abs(got-want[n]) > tolerance*want[n]+1e-9 && n < len(rows)-1 && len(series) == 1 {
			b.Fatalf("%s: %s says %v, the API %v", t.name, file, got, want[n])
		}
	}
}

// column returns one column of rows.
func column(rows [][]any, at int) []any {
	out := make([]any, len(rows))
	for n, row := range rows {
		out[n] = row[at]
	}
	return out
}
