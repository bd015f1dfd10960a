package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/cmd/svc/demo"
	"svc/cmd/svc/operator"
)

// TestADemoFillsEveryPage sends the demo to a real node, twice, and requests the data of the pages.
func TestADemoFillsEveryPage(t *testing.T) {
	s := startServer(t, t.TempDir(), map[string]string{"SVC_RATE_LIMIT": "0"})
	var stdout, stderr bytes.Buffer
	fill := func() {
		t.Helper()
		began := time.Now()
		err := demo.Run(t.Context(), []string{"--url", s.boot.URL, "--addr", s.operatorAddr(), "--token-file", filepath.Join(s.dir, operator.TokenFile)}, &stdout, &stderr)
		if err != nil || !strings.HasSuffix(stdout.String(), "/console#/apps/acme/demo/overview\n") {
			t.Fatal(err, stdout.String(), stderr.String())
		}
		t.Logf("sent in %v", time.Since(began))
		s.settled()
	}
	fill()
	const app = "/api/v1/apps/acme/demo"
	overview := s.get(app + "/analytics/overview?range=90d")
	if overview["visitors"].(float64) < 2000 || overview["conversions"].(float64) < 300 {
		t.Errorf("the overview has %v visitors and %v conversions", overview["visitors"], overview["conversions"])
	}
	once := map[string]int{"/annotations?range=90d": 3, "/silences": 1, "/segments": 2, "/campaigns": 1, "/destinations": 1}
	for path, want := range once {
		if rows := s.get(app + path)["data"].([]any); len(rows) != want {
			t.Errorf("%s has %d rows, not %d", path, len(rows), want)
		}
	}
	for _, row := range s.get(app + "/segments")["data"].([]any) {
		if segment := row.(map[string]any); segment["memberCount"].(float64) < 20 {
			t.Errorf("%v has %v people", segment["name"], segment["memberCount"])
		}
	}
	for _, path := range []string{"/goals", "/funnels", "/people", "/errors?status=all", "/metrics/names", "/monitors", "/alerts", "/events"} {
		if rows := s.get(app + path)["data"].([]any); len(rows) == 0 {
			t.Errorf("%s is empty", path)
		}
	}
	for _, row := range s.get(app + "/keys")["data"].([]any) {
		if row.(map[string]any)["revokedAt"] == nil {
			t.Error("the key of the demo was left open")
		}
	}
	before := s.get(app + "/analytics/overview?range=90d")["pageviews"].(float64)
	fill()
	if after := s.get(app + "/analytics/overview?range=90d")["pageviews"].(float64); after < before || after > before+50 {
		t.Errorf("a second demo made %v page views of %v", after, before)
	}
	for path, want := range once {
		if rows := s.get(app + path)["data"].([]any); len(rows) != want {
			t.Errorf("after a second demo %s has %d rows, not %d", path, len(rows), want)
		}
	}
}
