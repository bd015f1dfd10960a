package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	otlpcommon "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"svc/domain"
	"svc/domain/event"
	"svc/http/admission"
	"svc/http/route"
)

// zipped returns a text compressed by gzip.
func zipped(tb testing.TB, text []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := writer.Write(text); err != nil {
		tb.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// slowLog holds its records until they may continue, and measures the memory in use while many wait.
type slowLog struct {
	goOn    chan struct{}
	waiting atomic.Int64
}

func (l *slowLog) Produce(context.Context, []event.Part) error {
	l.waiting.Add(1)
	defer l.waiting.Add(-1)
	<-l.goOn
	return nil
}

// spoolOf stores nothing.
type spoolOf struct{}

func (spoolOf) Append([]event.Part) error { return nil }
func (spoolOf) Bytes() int64              { return 0 }

// admitting returns the handler of all paths that accept bodies, with one key of each of some applications.
func admitting(tb testing.TB, log Log, control *admission.Control, apps int) http.Handler {
	tb.Helper()
	handler, _ := admittingWith(tb, log, control, apps)
	return handler
}

// admittingWith is admitting, and returns the keys.
func admittingWith(tb testing.TB, log Log, control *admission.Control, apps int) (http.Handler, collectorsOf) {
	tb.Helper()
	collectors := collectorsOf{}
	for n := range apps {
		collectors[domain.HashSecret(fmt.Sprint("key", n))] = &domain.Collector{
			Kind: domain.KeyPublic, AppID: fmt.Sprint("app", n), KeyID: fmt.Sprint("key", n), Environment: domain.Environment{Number: uint64(n + 1)}, RetentionDays: 365,
			Modules: []domain.Module{domain.ModuleAnalytics, domain.ModuleErrors, domain.ModuleMetrics}, Origins: []string{"*"},
		}
	}
	collect := &Collect{
		Collectors: collectors, Log: log, Shape: domain.LogShape{Partitions: 4}, Metrics: NewCollectMetrics(prometheus.NewRegistry()), Cardinality: everySeries{}, Admission: control,
	}
	sentry := &Sentry{Collect: collect, Spool: spoolOf{}, Metrics: NewSentryMetrics(prometheus.NewRegistry()), Limiter: &ErrorLimiter{}}
	handler, err := route.New(route.Config{
		Routes: append(collect.Routes(), sentry.Routes()...), Authority: struct{ route.Authority }{}, Applications: struct{ route.Applications }{},
		Cursors: domain.NewCursors([]byte("admitting")), Now: collectNoon,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return handler, collectors
}

// bombs are bodies that are short until they are inflated, by path.
func bombs(tb testing.TB) map[string][]byte {
	tb.Helper()
	big := strings.Repeat("x", 60_000)
	events := `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"type":"event","name":"order","distinctId":"u","properties":{"a":"`+big+`"}},`, 340), ",") + `]}`
	small := `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"type":"event","name":"order","distinctId":"u"},`, 1000), ",") + `]}`
	envelope := "{}\n" + strings.Repeat(`{"type":"event"}`+"\n"+`{"message":"`+strings.Repeat("y", 900_000)+`"}`+"\n", 22)
	var points []*otlp.NumberDataPoint
	for n := range 100_000 {
		points = append(points, &otlp.NumberDataPoint{
			TimeUnixNano: uint64(collectNoon().UnixNano()) + uint64(n), Value: &otlp.NumberDataPoint_AsInt{AsInt: 1},
			Attributes: []*otlpcommon.KeyValue{{Key: "a", Value: &otlpcommon.AnyValue{Value: &otlpcommon.AnyValue_StringValue{StringValue: "b"}}}},
		})
	}
	metrics, err := proto.Marshal(&collectmetrics.ExportMetricsServiceRequest{ResourceMetrics: []*otlp.ResourceMetrics{{ScopeMetrics: []*otlp.ScopeMetrics{{
		Metrics: []*otlp.Metric{{Name: "m", Data: &otlp.Metric_Gauge{Gauge: &otlp.Gauge{DataPoints: points}}}},
	}}}}})
	if err != nil {
		tb.Fatal(err)
	}
	return map[string][]byte{
		"/api/v1/batch":           zipped(tb, []byte(events)),
		"/api/v1/batch?small":     zipped(tb, []byte(small)),
		"/sentry/api/1/envelope/": zipped(tb, []byte(envelope)),
		"/v1/metrics":             zipped(tb, metrics),
	}
}

