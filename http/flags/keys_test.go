package flags

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/flag"
	"svc/http/ingest"
)

// TestANodeThatLagsRefusesNoKeyForGood requests every path with a known key and with an unknown key, while the node's
// list of keys is current and while it is not.
func TestANodeThatLagsRefusesNoKeyForGood(t *testing.T) {
	definitions := &defined{}
	definitions.define(t, many(1, 1))
	current := true
	known := keys{domain.HashSecret("secret"): {
		Kind: domain.KeySecret, App: domain.AppRef{Org: "acme", App: "web"}, AppID: "app_1", KeyID: "key_1", Modules: []domain.Module{domain.ModuleFlags},
		Environment: domain.Environment{Number: 7, Slug: "production"},
	}}
	handler := routed(t, &Flags{
		Authority:   ingest.Authority{Collectors: known, Current: func() bool { return current }},
		Definitions: definitions, Exposures: recorded{}, Now: time.Now, Tokens: Tokens{Key: []byte("a key of thirty-two bytes, or so")}, Memory: &flag.Memory{},
	})
	paths := []struct{ method, path, body string }{
		{"POST", "/api/v1/flags/evaluate", `{"distinctId":"user-1"}`},
		{"POST", "/ofrep/v1/evaluate/flags/flag-0", `{"context":{"targetingKey":"user-1"}}`},
		{"POST", "/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":"user-1"}}`},
		{"GET", "/api/v1/flags/definitions", ""},
		{"GET", "/api/v1/flags/stream", ""},
		{"GET", "/ofrep/v1/stream", ""},
		{"POST", "/flags", `{"distinct_id":"user-1"}`},
		{"POST", "/decide", `{"distinct_id":"user-1"}`},
	}
	for _, p := range paths {
		for _, c := range []struct {
			name, key string
			current   bool
			status    int
			retry     string
		}{
			{"F6: an unknown key while the list lags", "fresh", false, http.StatusServiceUnavailable, "1"},
			{"an unknown key", "fresh", true, http.StatusUnauthorized, ""},
			{"a known key while the list lags", "secret", false, http.StatusOK, ""},
			{"a known key", "secret", true, http.StatusOK, ""},
		} {
			if c.status == http.StatusOK && strings.HasSuffix(p.path, "stream") {
				continue // The stream does not end.
			}
			current = c.current
			request := httptest.NewRequestWithContext(t.Context(), p.method, p.path, strings.NewReader(p.body))
			request.Header.Set("Authorization", "Bearer "+c.key)
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if got := answer.Header().Get("Retry-After"); answer.Code != c.status || got != c.retry {
				t.Errorf("%s %s, %s: %d, Retry-After %q, %s; want %d, %q", p.method, p.path, c.name, answer.Code, got, answer.Body, c.status, c.retry)
			}
		}
	}
}
