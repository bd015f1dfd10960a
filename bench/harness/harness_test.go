package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestLatencyPercentiles(t *testing.T) {
	var low, high, all Latency
	for n := 1; n <= 1000; n++ {
		half := &low
		if n > 500 {
			half = &high
		}
		half.Record(time.Duration(n) * time.Millisecond)
	}
	all.Merge(&low)
	all.Merge(&high)
	for q, want := range map[float64]time.Duration{0: time.Millisecond, 0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: time.Second} {
		got := all.Percentile(q)
		if got < want || float64(got) > 1.016*float64(want) {
			t.Errorf("percentile %v = %v, want %v and at most 1.6 %% more", q, got, want)
		}
	}
	if all.Max() != time.Second || all.Count() != 1000 {
		t.Errorf("max %v, count %d", all.Max(), all.Count())
	}
	if (&Latency{}).Percentile(0.5) != 0 {
		t.Error("an empty histogram has a percentile")
	}
}

func TestLatencyBuckets(t *testing.T) {
	for _, n := range []uint64{0, 1, 127, 128, 129, 255, 256, 1e6, 1e9, 1 << 40, 1<<63 - 1} {
		bucket := bucketOf(n)
		edge := uint64(edgeOf(bucket))
		if edge < n || float64(edge) > 1.016*float64(n)+1 {
			t.Errorf("%d is in bucket %d, which ends at %d", n, bucket, edge)
		}
		if n > 0 && bucket >= latencyBuckets {
			t.Errorf("%d is in bucket %d of %d", n, bucket, latencyBuckets)
		}
	}
}

func TestGeneratorIsDeterministic(t *testing.T) {
	ts := time.Date(2026, 11, 20, 12, 0, 0, 5e6, time.UTC)
	render := func(seed, stream uint64) string {
		g := NewGenerator(seed, stream)
		return string(g.AppendEvent(nil, ts)) + string(g.AppendBatch(nil, 3, ts))
	}
	if first, second := render(1, 2), render(1, 2); first != second {
		t.Error("the same seed and stream differ")
	}
	if render(1, 2) == render(1, 3) || render(1, 2) == render(2, 2) {
		t.Error("another seed or stream is the same")
	}
}

