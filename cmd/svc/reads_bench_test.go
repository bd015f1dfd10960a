package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// handWritten is the folder of the queries against which the reads are measured.
const handWritten = "../../bench/query"

// BenchmarkReads measures reads of the API, over HTTP, alternating with the best hand-written queries for the same
// numbers over the same raw table. Both must agree before anything is measured. SVC_BENCH_EVENTS is the number of
// events; a third of them belong to the application.
func BenchmarkReads(b *testing.B) {
	events := 300_000
	if n, err := strconv.Atoi(os.Getenv("SVC_BENCH_EVENTS")); err == nil {
		events = n
	}
	s := startServer(b, b.TempDir(), nil)
	r := &readsBench{server: s, sql: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return s.node.engine.DialContext(ctx, addr)
		},
	}}}
	r.load(b, events)
	for _, read := range append([]turn{
		{name: "overview-30d", path: "overview?range=30d", by: "overview.raw.sql"},
		{name: "overview-30d/browser", path: "overview?range=30d", by: "overview.*.sql", column: "browser", value: "Firefox"},
		{name: "overview-30d/path", path: "overview?range=30d", by: "overview.*.sql", column: "path", value: "/p/42"},
		{name: "overview-30d/source", path: "overview?range=30d", by: "overview.*.sql", column: "source", value: "google"},
		{name: "overview-30d/country", path: "overview?range=30d", by: "overview.*.sql", column: "country", value: "NP"},
		{name: "overview-30d/event", path: "overview?range=30d", by: "overview.*.sql", column: "name", value: "signup"},
		{name: "series-30d", path: "timeseries?range=30d&interval=day", by: "series.raw.sql"},
		{name: "series-30d/browser", path: "timeseries?range=30d&interval=day", by: "series.*.sql", column: "browser", value: "Firefox"},
		{name: "series-30d/path", path: "timeseries?range=30d&interval=day", by: "series.*.sql", column: "path", value: "/p/42"},
		{name: "series-30d/event", path: "timeseries?range=30d&interval=day", by: "series.*.sql", column: "name", value: "signup"},
		{name: "overview-24h", path: "overview?range=24h", by: "overview.raw.sql"},
	}, r.turnsOf()...) {
		b.Run(read.name, func(b *testing.B) { r.inTurns(b, &read) })
	}
}

// turn is a read and the queries with the same answer.
type turn struct {
	name, path string
	// by is the pattern of the files of hand-written queries.
	by string
	// column and value are the filter; both are empty without one.
	column, value string
	// unit is the unit of the cohorts of a retention.
	unit string
	// figures are the numbers on which the read and the queries must agree; nil if the read is an overview or a series.
	figures func(answer map[string]any) []float64
}

// url is the path of the read.
func (t *turn) url() string {
	address := appPath + "/analytics/" + t.path
	if rest, beside := strings.CutPrefix(t.path, "../"); beside {
		address = appPath + "/" + rest
	}
	if t.column != "" {
		dimension := t.column
		if dimension == "name" {
			dimension = "event"
		}
		address += "&filter=" + url.QueryEscape(dimension+":"+t.value)
	}
	return address
}

// readsBench is a server with events and direct access to the engine.
type readsBench struct {
	*server
	sql         *http.Client
	environment string
	from, to    time.Time
}

// load stores the events of a crowd in addition to one sent event, from which it learns the number of the environment.
func (r *readsBench) load(b *testing.B, events int) {
	b.Helper()
	r.send(map[string]any{"type": "page", "distinctId": "first", "url": "https://example.com/"})
	r.settled()
	rows := r.ask(b, "SELECT toString(any(environment)) FROM events", nil)
	r.environment = rows[0][0].(string)
	number, err := strconv.ParseUint(r.environment, 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	crowd := newCrowd(number, now.AddDate(0, 0, -29), now.Add(-time.Minute), events)
	if err := crowd.store(b.Context(), r.node.db); err != nil {
		b.Fatal(err)
	}
	r.awaitMerges(b)
}

// awaitMerges waits until the engine merges nothing for a while, so that no merge adds to the processor time of a read.
// It takes as long as the machine needs.
func (r *readsBench) awaitMerges(b *testing.B) {
	b.Helper()
	const looks = 25 // consecutive checks without a merge
	for quiet := 0; quiet < looks; quiet++ {
		if merging := r.ask(b, "SELECT toString(count()) FROM system.merges", nil)[0][0]; merging != "0" {
			quiet = 0
		}
		select {
		case <-b.Context().Done():
			b.Fatal("the benchmark ended before the merges did")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// inTurns measures a read and the hand-written queries alternately.
func (r *readsBench) inTurns(b *testing.B, t *turn) {
	files, err := filepath.Glob(filepath.Join(handWritten, t.by))
	if err != nil || len(files) == 0 {
		b.Fatalf("%s names no queries: %v", t.by, err)
	}
	if t.column != "" {
		files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, ".raw.sql") })
	}
	queries := make([]string, len(files))
	for n, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		queries[n] = string(text)
	}
	r.agree(b, t, files, queries)
	api, byHand := &stopwatch{}, make([]stopwatch, len(queries))
	for b.Loop() {
		api.time(func() { r.get(t.url()) })
		for n, query := range queries {
			byHand[n].time(func() { r.ask(b, query, r.parameters(t)) })
		}
	}
	reportTurns(b, api, byHand)
}

