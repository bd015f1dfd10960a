package ingest

import (
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"svc"
)

// TestKeysAreNotJudgedByWhatMayBeOld sends requests to a node with an outdated list of keys.
func TestKeysAreNotJudgedByWhatMayBeOld(t *testing.T) {
	current := false
	collect := &Collect{
		Collectors: collectorsOf{svc.HashSecret("secret"): {
			Kind: svc.KeySecret, Environment: svc.Environment{Number: 7}, RetentionDays: 365, Modules: []svc.Module{svc.ModuleAnalytics, svc.ModuleErrors},
		}},
		Current: func() bool { return current },
		Log:     &named{}, Shape: svc.LogShape{Partitions: 1}, Metrics: NewCollectMetrics(prometheus.NewRegistry()), Cardinality: everySeries{},
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
		sub.request.SetPathValue("project", svc.Environment{Number: 7}.IngestID())
		return sentry.authenticate(sub, "")
	}
	want := func(what string, err error, code svc.Code) {
		t.Helper()
		if code == "" && err != nil || code != "" && svc.CodeOf(err) != code {
			t.Errorf("%s: %v, want %q", what, err, code)
		}
	}
	want("a known key", native("secret"), svc.CodeUnavailable)
	want("an unknown key", native("other"), svc.CodeUnavailable)
	want("a known key on a path that keeps on disk", kept("secret"), "")
	want("an unknown key on a path that keeps on disk", kept("other"), svc.CodeUnavailable)
	current = true
	want("a known key, known for certain", native("secret"), "")
	want("an unknown key, known for certain", native("other"), svc.CodeUnauthorized)
	want("an unknown key on the other path, known for certain", kept("other"), svc.CodeForbidden)
}