func TestGeneratorRendersTheReferenceEvent(t *testing.T) {
	ts := time.Date(2026, 11, 20, 12, 0, 0, 5e6, time.UTC)
	got := string(AppendEvent(nil, []byte("00000000-0000-4000-8000-000000000000"), 1234, 42, ts))
	want := `{"name":"$pageview","distinctId":"user-00001234","sessionId":"sess-00001234","ts":"2026-11-20T12:00:00.005Z","id":"00000000-0000-4000-8000-000000000000","context":{"url":"https://shop.example.com/products/item-42?utm_source=news&utm_medium=email&utm_campaign=spring","path":"/products/item-42","title":"Item 42 - Example Shop","referrer":"https://www.google.com/","locale":"en-US","screen":{"width":1920,"height":1080},"utm":{"source":"news","medium":"email","campaign":"spring"}},"properties":{"plan":"pro","price":49.95,"currency":"EUR","items":3}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	g := NewGenerator(1, 1)
	id := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	for range 100 {
		if got := g.appendID(nil); !id.Match(got) {
			t.Fatalf("%s is no UUID", got)
		}
	}
	var batch struct {
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(g.AppendBatch(nil, 100, ts), &batch); err != nil || len(batch.Items) != 100 {
		t.Errorf("a batch of %d, %v", len(batch.Items), err)
	}
}

// answer serves one connection with prepared answers, one per request.
func answer(t *testing.T, answers ...string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			lines := bufio.NewScanner(conn)
			for len(answers) > 0 && lines.Scan() {
				if strings.HasPrefix(lines.Text(), "{}") {
					_, _ = conn.Write([]byte(answers[0]))
					answers = answers[1:]
				}
			}
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

func TestConnReadsAnswers(t *testing.T) {
	address := answer(t,
		"HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\nok",
		"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 202 Accepted\r\nContent-Le")
	conn := NewConn(address, "/api/v1/events", "key", "agent")
	defer conn.Close()
	body := []byte("{}\n")
	if reply, err := conn.Post(body); err != nil || reply.Status != 202 || string(reply.Body) != "ok" {
		t.Errorf("%+v, %v", reply, err)
	}
	if reply, err := conn.Post(body); err != nil || reply.Status != 503 || reply.RetryAfter != "3" {
		t.Errorf("%+v, %v", reply, err)
	}
	if reply, err := conn.Post(body); err == nil {
		t.Errorf("half an answer was taken for one: %+v", reply)
	}
}

func TestLoadCountsOutcomes(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 2 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer server.Close()
	address := server.Listener.Addr().String()
	outcome := Load{Address: address, Path: "/", Connections: 2, Batch: 10, Events: 55, Duration: time.Minute}.Run(t.Context())
	if outcome.Requests != 6 || outcome.Failures != 1 || outcome.Events < 40 || outcome.Events > 50 || outcome.FirstFailure == "" {
		t.Errorf("%d requests, %d failures, %d events, %q", outcome.Requests, outcome.Failures, outcome.Events, outcome.FirstFailure)
	}
	open := Load{Address: address, Path: "/", Connections: 4, Batch: 1, Rate: 500, Duration: 100 * time.Millisecond}.Run(t.Context())
	if open.Failures != 0 || open.Late.Count() != open.Requests || open.Requests > 50 || open.Requests < 25 {
		t.Errorf("%d requests, %d failures, %d scheduled", open.Requests, open.Failures, open.Late.Count())
	}
}

func TestLoadSharesEvents(t *testing.T) {
	load := Load{Connections: 3, Events: 11}
	if a, b, c := load.share(0), load.share(1), load.share(2); a != 4 || b != 4 || c != 3 {
		t.Errorf("shares %d, %d, %d", a, b, c)
	}
}

func TestPaceKeepsTheSchedule(t *testing.T) {
	load := Load{Rate: 1000, Duration: 50 * time.Millisecond}
	began := time.Now()
	var n time.Duration
	for offset := range load.schedule(t.Context(), began) {
		if offset != n*time.Millisecond {
			t.Fatalf("shot %d is due at %v", n, offset)
		}
		if early := offset - time.Since(began); early > time.Millisecond {
			t.Fatalf("shot %d came %v early", n, early)
		}
		n++
	}
	if n != 50 {
		t.Errorf("%d shots, want 50", n)
	}
}

func TestParseMetrics(t *testing.T) {
	got := parseMetrics([]byte("# HELP svc_x X.\nsvc_x{code=\"a b\"} 2\nsvc_x{code=\"c\"} 3\nsvc_y 1.5e+06\nsvc_z_bucket{le=\"1\"} 4\n"))
	want := Metrics{"svc_x": 5, `svc_x{code="a b"}`: 2, `svc_x{code="c"}`: 3, "svc_y": 1.5e6}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	lag := Metrics{MetricAccepted: 10, MetricStored: 6, MetricDuplicates: 1}
	if lag.Lag() != 3 {
		t.Errorf("lag %d", lag.Lag())
	}
}

func TestAccountsOfThisProcess(t *testing.T) {
	pid := os.Getpid()
	if _, err := ProcessCPU(pid); err != nil {
		t.Error(err)
	}
	total, anonymous, err := ProcessRSS(pid)
	if err != nil || total <= 0 || anonymous <= 0 || anonymous > total {
		t.Errorf("%d resident, %d anonymous, %v", total, anonymous, err)
	}
	meter, err := StartMeter(pid)
	if err != nil {
		t.Fatal(err)
	}
	if usage, err := meter.Read(); err != nil || usage.Server < 0 {
		t.Errorf("%+v, %v", usage, err)
	}
}

func TestResultsAreReadBackInOrder(t *testing.T) {
	folder := t.TempDir()
	var load Outcome
	load.Events, load.Elapsed = 1000, time.Second
	load.Latency.Record(time.Millisecond)
	for n, scenario := range []string{"query", "ingest"} {
		result := NewResult(t.Context(), scenario, "", true)
		result.Date = result.Date.Add(-time.Duration(n) * time.Hour)
		for _, cost := range []time.Duration{30, 10, 20} {
			result.Rows = append(result.Rows, load.Fill("single", KindService, Usage{Elapsed: time.Second, Server: cost * time.Millisecond}))
		}
		result.Ratios = []Ratio{AtLeast("G1", "rate", 0.7, 0.65), AtMost("G2", "cost", 2, 1.6)}
		if _, err := result.Write(folder); err != nil {
			t.Fatal(err)
		}
	}
	results, err := ReadResults(folder)
	if err != nil || len(results) != 2 || results[0].Scenario != "ingest" {
		t.Fatalf("%v, %+v", err, results)
	}
	cost := results[0].Median("single", func(m *Measurement) float64 { return m.CPUPerEvent })
	if cost != 20 || results[0].Rows[0].EventsPerSecond != 1000 {
		t.Errorf("median %v µs, %v events a second", cost, results[0].Rows[0].EventsPerSecond)
	}
	if !results[0].Ratios[0].Met || results[0].Ratios[1].Met {
		t.Errorf("%+v", results[0].Ratios)
	}
	if err := os.WriteFile(filepath.Join(folder, "broken.json"), bytes.Repeat([]byte("{"), 3), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadResults(folder); err == nil || !strings.Contains(err.Error(), "broken.json") {
		t.Errorf("a broken result: %v", err)
	}
}
