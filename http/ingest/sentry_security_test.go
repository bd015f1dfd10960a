package ingest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"svc/domain"
	"svc/http/route"
)

// TestReportsAreCounted checks the answers and the counts for reports that are not stored: reports about extensions,
// beyond the bound, unreadable ones, and reports over the key's limit.
func TestReportsAreCounted(t *testing.T) {
	t.Parallel()
	const (
		good      = `{"type":"crash","url":"https://shop.example/","body":{"reason":"oom"}}`
		extension = `{"csp-report":{"effective-directive":"script-src","blocked-uri":"chrome-extension"}}`
	)
	for name, tc := range map[string]struct {
		body   string
		status int
		counts map[string]float64
	}{
		"extension":    {extension, 200, map[string]float64{"filtered": 1}},
		"one bad":      {"[" + good + ",7]", 200, map[string]float64{"malformed": 1}},
		"nothing else": {"[7,8]", 400, map[string]float64{"malformed": 2}},
		"too many":     {"[" + strings.Repeat(extension+",", 120) + good + "]", 200, map[string]float64{"filtered": 100, "too_many": 1}},
		"over limit":   {"[" + strings.Repeat(good+",", 4) + good + "]", 429, map[string]float64{"rate_limited": 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testCollect(&logOf{})
			environment := domain.Environment{Number: 7}
			c.Collectors = collectorsOf{domain.HashSecret("public"): {Kind: domain.KeyPublic, KeyID: "k", Environment: environment, Modules: []domain.Module{domain.ModuleErrors}, Origins: []string{"*"}, RetentionDays: 365}}
			s := &Sentry{Collect: c, Spool: spoolOf{}, Metrics: NewSentryMetrics(prometheus.NewRegistry()), Limiter: &ErrorLimiter{PerMinute: 2}}
			request := httptest.NewRequest(http.MethodPost, "/sentry/api/"+environment.IngestID()+"/security/?sentry_key=public", strings.NewReader(tc.body))
			handler, err := route.New(route.Config{
				Routes: s.Routes(), Authority: struct{ route.Authority }{}, Applications: struct{ route.Applications }{},
				Cursors: domain.NewCursors([]byte("reports")), Now: collectNoon,
			})
			if err != nil {
				t.Fatal(err)
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code != tc.status {
				t.Errorf("%d %s", answer.Code, answer.Body)
			}
			if pause := answer.Header().Get("X-Sentry-Rate-Limits"); (tc.status == 429) != strings.HasSuffix(pause, ":error:key:rate_limited") {
				t.Errorf("the pause is %q", pause)
			}
			for code, want := range tc.counts {
				var found dto.Metric
				if err := c.Metrics.Rejected.WithLabelValues(code).Write(&found); err != nil || found.GetCounter().GetValue() != want {
					t.Errorf("%s counts %v, want %v (%v)", code, found.GetCounter().GetValue(), want, err)
				}
			}
		})
	}
}