// TestBodiesStayWithinTheBudget sends 120 bodies at a time that are short until they are inflated. It measures the
// allocated memory while all admitted requests wait.
func TestBodiesStayWithinTheBudget(t *testing.T) {
	const budget, senders = 128 << 20, 120
	for path, body := range bombs(t) {
		t.Run(path, func(t *testing.T) {
			log := &slowLog{goOn: make(chan struct{})}
			control := admission.New(budget)
			handler := admitting(t, log, control, 3)
			before := heap()
			var highest atomic.Uint64
			stop := make(chan struct{})
			var watch, calls sync.WaitGroup
			watch.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(20 * time.Millisecond):
						highest.Store(max(highest.Load(), heap()))
					}
				}
			})
			var refused, taken atomic.Int64
			answered := sync.OnceFunc(func() { close(log.goOn) }) // The first answer is a refusal after the wait.
			for n := range senders {
				calls.Go(func() {
					target := strings.Replace(path, "/api/1/", fmt.Sprintf("/api/%s/", domain.Environment{Number: uint64(n%3 + 1)}.IngestID()), 1)
					request := httptest.NewRequest(http.MethodPost, target, bytes.NewReader(body))
					request.Header.Set("Content-Encoding", "gzip")
					request.Header.Set("Authorization", fmt.Sprint("Bearer key", n%3))
					request.Header.Set("X-Sentry-Auth", fmt.Sprint("Sentry sentry_key=key", n%3))
					request.Header.Set("Content-Type", "application/x-protobuf")
					answer := httptest.NewRecorder()
					handler.ServeHTTP(answer, request)
					switch answer.Code {
					case http.StatusServiceUnavailable:
						refused.Add(1)
						if answer.Header().Get("Retry-After") == "" {
							t.Error("503 without Retry-After")
						}
					case http.StatusOK, http.StatusAccepted:
						taken.Add(1)
					default:
						t.Errorf("%d %.300s", answer.Code, answer.Body)
					}
					answered()
				})
			}
			calls.Wait()
			close(stop)
			watch.Wait()
			if high := highest.Load() - min(before, highest.Load()); high > budget {
				t.Errorf("%d MiB were in use, of a budget of %d", high>>20, budget>>20)
			} else {
				t.Logf("%d MiB at most, %d taken, %d refused", high>>20, taken.Load(), refused.Load())
			}
			if taken.Load() == 0 {
				t.Error("nothing was taken")
			}
			if after := heap(); after > before+16<<20 {
				t.Errorf("%d MiB were not given back", (after-before)>>20)
			}
		})
	}
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// counted counts the bytes that are read of a body.
type counted struct {
	io.Reader
	read int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	return n, err
}

// TestStrangersCostLittle sends large bodies without a key, or with a wrong one. None is inflated, and a path that
// accepts no key in the body does not even read it.
func TestStrangersCostLittle(t *testing.T) {
	handler := admitting(t, discard{}, nil, 1)
	packed := bombs(t)
	for _, test := range []struct {
		path, key string
		body      []byte
		status    int
		most      int // This bounds the bytes that may be read.
	}{
		{"/api/v1/batch", "", packed["/api/v1/batch"], 401, 1 << 20},
		{"/api/v1/batch", "stranger", packed["/api/v1/batch"], 401, 0},
		{"/v1/metrics", "", packed["/v1/metrics"], 401, 0},
		{"/v1/metrics", "stranger", packed["/v1/metrics"], 401, 0},
		{"/api/v1/write", "", packed["/v1/metrics"], 401, 0},
		{"/sentry/api/1/envelope/", "", packed["/sentry/api/1/envelope/"], 403, 128 << 10},
		{"/sentry/api/1/envelope/", "", bytes.Repeat([]byte("x"), 4<<20), 403, 128 << 10},
		{"/sentry/api/1/store/", "", bytes.Repeat([]byte("x"), 4<<20), 403, 0},
		{"/sentry/api/1/security/", "", bytes.Repeat([]byte("x"), 4<<20), 403, 0},
	} {
		body := &counted{Reader: bytes.NewReader(test.body)}
		request := httptest.NewRequest(http.MethodPost, test.path, body)
		request.Header.Set("Content-Type", "application/x-protobuf")
		if test.body[0] == 0x1f {
			request.Header.Set("Content-Encoding", "gzip")
		}
		if test.path == "/api/v1/write" {
			request.Header.Set("Content-Encoding", "snappy")
		}
		if test.key != "" {
			request.Header.Set("Authorization", "Bearer "+test.key)
		}
		answer := httptest.NewRecorder()
		var from, to runtime.MemStats
		runtime.ReadMemStats(&from)
		handler.ServeHTTP(answer, request)
		runtime.ReadMemStats(&to)
		if allocated := to.TotalAlloc - from.TotalAlloc; answer.Code != test.status || body.read > test.most || allocated > 1<<20 {
			t.Errorf("%s with the key %q: %d %s, %d bytes read, %d allocated", test.path, test.key, answer.Code, answer.Body, body.read, allocated)
		}
	}
}

// TestAKeyInAPackedBody checks that the key is found at the beginning, and anywhere in a short body.
func TestAKeyInAPackedBody(t *testing.T) {
	handler := admitting(t, discard{}, nil, 1)
	item := `{"type":"event","name":"order","distinctId":"u","properties":{"a":"` + strings.Repeat("x", 30_000) + `"}}`
	for _, test := range []struct {
		name, body string
		status     int
	}{
		{"first", `{"writeKey":"key0","items":[` + item + "," + item + "," + item + `]}`, 202},
		{"last", `{"items":[` + item + `],"writeKey":"key0"}`, 202},
		{"last of a long one", `{"items":[` + item + "," + item + "," + item + `],"writeKey":"key0"}`, 401},
		{"a stranger's", `{"writeKey":"stranger","items":[` + item + `]}`, 401},
		{"in an item", `{"items":[{"writeKey":"key0"}]}`, 401},
	} {
		request := httptest.NewRequest(http.MethodPost, "/api/v1/batch", bytes.NewReader(zipped(t, []byte(test.body))))
		request.Header.Set("Content-Encoding", "gzip")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != test.status {
			t.Errorf("%s: %d %s", test.name, answer.Code, answer.Body)
		}
	}
}
