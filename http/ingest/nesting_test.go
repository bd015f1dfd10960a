package ingest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"
	otlpcommon "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"

	"svc/domain"
	"svc/domain/ingest"
	"svc/http/route"
)

// limitFuzzing limits the stack, so that a decoder without a depth limit fails at once. It also makes the garbage
// collector limit the use of memory.
func limitFuzzing(f *testing.F) {
	f.Helper()
	debug.SetMaxStack(16 << 20)
	debug.SetMemoryLimit(512 << 20)
}

// brackets returns a text that makes a decoder call itself. Its 2.2 million levels need a stack of a gigabyte.
func brackets() string { return strings.Repeat("[", 2_200_000) }

// packed returns a text compressed by gzip.
func packed(tb testing.TB, text string) string {
	tb.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// deepBodies returns small bodies that unpack to millions of levels.
func deepBodies(tb testing.TB) []string {
	tb.Helper()
	return []string{
		packed(tb, `{"items":`+brackets()), packed(tb, brackets()), packed(tb, strings.Repeat(`{"a":`, 800_000)),
		packed(tb, `{"items":[{"type":"error","extra":`+brackets()), packed(tb, `{"batch":[{"properties":`+brackets()),
		packed(tb, `["\\\"`+strings.Repeat("[", 4<<20)+`"]`),
	}
}

// deepOTLP returns attributes in attributes, as JSON and as protobuf, and groups in groups.
func deepOTLP() []string {
	value := &otlpcommon.AnyValue{Value: &otlpcommon.AnyValue_StringValue{StringValue: "x"}}
	encoded := []byte{}
	for range 9000 { // Each field is the only one in its enclosing message.
		encoded = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), encoded)
	}
	for range 40 {
		value = &otlpcommon.AnyValue{Value: &otlpcommon.AnyValue_ArrayValue{ArrayValue: &otlpcommon.ArrayValue{Values: []*otlpcommon.AnyValue{value}}}}
	}
	text, _ := protojson.Marshal(value) // It has no text that could fail.
	return []string{
		`{"resourceMetrics":[{"resource":{"attributes":[{"key":"a","value":` + string(text) + `}]}}]}`,
		`{"resourceMetrics":` + brackets(), string(encoded), strings.Repeat("\x0b", 1<<20),
	}
}

// taking returns a collector with a secret key that may send everything.
func taking(log *logOf) *Collect {
	c := testCollect(log)
	c.Collectors = collectorsOf{domain.HashSecret("secret"): {
		Kind: domain.KeySecret, KeyID: "k", Environment: domain.Environment{Number: 7}, RetentionDays: 365,
		Modules: []domain.Module{domain.ModuleAnalytics, domain.ModuleErrors, domain.ModuleMetrics, domain.ModulePeople, domain.ModuleRevenue},
	}}
	return c
}

// tallied stores the counts that it receives.
type tallied struct{ counts ingest.UsageCounts }

func (c *tallied) Add(counts ingest.UsageCounts) <-chan struct{} {
	c.counts = append(c.counts, counts...)
	done := make(chan struct{})
	close(done)
	return done
}

