package ingest

import (
	"bytes"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/klauspost/compress/snappy"
	writev2 "github.com/prometheus/client_golang/exp/api/remote/genproto/v2"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/metric"
	"svc/domain/telemetry"
	"svc/http/route"
	"svc/protos"
)

// measuring returns a collector with a key that may send metrics, with narrow limits.
func measuring(log *logOf) *Collect {
	c := testCollect(log)
	c.Collectors = collectorsOf{domain.HashSecret("secret"): {
		Kind: domain.KeySecret, Environment: domain.Environment{Number: 7}, Modules: []domain.Module{domain.ModuleMetrics}, RetentionDays: 365,
	}}
	c.Policies = policiesOf{7: narrowPolicy(1)}
	return c
}

// narrowPolicy permits few series and labels.
func narrowPolicy(series int) telemetry.Policy {
	policy := telemetry.DefaultTelemetryPolicy()
	policy.Metrics.MaxSeries, policy.Metrics.MaxLabelsPerSeries, policy.Metrics.LabelDenylist = series, 2, []string{"secret"}
	return policy
}

// begun returns a running request with its body read.
func begun(t *testing.T, c *Collect, body []byte) *submission {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, "/v1/metrics", bytes.NewReader(nil))
	request.Header.Set("Authorization", "Bearer secret")
	sub := &submission{}
	sub.reset(c, &route.Response{ResponseWriter: httptest.NewRecorder()}, request, collectNoon())
	sub.body = body
	if err := sub.authenticate(""); err != nil {
		t.Fatal(err)
	}
	return sub
}

// checkPoints checks all accepted points against the limits.
func checkPoints(t *testing.T, sub *submission, log *logOf) {
	t.Helper()
	if err := sub.produce(); err != nil {
		t.Fatal(err)
	}
	if len(log.points) != sub.accepted {
		t.Fatalf("%d points are in the log, %d were accepted", len(log.points), sub.accepted)
	}
	for _, p := range log.points {
		for _, x := range append([]float64{p.Sum}, p.Values...) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Errorf("a number of %v", p)
			}
		}
		if p.Name == "" || len(p.Name) > event.MaxNameBytes || len(p.Labels) > 4 || p.Environment != 7 || p.Series != protos.SeriesNumber(7, p.Name, p.Labels) {
			t.Errorf("a point beyond the limits: %v", p)
		}
		if len(p.Values) == 0 && p.Count == 0 && !p.Cumulative && p.Kind != string(metric.MetricHistogram) {
			t.Errorf("a point that says nothing: %v", p)
		}
	}
}

const otlpSample = `{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeMetrics":[{"scope":{"name":"s"},"metrics":[
	{"name":"a","unit":"1","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{"startTimeUnixNano":"1795168000000000000","timeUnixNano":"1795168800000000000","asInt":"3","attributes":[{"key":"k","value":{"arrayValue":{"values":[{"intValue":1}]}}}]}]}},
	{"name":"b","gauge":{"dataPoints":[{"timeUnixNano":1795168800000000000,"asDouble":1.5}]}},
	{"name":"c","histogram":{"aggregationTemporality":1,"dataPoints":[{"timeUnixNano":"1795168800000000000","count":3,"sum":4,"bucketCounts":[1,"2"],"explicitBounds":[1]}]}},
	{"name":"d","exponentialHistogram":{"aggregationTemporality":2,"dataPoints":[{"timeUnixNano":"1795168800000000000","count":"3","scale":3,"zeroCount":1,"positive":{"offset":-2,"bucketCounts":[2]}}]}},
	{"name":"e","summary":{"dataPoints":[{"timeUnixNano":"1795168800000000000","count":"3","sum":2,"quantileValues":[{"quantile":0.5,"value":1}]}]}}]}]}]}`

// FuzzOTLP decodes any message: it never panics, and the accepted points are within the limits.
func FuzzOTLP(f *testing.F) {
	var sample collectmetrics.ExportMetricsServiceRequest
	if err := protojson.Unmarshal([]byte(otlpSample), &sample); err != nil {
		f.Fatal(err)
	}
	encoded, err := proto.Marshal(&sample)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded, false)
	f.Add([]byte(otlpSample), true)
	limitFuzzing(f)
	for _, deep := range deepOTLP() {
		f.Add([]byte(deep), true)
		f.Add([]byte(deep), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, json bool) {
		log := &logOf{}
		sub := begun(t, measuring(log), body)
		if json {
			sub.request.Header.Set("Content-Type", otlpJSON)
		}
		var request collectmetrics.ExportMetricsServiceRequest
		if sub.decodeOTLP(&request) == nil {
			sub.acceptOTLP(&request)
			checkPoints(t, sub, log)
		}
	})
}

