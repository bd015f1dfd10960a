package ingest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	writev2 "github.com/prometheus/client_golang/exp/api/remote/genproto/v2"
	"google.golang.org/protobuf/proto"

	"svc/domain"
	"svc/domain/event"
	"svc/http/route"
)

// telemetryStep is one request to an ingest path for metrics.
type telemetryStep struct {
	name, path, key, media, encoding string
	body                             []byte
}

// remoteBody is a request of remote write 2.0 with one sample of a series, compressed.
func remoteBody(t *testing.T, value float64, tsMs int64) []byte {
	t.Helper()
	body, err := proto.Marshal(&writev2.Request{Symbols: []string{"", "__name__", "jobs_total"}, Timeseries: []*writev2.TimeSeries{
		{LabelsRefs: []uint32{1, 2}, Samples: []*writev2.Sample{{Value: value, Timestamp: tsMs}}},
		{LabelsRefs: []uint32{1, 2}, Samples: []*writev2.Sample{{Value: value + 1, Timestamp: collectNoon().UnixMilli()}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return snappy.Encode(nil, body)
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// telemetrySteps lists every answer of the ingest paths for metrics.
func telemetrySteps(t *testing.T) []telemetryStep {
	const native, batch, otlp, write = "/api/v1/metrics", "/api/v1/batch", "/v1/metrics", "/api/v1/write"
	const asJSON, protobuf = "application/json", "application/x-protobuf"
	version2 := protobuf + ";proto=" + remoteV2
	noon := collectNoon().UnixMilli()
	sum := func(more string) []byte {
		return []byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"a","gauge":{"dataPoints":[{"asDouble":1}]}},` + more + `]}]}]}`)
	}
	return []telemetryStep{
		{"native one point", native, "secret", asJSON, "", []byte(`{"name":"orders","kind":"counter","value":3,"unit":"1","labels":{"plan":"pro"}}`)},
		{"native list", native, "secret", asJSON, "", []byte(`[{"name":"a","kind":"gauge","values":[1,2.5]},{"name":"b","kind":"histogram","count":3,"sum":4,"min":0.5,"max":2,"buckets":{"bounds":[1],"counts":[1,2]}}]`)},
		{"native compressed", native, "secret", asJSON, "gzip", gzipped(t, `{"name":"orders","kind":"counter","value":3}`)},
		{"vital", batch, "secret", asJSON, "", []byte(`{"items":[{"type":"vital","name":"LCP","value":1200,"path":"/cart"}]}`)},
		{"native partly rejected", batch, "secret", asJSON, "", []byte(`{"items":[{"type":"metric","name":"a","kind":"gauge","value":1},{"type":"metric","kind":"gauge","value":1},{"type":"metric","name":"a","kind":"sum","value":1},` +
			`{"type":"metric","name":"a","kind":"gauge"},{"type":"metric","name":"a","kind":"gauge","value":1,"labels":{"x":1,"y":2,"z":3}},{"type":"vital","name":"FID","value":1},` +
			`{"type":"metric","name":"a","kind":"gauge","value":"1"},{"type":"metric","name":"a","kind":"gauge","count":2},{"type":"metric","name":"a","kind":"histogram","count":0},` +
			`{"type":"metric","name":"a","kind":"histogram","count":3,"buckets":{"bounds":[2,1],"counts":[1,1,1]}},{"type":"metric","name":"a","kind":"histogram","count":4,"buckets":{"bounds":[1],"counts":[1,2]}},` +
			`{"type":"metric","name":"a","kind":"gauge","value":1,"ts":"2001-01-01T00:00:00Z"},{"type":"metric","name":"` + strings.Repeat("n", event.MaxNameBytes+1) + `","kind":"gauge","value":1}]}`)},
		{"native all rejected", native, "secret", asJSON, "", []byte(`{"name":"a","kind":"median","value":1}`)},
		{"native wrong types", native, "secret", asJSON, "", []byte(`[1,null,{"ts":5},{"kind":true},{"values":3},{"values":["x"]},{"count":-1},{"count":1.5},{"buckets":[{"le":1}]},{"labels":["a"]},{"value":1e999}]`)},
		{"native a text", native, "secret", asJSON, "", []byte(`"x"`)},
		{"batch of no list", batch, "secret", asJSON, "", []byte(`{"items":{"type":"metric"}}`)},
		{"vital below 0", batch, "secret", asJSON, "", []byte(`{"items":[{"type":"vital","name":"LCP","value":-1},{"type":"vital","name":"LCP","values":[1,-1]}]}`)},
		{"native an access token", native, "svc_pat_x", asJSON, "", []byte(`{"name":"a","kind":"gauge","value":1}`)},
		{"native no key", native, "", asJSON, "", []byte(`{"name":"a","kind":"gauge","value":1}`)},
		{"native not JSON", native, "secret", asJSON, "", []byte(`name=a`)},
		{"native too many series", native, "full", asJSON, "", []byte(`{"name":"a","kind":"gauge","value":1}`)},
		{"native module off", native, "web", asJSON, "", []byte(`{"name":"a","kind":"gauge","value":1}`)},
		{"otlp JSON", otlp, "secret", asJSON, "", sum(`{"name":"b","sum":{"aggregationTemporality":1,"isMonotonic":true,"dataPoints":[{"asInt":"3"}]}}`)},
		{"otlp JSON compressed", otlp, "secret", asJSON, "gzip", gzipped(t, `{}`)},
		{"otlp JSON partial success", otlp, "secret", asJSON, "", sum(`{"name":"b","sum":{"dataPoints":[{"asInt":"3"}]}},{"name":"","gauge":{"dataPoints":[{"asInt":"3"},{"asInt":"4"}]}}`)},
		{"otlp JSON monotonic below 0", otlp, "secret", asJSON, "", sum(`{"name":"b","sum":{"aggregationTemporality":1,"isMonotonic":true,"dataPoints":[{"asInt":"-3"}]}},{"name":"c","sum":{"aggregationTemporality":1,"dataPoints":[{"asDouble":-3}]}}`)},
		{"otlp JSON malformed", otlp, "secret", asJSON, "", []byte(`{"resourceMetrics":3}`)},
		{"otlp JSON unknown key", otlp, "nobody", asJSON, "", []byte(`{}`)},
		{"otlp JSON log away", otlp, "away", asJSON, "", sum(`{"name":"c"}`)},
		{"otlp JSON no key", otlp, "", asJSON, "", []byte(`{}`)},
		{"otlp protobuf", otlp, "secret", protobuf, "", nil},
		{"otlp protobuf malformed", otlp, "secret", protobuf, "", []byte{1}},
		{"otlp other type", otlp, "secret", "text/plain", "", []byte(`{}`)},
		{"otlp traces", "/v1/traces", "secret", asJSON, "", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{},{}]}]}]}`)},
		{"otlp logs", "/v1/logs", "secret", asJSON, "", []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}`)},
		{"remote write", write, "secret", version2, "snappy", remoteBody(t, 3, noon-1)},
		{"remote write stale", write, "secret", version2, "snappy", remoteBody(t, math.Float64frombits(staleMarker), noon-1)},
		{"remote write partly rejected", write, "secret", version2, "snappy", remoteBody(t, 3, 1)},
		{"remote write not snappy", write, "secret", version2, "snappy", []byte("plain")},
		{"remote write malformed", write, "secret", version2, "snappy", snappy.Encode(nil, []byte{0xff})},
		{"remote write gzip", write, "secret", version2, "gzip", nil},
		{"remote write other message", write, "secret", protobuf + ";proto=io.prometheus.write.v3.Request", "snappy", nil},
		{"remote write no key", write, "", version2, "snappy", nil},
		{"remote write log away", write, "away", version2, "snappy", remoteBody(t, 3, noon-1)},
	}
}

// TestGoldenTelemetry compares the answers of native points, OTLP and remote write.
func TestGoldenTelemetry(t *testing.T) {
	collect := measuring(&logOf{})
	away := measuring(&logOf{err: domain.Errorf(domain.CodeUnavailable, "The log does not answer.")})
	keys := collect.Collectors.(collectorsOf)
	full, web := *keys[domain.HashSecret("secret")], *keys[domain.HashSecret("secret")]
	full.Environment.Number, web.Modules = 8, []domain.Module{domain.ModuleAnalytics}
	collect.Policies.(policiesOf)[8] = narrowPolicy(0)
	keys[domain.HashSecret("full")], keys[domain.HashSecret("web")] = &full, &web
	var out strings.Builder
	for _, step := range telemetrySteps(t) {
		of, key := collect, step.key
		if key == "away" {
			of, key = away, "secret"
		}
		handler, err := route.New(route.Config{
			Routes: of.Routes(), Authority: struct{ route.Authority }{}, Applications: struct{ route.Applications }{},
			Cursors: domain.NewCursors([]byte("telemetry")), Now: collectNoon, PublicURL: "https://svc.example",
		})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodPost, step.path, bytes.NewReader(step.body))
		for name, value := range map[string]string{"Authorization": "Bearer " + key, "Content-Type": step.media, "Content-Encoding": step.encoding} {
			if value != "" && value != "Bearer " {
				request.Header.Set(name, value)
			}
		}
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		fmt.Fprintf(&out, "== %s\n%s\n\n", step.name, telemetryText(t, response))
	}
	const name = "testdata/telemetry.golden"
	if *update {
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || string(want) != out.String() {
		t.Errorf("%s differs, %v; got:\n%s", name, err, out.String())
	}
}

var update = flag.Bool("update", false, "rewrite golden files")

// requestID is the member of an answer that differs from run to run.
var requestID = regexp.MustCompile(`"requestId": "[^"]+"`)

// telemetryText is an answer with the headers of its protocol.
func telemetryText(t *testing.T, response *httptest.ResponseRecorder) string {
	t.Helper()
	out := fmt.Sprintln(response.Code, http.StatusText(response.Code))
	for _, name := range []string{"Content-Type", "Www-Authenticate", "Retry-After", "X-Prometheus-Remote-Write-Samples-Written", "X-Prometheus-Remote-Write-Histograms-Written", "X-Prometheus-Remote-Write-Exemplars-Written"} {
		if value := response.Header().Get(name); value != "" {
			out += name + ": " + value + "\n"
		}
	}
	// The protobuf library writes its errors with either kind of space.
	body := bytes.ReplaceAll(response.Body.Bytes(), []byte("\u00a0"), []byte(" "))
	if len(body) > 2 && response.Header().Get("Content-Type") == otlpProtobuf {
		return out + "Status.message: " + string(body[2:])
	}
	var indented bytes.Buffer
	switch err := json.Indent(&indented, body, "", "  "); {
	case err == nil:
		return out + requestID.ReplaceAllString(strings.TrimSpace(indented.String()), `"requestId": "<req>"`)
	case len(body) > 0:
		return out + string(body)
	}
	return out + "(no body)"
}