// TestDeepBodies sends the bodies that exhausted the stack to every path that accepts data of strangers. Each body is
// counted. Each is refused in the same way as the path's protocol refuses unreadable data.
func TestDeepBodies(t *testing.T) {
	t.Parallel()
	environment := domain.Environment{Number: 7}
	sentry := "/sentry/api/" + environment.IngestID() + "/"
	const asJSON, asProto, asForm = "application/json", "application/x-protobuf", "application/x-www-form-urlencoded"
	list, one, otlp := packed(t, `{"items":`+brackets()), packed(t, `{"name":"x","distinctId":"u","properties":`+brackets()), deepOTLP()
	encoded := url.Values{"data": {base64.StdEncoding.EncodeToString([]byte(`{"api_key":"secret","event":"x","properties":` + strings.Repeat("[", 100_000)))}}.Encode()
	for name, c := range map[string]struct {
		path, media, body string
		status            int
		holds, code       string
	}{
		"A1: events":               {"/api/v1/events", asJSON, list, 400, "too_deep", "too_deep"},
		"A1: one event":            {"/api/v1/events", asJSON, one, 400, "too_deep", "too_deep"},
		"A1: batch":                {"/api/v1/batch", asJSON, list, 400, "nested deeper than 64", "too_deep"},
		"A1: a list":               {"/api/v1/batch", asJSON, packed(t, brackets()), 400, "too_deep", "too_deep"},
		"A1: errors":               {"/api/v1/errors", asJSON, list, 400, "too_deep", "too_deep"},
		"A1: identify":             {"/api/v1/identify", asJSON, list, 400, "too_deep", "too_deep"},
		"A1: metrics":              {"/api/v1/metrics", asJSON, list, 400, "too_deep", "too_deep"},
		"A1: revenue":              {"/api/v1/revenue", asJSON, list, 400, "too_deep", "too_deep"},
		"objects":                  {"/api/v1/batch", asJSON, packed(t, strings.Repeat(`{"a":`, 800_000)), 400, "too_deep", "too_deep"},
		"not UTF-8":                {"/api/v1/batch", asJSON, packed(t, "{\"a\":\"\xff\",\"items\":"+brackets()), 400, "too_deep", "too_deep"},
		"65 levels":                {"/api/v1/events", asJSON, `{"name":"x","distinctId":"u","unknown":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, 400, "too_deep", "too_deep"},
		"64 levels":                {"/api/v1/events", asJSON, `{"name":"x","distinctId":"u","unknown":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, 202, `"accepted":1`, ""},
		"brackets in a text":       {"/api/v1/events", asJSON, `{"name":"x","distinctId":"u","title":"\"` + strings.Repeat("[", 999) + `"}`, 202, `"accepted":1`, ""},
		"OTLP, attributes":         {"/v1/metrics", asJSON, otlp[0], 400, "nested deeper", "too_deep"},
		"OTLP, JSON":               {"/otlp/v1/metrics", asJSON, packed(t, otlp[1]), 400, "nested deeper", "too_deep"},
		"OTLP, traces":             {"/v1/traces", asJSON, packed(t, otlp[1]), 400, "nested deeper", "too_deep"},
		"OTLP, logs":               {"/v1/logs", asJSON, packed(t, otlp[1]), 400, "nested deeper", "too_deep"},
		"OTLP, protobuf":           {"/v1/metrics", asProto, otlp[2], 400, "not the OTLP message", "invalid_body"},
		"OTLP, groups":             {"/v1/metrics", asProto, otlp[3], 400, "not the OTLP message", "invalid_body"},
		"remote write, groups":     {"/api/v1/write", asProto, string(snappy.Encode(nil, []byte(otlp[3]))), 400, "malformed", "invalid_body"},
		"PostHog, batch":           {"/batch/?api_key=secret", asJSON, packed(t, `{"batch":[{"properties":`+brackets()), 400, "too_deep", "too_deep"},
		"PostHog, capture":         {"/capture/?api_key=secret", asJSON, packed(t, `{"event":"x","properties":`+brackets()), 400, "too_deep", "too_deep"},
		"PostHog, a list":          {"/e/?api_key=secret", "text/plain", packed(t, brackets()), 400, "too_deep", "too_deep"},
		"PostHog, a form":          {"/e/?api_key=secret", asForm, encoded, 400, "too_deep", "too_deep"},
		"Sentry, store":            {sentry + "store/?sentry_key=secret", asJSON, packed(t, `{"extra":`+brackets()[:1<<19]), 400, "nested deeper than 64", "malformed"},
		"Sentry, event":            {sentry + "envelope/?sentry_key=secret", "", packed(t, "{}\n{\"type\":\"event\"}\n{\"extra\":"+brackets()[:1<<19]), 400, "nested deeper than 64", "malformed"},
		"Sentry, header":           {sentry + "envelope/?sentry_key=secret", "", packed(t, `{"trace":`+brackets()), 400, "invalid envelope header", "malformed"},
		"Sentry, header of item":   {sentry + "envelope/?sentry_key=secret", "", packed(t, "{}\n{\"type\":"+brackets()), 400, "item 0: invalid header", "malformed"},
		"Sentry, reports":          {sentry + "security/?sentry_key=secret", asJSON, packed(t, `{"csp-report":`+brackets()[:1<<19]), 400, "invalid report", "malformed"},
		"Sentry, a list of":        {sentry + "security/?sentry_key=secret", asJSON, packed(t, brackets()[:1<<19]), 400, "invalid report", "malformed"},
		"Sentry, a client report":  {sentry + "envelope/?sentry_key=secret", "", packed(t, "{}\n{\"type\":\"client_report\"}\n{\"discarded_events\":"+brackets()), 200, "{}", ""},
		"Sentry, sums of sessions": {sentry + "envelope/?sentry_key=secret", "", packed(t, "{}\n{\"type\":\"sessions\"}\n{\"aggregates\":"+brackets()), 200, "{}", "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			collect, tallies := taking(&logOf{}), &tallied{}
			collect.Tallies = tallies
			s := &Sentry{Collect: collect, Spool: spoolOf{}, Metrics: NewSentryMetrics(prometheus.NewRegistry()), Limiter: &ErrorLimiter{PerMinute: 2}}
			handler, err := route.New(route.Config{
				Routes: append(collect.Routes(), s.Routes()...), Authority: struct{ route.Authority }{}, Applications: struct{ route.Applications }{},
				Cursors: domain.NewCursors([]byte("nesting")), Now: collectNoon,
			})
			if err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body))
			request.Header.Set("Content-Type", c.media)
			if !strings.Contains(c.path, "_key=") {
				request.Header.Set("Authorization", "Bearer secret")
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.holds) {
				t.Errorf("%d %.300s", answer.Code, answer.Body)
			}
			code := ""
			for _, count := range tallies.counts {
				if count.Fate == ingest.FateInvalid {
					code += count.Code
				}
			}
			if code != c.code {
				t.Errorf("counted as %q, want %q: %+v", code, c.code, tallies.counts)
			}
		})
	}
}
