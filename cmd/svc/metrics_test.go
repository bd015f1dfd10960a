package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/exp/api/remote"
	writev2 "github.com/prometheus/client_golang/exp/api/remote/genproto/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

const metricsPath = appPath + "/metrics"

// series reads a metric of the last hour.
func (s *server) series(name, agg, more string) map[string]any {
	s.t.Helper()
	return s.get(metricsPath + "/series?range=1h&name=" + url.QueryEscape(name) + "&agg=" + agg + more)
}

// becomes waits until the summary of a metric has the wanted value.
func (s *server) becomes(name, member string, want float64) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%s of %s is %v", member, name, want), func() error {
		answer := s.call("GET", metricsPath+"/series?range=1h&name="+url.QueryEscape(name)+"&agg=sum", s.boot.Token, nil, nil)
		if answer.status == http.StatusNotFound {
			return errors.New("it is unknown")
		}
		if got := object(s.t, answer.body)["summary"].(map[string]any)[member]; got != want {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	})
}

// percentile returns the value of the whole hour, by a single group of all series.
func (s *server) percentile(name, agg, source string) float64 {
	s.t.Helper()
	span := map[string]string{"points": "&range=1h", "rollups": "&range=7d&interval=1d"}[source]
	got := s.get(metricsPath + "/series?name=" + name + "&agg=" + agg + "&groupBy=nothing" + span)
	if got["source"] != source {
		s.t.Fatalf("the source is %v", got["source"])
	}
	return got["groups"].([]any)[0].(map[string]any)["value"].(float64)
}