// reportTurns reports the cost of a read next to that of the best hand-written query.
func reportTurns(b *testing.B, api *stopwatch, byHand []stopwatch) {
	b.Helper()
	best := slices.MinFunc(byHand, func(a, b stopwatch) int { return int(a.median() - b.median()) })
	b.ReportMetric(0, "ns/op") // the total time of a turn is meaningless
	for name, watch := range map[string]*stopwatch{"api": api, "hand": &best} {
		b.ReportMetric(watch.at(0.5), name+"-p50-ms")
		b.ReportMetric(watch.at(0.95), name+"-p95-ms")
		b.ReportMetric(watch.cpuMedian(), name+"-cpu-ms")
	}
	b.ReportMetric(api.at(0.5)/best.at(0.5), "ratio")
	b.ReportMetric(api.cpuMedian()/best.cpuMedian(), "cpu-ratio")
}

// agree fails unless the read and every hand-written query give the same numbers.
func (r *readsBench) agree(b *testing.B, t *turn, files, queries []string) {
	b.Helper()
	want := r.wanted(b, t, r.get(t.url()))
	for n, query := range queries {
		var got []float64
		for _, row := range r.ask(b, query, r.parameters(t)) {
			got = append(got, numbersOf(b, row[1:])...)
		}
		if got = t.comparable(got); len(want) == 0 || !slices.Equal(got, want) {
			b.Fatalf("%s: %s says %v, the API %v", t.name, files[n], got, want)
		}
	}
}

// headlineColumns is the number of figures per window in a hand-written overview.
const headlineColumns = 6

// headlines returns the figures of an overview, the previous window first, and records the span of both windows.
func (r *readsBench) headlines(b *testing.B, answer map[string]any) []float64 {
	b.Helper()
	span := answer["range"].(map[string]any)
	from, err := time.Parse(time.RFC3339, span["from"].(string))
	if err != nil {
		b.Fatal(err)
	}
	if r.to, err = time.Parse(time.RFC3339, span["to"].(string)); err != nil {
		b.Fatal(err)
	}
	r.from = from.Add(-r.to.Sub(from))
	var out []float64
	for _, window := range []map[string]any{answer["comparison"].(map[string]any), answer} {
		if window["sessions"].(float64) == 0 {
			continue
		}
		for _, name := range []string{"visitors", "uniqueVisitors", "sessions", "pageviews", "bounceRate", "avgDurationMs"} {
			out = append(out, window[name].(float64))
		}
	}
	return out
}

// rates converts the sums of bounces and durations into the API's values; windows without sessions are left out.
func rates(rows []float64) (out []float64) {
	for row := range slices.Chunk(rows, headlineColumns) {
		if sessions := row[2]; sessions > 0 {
			out = append(out, row[0], row[1], sessions, row[3],
				min(max(row[4]/sessions, 0), 1), float64(uint64(max(row[5], 0))/uint64(sessions)))
		}
	}
	return out
}

func numbersOf(b *testing.B, values []any) []float64 {
	b.Helper()
	out := make([]float64, len(values))
	for n, value := range values {
		var err error
		if out[n], err = strconv.ParseFloat(fmt.Sprint(value), 64); err != nil {
			b.Fatal(err)
		}
	}
	return out
}

// parameters are the bound values of a hand-written query.
func (r *readsBench) parameters(t *turn) map[string]string {
	const layout = "2006-01-02 15:04:05.000"
	middle := r.from.Add(r.to.Sub(r.from) / 2)
	parameters := map[string]string{
		"environment": r.environment, "from": r.from.UTC().Format(layout),
		"middle": middle.UTC().Format(layout), "to": r.to.UTC().Format(layout), "unit": t.unit,
	}
	if t.column != "" {
		parameters["column"], parameters["value"] = t.column, t.value
	}
	return parameters
}

// ask runs a query in the engine.
func (r *readsBench) ask(b *testing.B, query string, parameters map[string]string) [][]any {
	b.Helper()
	values := url.Values{"database": {"svc"}, "default_format": {"JSONCompact"}}
	for name, value := range parameters {
		values.Set("param_"+name, value)
	}
	request, err := http.NewRequestWithContext(b.Context(), "POST", "http://engine/?"+values.Encode(), bytes.NewReader([]byte(query)))
	if err != nil {
		b.Fatal(err)
	}
	response, err := r.sql.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 {
		b.Fatalf("%d %s %v", response.StatusCode, body, err)
	}
	var answer struct {
		Data [][]any `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		b.Fatal(err)
	}
	return answer.Data
}

// stopwatch collects the costs of runs, by the clock and in processor time.
type stopwatch struct{ took, used []time.Duration }

func (s *stopwatch) time(run func()) {
	began, used := time.Now(), processorTime()
	run()
	s.took, s.used = append(s.took, time.Since(began)), append(s.used, processorTime()-used)
}

// at returns a quantile of the times by the clock, in milliseconds.
func (s *stopwatch) at(quantile float64) float64 {
	sorted := slices.Sorted(slices.Values(s.took))
	return millis(sorted[min(int(quantile*float64(len(sorted))), len(sorted)-1)])
}

func (s *stopwatch) median() time.Duration {
	return slices.Sorted(slices.Values(s.took))[len(s.took)/2]
}

// cpuMedian is in milliseconds.
func (s *stopwatch) cpuMedian() float64 {
	return millis(slices.Sorted(slices.Values(s.used))[len(s.used)/2])
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// processorTime returns the CPU time that the process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // it cannot fail for the process itself
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
