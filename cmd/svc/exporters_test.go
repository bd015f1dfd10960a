package main

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/exp/api/remote"
	writev2 "github.com/prometheus/client_golang/exp/api/remote/genproto/v2"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/protobuf/encoding/protowire"

	domainmetric "svc/domain/metric"
)

// remoteWriter is Prometheus's client of remote write with the secret key as password.
func (s *server) remoteWriter() *remote.API {
	s.t.Helper()
	client := &http.Client{Transport: basic{string(s.boot.Keys["production"].Secret)}}
	api, err := remote.NewAPI(s.boot.URL, remote.WithAPIHTTPClient(client), remote.WithAPIPath("/api/v1/write"), remote.WithAPILogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		s.t.Fatal(err)
	}
	return api
}

// writeV1 is a request of remote write 1.0 in the form that the client encodes.
type writeV1 []byte

// Size is the number of bytes.
func (w writeV1) Size() int { return len(w) }

// MarshalToSizedBuffer writes the bytes.
//
//nolint:unparam // the client's interface has the error
func (w writeV1) MarshalToSizedBuffer(into []byte) (int, error) { return copy(into, w), nil }

// add appends a series of one sample.
func (w writeV1) add(name string, value float64, at time.Time) writeV1 {
	label := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "__name__")
	label = protowire.AppendString(protowire.AppendTag(label, 2, protowire.BytesType), name)
	sample := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), math.Float64bits(value))
	sample = protowire.AppendVarint(protowire.AppendTag(sample, 2, protowire.VarintType), uint64(at.UnixMilli()))
	series := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), label)
	series = protowire.AppendBytes(protowire.AppendTag(series, 2, protowire.BytesType), sample)
	return protowire.AppendBytes(protowire.AppendTag(w, 1, protowire.BytesType), series)
}

// TestRemoteWriteVersion1 sends data like older Prometheus servers: a counter that is raised by 3 twice reads 6, and
// its process restarts; a series ends.
func TestRemoteWriteVersion1(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	api := s.remoteWriter()
	at := time.Now().Add(-time.Minute)
	for n, value := range []float64{100, 103, 106, 1} {
		at := at.Add(time.Duration(n) * time.Second)
		request := writeV1{}.add("http_requests_total", value, at).add("queue_length", value/2, at)
		if _, err := api.Write(t.Context(), remote.WriteV1MessageType, request); err != nil {
			t.Fatal(err)
		}
		if n == 2 {
			s.becomes("http_requests_total", "sum", 6)
		}
	}
	ended := writeV1{}.add("queue_length", math.Float64frombits(0x7ff0000000000002), at.Add(5*time.Second))
	if _, err := api.Write(t.Context(), remote.WriteV1MessageType, ended); err != nil {
		t.Fatal(err)
	}
	s.becomes("http_requests_total", "sum", 7)
	s.becomes("http_requests_total", "min", 1)
	s.becomes("queue_length", "count", 4)
	s.becomes("queue_length", "max", 53)

	// An error is permanent for its sender, and the valid samples next to it are stored.
	late := writeV1{}.add("queue_length", 1, at.AddDate(-3, 0, 0)).add("queue_length", 60, at.Add(6*time.Second))
	if _, err := api.Write(t.Context(), remote.WriteV1MessageType, late); err == nil || !strings.Contains(err.Error(), "too_old") {
		t.Errorf("a sample of three years ago: %v", err)
	}
	s.becomes("queue_length", "max", 60)
}

// TestRemoteWriteNativeHistogram sends a native histogram of Prometheus's own library before and after two halves of
// its observations, and compares percentiles with its buckets.
func TestRemoteWriteNativeHistogram(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	api := s.remoteWriter()
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "request_seconds", NativeHistogramBucketFactor: 1.1})
	rng := rand.New(rand.NewPCG(6, 1))
	values := make([]float64, 3000)
	began := time.Now().Add(-time.Minute)
	var schema int32
	for part := range 3 { // the first one is empty
		for n := range len(values) * min(part, 1) / 2 {
			value := math.Exp(rng.NormFloat64()) / 10
			values[(part-1)*len(values)/2+n] = value
			histogram.Observe(value)
		}
		native := nativeHistogram(t, histogram, began.Add(time.Duration(part)*time.Second))
		schema = native.Schema
		written, err := api.Write(t.Context(), remote.WriteV2MessageType, &writev2.Request{
			Symbols:    []string{"", "__name__", "request_seconds", "seconds"},
			Timeseries: []*writev2.TimeSeries{{LabelsRefs: []uint32{1, 2}, Histograms: []*writev2.Histogram{native}, Metadata: &writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_HISTOGRAM, UnitRef: 3}}},
		})
		if err != nil || written.Histograms != 1 {
			t.Fatalf("writing: %+v, %v", written, err)
		}
	}
	s.becomes("request_seconds", "count", float64(len(values)))
	slices.Sort(values)
	s.within("request_seconds", values, func(exact float64) (low, high float64) { return exponentialBucket(exact, schema) })
}