// exporter is OpenTelemetry's SDK with its exporter over HTTP, which must succeed.
func (s *server) exporter(temporality sdk.TemporalitySelector) (meter metric.Meter, flush func()) {
	s.t.Helper()
	meter, export := s.exports(temporality)
	return meter, func() {
		if err := export(context.Background()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// exponentialBuckets is the number of buckets of the tests' exponential histograms.
const exponentialBuckets = 160

// exports is OpenTelemetry's SDK with its exporter over HTTP.
func (s *server) exports(temporality sdk.TemporalitySelector) (meter metric.Meter, flush func(context.Context) error) {
	s.t.Helper()
	exporter, err := otlpmetrichttp.New(context.Background(), otlpmetrichttp.WithEndpointURL(s.boot.URL+"/otlp/v1/metrics"), otlpmetrichttp.WithTemporalitySelector(temporality),
		otlpmetrichttp.WithHeaders(map[string]string{"Authorization": "Bearer " + string(s.boot.Keys["production"].Secret)}), otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))
	if err != nil {
		s.t.Fatal(err)
	}
	exponential := sdk.NewView(sdk.Instrument{Name: "exponential"}, sdk.Stream{Aggregation: sdk.AggregationBase2ExponentialHistogram{MaxSize: exponentialBuckets, MaxScale: 20}})
	provider := sdk.NewMeterProvider(sdk.WithReader(sdk.NewPeriodicReader(exporter, sdk.WithInterval(time.Hour))), sdk.WithView(exponential))
	return provider.Meter("test"), provider.ForceFlush
}

// TestOpenTelemetryExporter raises a counter by 3 twice, across a restart of the server and of the process, and
// compares percentiles with the bounds.
func TestOpenTelemetryExporter(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	ctx := context.Background()
	meter, flush := s.exporter(sdk.DefaultTemporalitySelector)
	counter, _ := meter.Float64Counter("raised", metric.WithUnit("1"))
	gauge, _ := meter.Float64Gauge("level")
	upDown, _ := meter.Int64UpDownCounter("open")
	pro := metric.WithAttributes(attribute.String("plan", "pro"))
	counter.Add(ctx, 3, pro)
	gauge.Record(ctx, 7)
	upDown.Add(ctx, 5)
	flush()
	s.becomes("raised", "sum", 3)
	counter.Add(ctx, 3, pro)
	upDown.Add(ctx, -2)
	flush()
	flush() // nothing new, so it adds nothing
	s.becomes("raised", "sum", 6)
	s.settled()
	s.becomes("raised", "sum", 6)
	s.becomes("open", "min", 3)
	s.becomes("level", "max", 7)

	// Another process with the same series.
	again, flushAgain := s.exporter(sdk.DefaultTemporalitySelector)
	restarted, _ := again.Float64Counter("raised", metric.WithUnit("1"))
	restarted.Add(ctx, 2, pro)
	flushAgain()
	s.becomes("raised", "sum", 8)
	s.settled()
	if summary := s.series("raised", "min", "")["summary"].(map[string]any); summary["min"].(float64) < 0 {
		t.Errorf("a difference is negative: %v", summary)
	}
	s.percentiles(meter, flush, "duration")
	s.percentiles(meter, flush, "exponential")
	s.stopped()

	// The server restarts; the process continues from its last state.
	s = startServer(t, dir, nil)
	meter, flush = s.exporter(func(sdk.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality })
	delta, _ := meter.Float64Counter("raised", metric.WithUnit("1"))
	delta.Add(ctx, 4, pro)
	flush()
	s.becomes("raised", "sum", 12)
	names := s.get(metricsPath + "/names")["data"].([]any)
	if len(names) != 5 || names[4].(map[string]any)["name"] != "raised" || names[4].(map[string]any)["kind"] != "counter" || names[0].(map[string]any)["kind"] != "histogram" {
		t.Errorf("names %v", names)
	}
}

// percentiles compares percentiles with the percentiles of the observations themselves. A sender's buckets are accurate
// to within a bucket, and rollups add the error of the sketch.
func (s *server) percentiles(meter metric.Meter, flush func(), name string) {
	t := s.t
	t.Helper()
	histogram, err := meter.Float64Histogram(name, metric.WithUnit("ms"), metric.WithExplicitBucketBoundaries(bounds()...))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 2))
	values := make([]float64, 5000)
	for i := range values {
		values[i] = 5 * math.Exp(rng.NormFloat64())
		histogram.Record(context.Background(), values[i])
		if i == len(values)/2 {
			flush()
		}
	}
	flush()
	s.becomes(name, "count", float64(len(values)))
	slices.Sort(values)
	s.within(name, values, func(exact float64) (low, high float64) {
		if name == "exponential" {
			return exponentialBucket(exact, exponentialScale(values, exponentialBuckets))
		}
		at, _ := slices.BinarySearch(bounds(), exact)
		return bounds()[at-1], bounds()[at]
	})
}

func bounds() []float64 { return []float64{0.1, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 50, 100, 1000} }

// TestRemoteWriteClient sends a counter and a gauge with Prometheus's client.
func TestRemoteWriteClient(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	api := s.remoteWriter()
	at := time.Now().Add(-time.Minute)
	for n, value := range []float64{10, 13, 16, 2, 4} { // the process restarts before the fourth
		request := &writev2.Request{Symbols: []string{"", "__name__", "jobs_total", "host", "a", "temperature"}, Timeseries: []*writev2.TimeSeries{
			{LabelsRefs: []uint32{1, 2, 3, 4}, Samples: []*writev2.Sample{{Value: value, Timestamp: at.UnixMilli() + int64(n)*1000}}, Metadata: &writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_COUNTER}},
			{LabelsRefs: []uint32{1, 5}, Samples: []*writev2.Sample{{Value: -value, Timestamp: at.UnixMilli() + int64(n)*1000}}},
		}}
		written, err := api.Write(t.Context(), remote.WriteV2MessageType, request)
		if err != nil || written.Samples != 2 {
			t.Fatalf("writing: %+v, %v", written, err)
		}
	}
	s.becomes("jobs_total", "sum", 10) // 3 + 3 + 2 + 2
	s.becomes("temperature", "min", -16)
	s.becomes("temperature", "count", 5)
}

