package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"svc/domain"
	"svc/domain/connector"
)

// TestAConnectorIsProbed sets a connector in the console and follows its status; its secret is shown nowhere.
func TestAConnectorIsProbed(t *testing.T) {
	const path, app = "/console/api/v1/apps/acme/web/connector", "/api/v1/apps/acme/web"
	const known = domain.Secret("a-secret-of-some-length-and-shared")
	s := startServer(t, t.TempDir(), watched())
	session := s.session()
	var broken atomic.Bool
	handler := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var claims connector.Claims
		parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
		text, err := base64.RawURLEncoding.DecodeString(parts[min(1, len(parts)-1)])
		if err != nil || json.Unmarshal(text, &claims) != nil {
			t.Errorf("the token is %q", parts)
		}
		body := `{"capabilities":["overview","users"],"version":"2.1"}`
		w.Header().Set("X-SVC-Signature", connector.Signature(known, claims.ID, []byte(body)))
		if broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(handler.Close)

	if got := s.get(app)["connector"]; got != nil {
		t.Fatalf("without one it is %v", got)
	}
	put := s.call("PUT", path, session, fmt.Appendf(nil, `{"url":"%s/svc","secret":"%s"}`, handler.URL, known.Reveal()), nil)
	if put.status != 200 || object(t, put.body)["status"] != "configured" {
		t.Fatalf("setting it: %d %s", put.status, put.body)
	}
	status := func() map[string]any { return s.get(app)["connector"].(map[string]any) }
	eventually(t, "the first probe", func() error {
		if got := status(); got["status"] != "healthy" || fmt.Sprint(got["capabilities"]) != "[overview users]" || got["version"] != "2.1" || got["lastHealthAt"] == nil || got["url"] != handler.URL+"/svc" {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	})
	broken.Store(true)
	for n, want := range []string{"healthy", "unhealthy"} {
		probed := s.call("POST", path+"/probe", session, nil, nil)
		got := object(t, probed.body)
		if probed.status != 200 || got["ok"] != false || got["connector"].(map[string]any)["status"] != want || status()["status"] != want {
			t.Errorf("failure %d: %d %s", n+1, probed.status, probed.body)
		}
	}
	ledger := string(s.call("GET", "/console/api/v1/orgs/acme/ledger", session, nil, nil).body)
	if !strings.Contains(ledger, "connector.configured") || !strings.Contains(ledger, "connector.probed") {
		t.Errorf("the ledger is %s", ledger)
	}
	for what, text := range map[string]string{"the answer": string(put.body), "the ledger": ledger, "the application": fmt.Sprint(s.get(app)), "the list": fmt.Sprint(s.get("/api/v1/orgs/acme/apps"))} {
		if strings.Contains(text, known.Reveal()) {
			t.Errorf("%s shows the secret: %s", what, text)
		}
	}
	if got := s.call("DELETE", path, session, nil, nil); got.status != 204 || s.get(app)["connector"] != nil {
		t.Errorf("deleting it: %d %s", got.status, got.body)
	}
}