// TestOTLPKinds checks the result for a point of every kind.
func TestOTLPKinds(t *testing.T) {
	log := &logOf{}
	sub := begun(t, measuring(log), []byte(otlpSample))
	sub.request.Header.Set("Content-Type", otlpJSON)
	var request collectmetrics.ExportMetricsServiceRequest
	if err := sub.decodeOTLP(&request); err != nil {
		t.Fatal(err)
	}
	sub.acceptOTLP(&request)
	checkPoints(t, sub, log)
	got := map[string]*protos.MetricPoint{}
	for _, p := range log.points {
		got[p.Name] = p
	}
	if len(got) != 7 || len(sub.rejected) != 0 {
		t.Fatalf("points %v, rejected %v", got, sub.rejected)
	}
	for name, holds := range map[string]bool{
		"a":       got["a"].Cumulative && got["a"].StartNs == 1795168000000000000 && got["a"].Sum == 3 && got["a"].Labels[1] == "[1]" && got["a"].Labels[3] == "shop",
		"b":       got["b"].Kind == "gauge" && got["b"].Once && got["b"].Values[0] == 1.5,
		"c":       !got["c"].Cumulative && got["c"].Id != "" && got["c"].Histogram.Buckets[1] == 2,
		"d":       got["d"].Cumulative && got["d"].Histogram.Exponential && got["d"].Histogram.PositiveOffset == -2,
		"e":       got["e"].Kind == "gauge" && got["e"].Labels[0] == "quantile",
		"e_count": got["e_count"].Cumulative && got["e_count"].Sum == 3,
		"e_sum":   got["e_sum"].Cumulative && got["e_sum"].Sum == 2,
	} {
		if !holds {
			t.Errorf("%s: %v", name, got[name])
		}
	}
}

// remoteRequest is a request of remote write 2.0.
func remoteRequest() *writev2.Request {
	return &writev2.Request{Symbols: []string{"", "__name__", "jobs_total", "host", "a", "s"}, Timeseries: []*writev2.TimeSeries{{
		LabelsRefs: []uint32{1, 2, 3, 4}, Samples: []*writev2.Sample{{Value: 5, Timestamp: collectNoon().UnixMilli()}, {Value: math.Float64frombits(staleMarker), Timestamp: 1}},
		Metadata: &writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_COUNTER, UnitRef: 5},
	}, {
		LabelsRefs: []uint32{1, 5},
		Histograms: []*writev2.Histogram{{
			Count: &writev2.Histogram_CountInt{CountInt: 7}, Sum: 9, Schema: 2, Timestamp: collectNoon().UnixMilli(),
			ZeroCount:     &writev2.Histogram_ZeroCountInt{ZeroCountInt: 1},
			PositiveSpans: []*writev2.BucketSpan{{Offset: 3, Length: 2}, {Offset: 1, Length: 1}}, PositiveDeltas: []int64{1, 1, 1},
		}},
	}}}
}

// FuzzRemoteWrite decodes any message of either version: it never panics, and the accepted points are within the
// limits.
func FuzzRemoteWrite(f *testing.F) {
	sample, err := proto.Marshal(remoteRequest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample, true)
	f.Add([]byte("\x0a\x1d\x0a\x0d\x0a\x08__name__\x12\x01a\x12\x0c\x09\x00\x00\x00\x00\x00\x00\xf0\x3f\x10\x05"), false)
	limitFuzzing(f)
	f.Add(bytes.Repeat([]byte{0x0b}, 1<<20), true)
	f.Fuzz(func(t *testing.T, body []byte, version2 bool) {
		log := &logOf{}
		sub := begun(t, measuring(log), nil)
		series, err := decodeRemote(body, version2)
		if err != nil {
			return
		}
		for n := range series {
			sub.acceptRemote(&series[n], &remoteWritten{})
		}
		checkPoints(t, sub, log)
	})
}