// basic sends the key as a password, as Prometheus is configured to.
type basic struct{ password string }

func (b basic) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.SetBasicAuth("svc", b.password)
	return http.DefaultTransport.RoundTrip(r)
}

// TestNativeMetrics sends points and web vitals, invalid ones next to valid ones.
func TestNativeMetrics(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	body, err := json.Marshal(map[string]any{"items": []map[string]any{
		{"type": "metric", "name": "orders", "kind": "counter", "value": 3, "labels": map[string]any{"plan": "pro", "beta": true}},
		{"type": "metric", "name": "orders", "kind": "counter", "value": 3, "id": "a"},
		{"type": "metric", "name": "orders", "kind": "counter", "value": 3, "id": "a"},
		{"type": "metric", "name": "size", "kind": "histogram", "count": 4, "sum": 20, "min": 1, "max": 9, "buckets": map[string]any{"bounds": []float64{5}, "counts": []int{2, 2}}},
		{"type": "vital", "name": "LCP", "value": 2400, "path": "/cart"},
		{"type": "vital", "name": "LCP", "value": 1200, "url": "https://acme.example/cart?x=1"},
		{"type": "vital", "name": "FID", "value": 1},
		{"type": "metric", "name": "orders", "value": 1},
		{"type": "metric", "name": "orders", "kind": "gauge"},
		{"type": "event", "name": "page_view", "distinctId": "ada"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := object(t, s.call("POST", "/api/v1/batch", s.boot.Keys["production"].Public, body, nil).body)
	rejected, _ := got["rejected"].([]any)
	if got["accepted"] != 7.0 || len(rejected) != 3 {
		t.Fatalf("answer %v", got)
	}
	s.becomes("orders", "sum", 6)
	s.becomes("size", "max", 9)
	s.becomes("LCP", "count", 2)
	s.settled() // the labels are stored after the points
	if value := s.series("LCP", "p75", "&interval=1d&label.path=/cart")["points"].([]any); value[len(value)-1].(map[string]any)["value"] != 2400.0 {
		t.Errorf("p75 of LCP: %v", value)
	}
}

// TestOtherSignals answers traces and logs in their encoding, and rejects all of them.
func TestOtherSignals(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	key := s.boot.Keys["production"].Secret
	for _, test := range []struct {
		path, key, media, body string
		status                 int
		want                   string
	}{
		{"/v1/traces", key, "application/json", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a","unknown":1}]}]}]}`, 200, `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"This service keeps metrics, not traces."}}`},
		{"/otlp/v1/logs", key, "application/json", `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{},{}]}]}]}`, 200, `{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"This service keeps metrics, not logs."}}`},
		{"/v1/metrics", key, "application/json", `{}`, 200, `{}`},
		{"/v1/metrics", key, "application/x-protobuf", "", 200, ""},
		{"/v1/metrics", key, "application/x-protobuf", "\x01", 400, "\x12\x1bThe request has a problem: "},
		{"/v1/metrics", "svc_sec_prod_nobody", "application/json", `{}`, 401, `{"message":"The ingest key is unknown or revoked."}`},
		{"/v1/metrics", key, "text/plain", `{}`, 415, ""},
	} {
		got := s.call("POST", test.path, test.key, []byte(test.body), map[string]string{"Content-Type": test.media})
		same := string(got.body) == test.want
		if test.media == "application/json" && test.status == 200 {
			same = jsonEqual(t, got.body, []byte(test.want))
		}
		if test.status == 400 || test.status == 415 {
			same = len(got.body) > 0
		}
		if got.status != test.status || !same || test.status != 415 && got.header.Get("Content-Type") != test.media {
			t.Errorf("%s %s: %d %s %q", test.path, test.media, got.status, got.header.Get("Content-Type"), got.body)
		}
	}
}

func jsonEqual(t *testing.T, a, b []byte) bool {
	t.Helper()
	return fmt.Sprint(object(t, a)) == fmt.Sprint(object(t, b))
}
