package ingest

import (
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
)

// TestKeysAreNotJudgedByWhatMayBeOld sends requests to a node with an outdated list of keys.
func TestKeysAreNotJudgedByWhatMayBeOld(t *testing.T) {
	current := false
	collect := &Collect{
		Collectors: collectorsOf{domain.HashSecret("secret"): {
			Kind: domain.KeySecret, Environment: domain.Environment{Number: 7}, RetentionDays: 365, Modules: []domain.Module{domain.ModuleAnalytics, domain.ModuleErrors},
		}},
		Current: func() bool { return current },
		Log:     &named{}, Shape: domain.LogShape{Partitions: 1}, Metrics: NewCollectMetrics(prometheus.NewRegistry()), Cardinality: everySeries{},
	}
	sentry := &Sentry{Collect: collect}
	const body = `{"name":"page_view","distinctId":"u"}`
	native := func(key string) error {
		sub := requestAt(collect, collectNoon(), body)
		sub.request.Header.Set("Authorization", "Bearer "+key)
		return sub.run(itemEvent)
	}
	kept := func(key string) error {
		sub := requestAt(collect, collectNoon(), body)
		sub.request.Header = http.Header{"X-Sentry-Auth": {"Sentry sentry_key=" + key}}
		sub.request.SetPathValue("project", domain.Environment{Number: 7}.IngestID())
		return sentry.authenticate(sub, "")
	}
	want := func(what string, err error, code domain.Code) {
		t.Helper()
		if code == "" && err != nil || code != "" && domain.CodeOf(err) != code {
			t.Errorf("%s: %v, want %q", what, err, code)
		}
	}
	want("a known key", native("secret"), domain.CodeUnavailable)
	want("an unknown key", native("other"), domain.CodeUnavailable)
	want("a known key on a path that keeps on disk", kept("secret"), "")
	want("an unknown key on a path that keeps on disk", kept("other"), domain.CodeUnavailable)
	current = true
	want("a known key, known for certain", native("secret"), "")
	want("an unknown key, known for certain", native("other"), domain.CodeUnauthorized)
	want("an unknown key on the other path, known for certain", kept("other"), domain.CodeForbidden)
}