// nativeHistogram reads a histogram as Prometheus does when it scrapes.
func nativeHistogram(t *testing.T, histogram prometheus.Histogram, at time.Time) *writev2.Histogram {
	t.Helper()
	var scraped dto.Metric
	if err := histogram.Write(&scraped); err != nil {
		t.Fatal(err)
	}
	h := scraped.GetHistogram()
	out := &writev2.Histogram{
		Count: &writev2.Histogram_CountInt{CountInt: h.GetSampleCount()}, Sum: h.GetSampleSum(), Schema: h.GetSchema(), ZeroThreshold: h.GetZeroThreshold(),
		ZeroCount: &writev2.Histogram_ZeroCountInt{ZeroCountInt: h.GetZeroCount()}, PositiveDeltas: h.GetPositiveDelta(), Timestamp: at.UnixMilli(),
	}
	for _, span := range h.GetPositiveSpan() {
		out.PositiveSpans = append(out.PositiveSpans, &writev2.BucketSpan{Offset: span.GetOffset(), Length: span.GetLength()})
	}
	return out
}

// exponentialBucket returns the borders of a value's bucket in an exponential histogram of a scale.
func exponentialBucket(value float64, scale int32) (low, high float64) {
	step := math.Exp2(-float64(scale))
	at := math.Ceil(math.Log2(value)/step) - 1
	return math.Exp2(at * step), math.Exp2((at + 1) * step)
}

// exponentialScale returns the scale that the OpenTelemetry SDK chooses for sorted values: the finest one with enough
// buckets.
func exponentialScale(sorted []float64, buckets float64) int32 {
	for scale := int32(domainmetric.MaxHistogramScale); ; scale-- {
		place := func(value float64) float64 { return math.Ceil(math.Log2(value) * math.Exp2(float64(scale))) }
		if place(sorted[len(sorted)-1])-place(sorted[0]) < buckets {
			return scale
		}
	}
}

// within checks the percentiles of a metric of the last minutes: from points they must be in the bucket of the exact
// value, from rollups within the accuracy of sketches beyond it. The values are sorted.
func (s *server) within(name string, sorted []float64, bucket func(exact float64) (low, high float64)) {
	s.t.Helper()
	s.settled()
	for agg, q := range map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99} {
		exact := sorted[int(math.Ceil(q*float64(len(sorted))))-1]
		low, high := bucket(exact)
		for source, slack := range map[string]float64{"points": 1e-9, "rollups": domainmetric.SketchAccuracy} {
			if got := s.percentile(name, agg, source); got < low*(1-slack) || got > high*(1+slack) {
				s.t.Errorf("%s of %s by %s is %v; exact %v, bucket %v to %v", agg, name, source, got, exact, low, high)
			}
		}
	}
}

// TestOpenTelemetryDeltas exports compressed differences, and lets one point be rejected: the exporter is informed of
// it, and the other points count.
func TestOpenTelemetryDeltas(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	ctx := context.Background()
	meter, export := s.exports(func(sdk.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality })
	flush := func() {
		t.Helper()
		if err := export(ctx); err != nil {
			t.Fatal(err)
		}
	}
	counter, _ := meter.Int64Counter("raised")
	counter.Add(ctx, 3)
	flush()
	counter.Add(ctx, 3)
	flush()
	s.becomes("raised", "sum", 6)
	s.percentiles(meter, flush, "duration")
	s.percentiles(meter, flush, "exponential")

	labels := make([]attribute.KeyValue, 20)
	for n := range labels {
		labels[n] = attribute.String("label"+string(rune('a'+n)), "x")
	}
	counter.Add(ctx, 1, metric.WithAttributes(labels...))
	counter.Add(ctx, 4)
	if err := export(ctx); err == nil || !strings.Contains(err.Error(), "too_many_labels") || !strings.Contains(err.Error(), "1 metric data points rejected") {
		t.Errorf("a point with %d labels: %v", len(labels), err)
	}
	s.becomes("raised", "sum", 10)
}