// TestRemoteWriteDecode reads messages that Prometheus's own types encode.
func TestRemoteWriteDecode(t *testing.T) {
	body, err := proto.Marshal(remoteRequest())
	if err != nil {
		t.Fatal(err)
	}
	log := &logOf{}
	sub := begun(t, measuring(log), nil)
	sub.request = httptest.NewRequest(http.MethodPost, "/api/v1/write", bytes.NewReader(snappy.Encode(nil, body)))
	sub.request.Header.Set("Authorization", "Bearer secret")
	sub.request.Header.Set("Content-Type", "application/x-protobuf;proto="+remoteV2)
	sub.request.Header.Set("Content-Encoding", "snappy")
	written, err := sub.remoteWrite()
	if err != nil || *written != (remoteWritten{samples: 2, histograms: 1}) || len(log.points) != 2 {
		t.Fatalf("written %+v, %v", written, err)
	}
	counter, histogram := log.points[0], log.points[1]
	if counter.Name != "jobs_total" {
		counter, histogram = histogram, counter
	}
	if counter.Sum != 5 || !counter.Cumulative || counter.Unit != "s" || len(counter.Labels) != 2 || counter.Labels[1] != "a" {
		t.Errorf("counter %v", counter)
	}
	h := histogram.Histogram
	if histogram.Count != 7 || h.Scale != 2 || h.Zero != 1 || h.PositiveOffset != 2 || len(h.Positive) != 4 || h.Positive[1] != 2 || h.Positive[2] != 0 || h.Positive[3] != 3 {
		t.Errorf("histogram %v", histogram)
	}
}

// FuzzMetricItems sends any body to the native path.
func FuzzMetricItems(f *testing.F) {
	f.Add(`{"name":"a","kind":"counter","value":1,"labels":{"k":true,"secret":"x"}}`)
	f.Add(`[{"name":"a","kind":"histogram","count":3,"sum":2,"buckets":{"bounds":[1],"counts":[1,2]}},{"type":"vital","name":"LCP","value":1,"url":"https://e.com/a"}]`)
	f.Fuzz(func(t *testing.T, body string) {
		log := &logOf{}
		sub, err := accept(t, measuring(log), "secret", body, itemMetric)
		if err == nil {
			if sub.accepted+len(sub.rejected) != len(sub.items) {
				t.Errorf("%d accepted and %d rejected of %d", sub.accepted, len(sub.rejected), len(sub.items))
			}
			if len(log.points) != sub.accepted {
				t.Errorf("%d points are in the log, %d were accepted", len(log.points), sub.accepted)
			}
		}
	})
}

// TestMetricRefusals checks the reasons for rejected native points.
func TestMetricRefusals(t *testing.T) {
	for body, code := range map[string]string{
		`{"name":"a","kind":"gauge","value":1,"labels":{"a":1,"b":2,"c":3}}`:                    "too_many_labels",
		`{"name":"","kind":"gauge","value":1}`:                                                  "missing_value",
		`{"name":"a","value":1}`:                                                                "missing_value",
		`{"name":"a","kind":"sum","value":1}`:                                                   "invalid_value",
		`{"name":"a","kind":"gauge"}`:                                                           "missing_value",
		`{"name":"a","kind":"gauge","value":1,"values":[1]}`:                                    "missing_value",
		`{"name":"a","kind":"gauge","count":1}`:                                                 "invalid_value",
		`{"name":"a","kind":"histogram","count":2,"buckets":{"bounds":[2,1],"counts":[1,1,0]}}`: "invalid_value",
		`{"name":"a","kind":"histogram","count":3,"buckets":{"bounds":[1],"counts":[1,1]}}`:     "invalid_value",
		`{"name":"a","kind":"gauge","value":1,"ts":"2001-01-01T00:00:00Z"}`:                     "too_old",
		`{"name":"a","kind":"gauge","value":"1"}`:                                               "invalid_type",
		`{"type":"vital","name":"FID","value":1}`:                                               "invalid_value",
	} {
		sub, err := accept(t, measuring(&logOf{}), "secret", body, itemMetric)
		if err != nil || len(sub.rejected) != 1 || sub.rejected[0].Code != code {
			t.Errorf("%s: %v %v instead of %s", body, sub.rejected, err, code)
		}
	}
	full := measuring(&logOf{})
	full.Policies = policiesOf{7: narrowPolicy(0)}
	sub, err := accept(t, full, "secret", `{"name":"a","kind":"gauge","value":1}`, itemMetric)
	if err != nil || len(sub.rejected) != 1 || sub.rejected[0].Code != "too_many_series" {
		t.Errorf("%v %v", sub.rejected, err)
	}
}
