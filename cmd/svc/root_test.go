package main

import (
	"net/http"
	"strings"
	"testing"
)

// TestTheRootShowsAPage requests / from a server as a browser and as a program.
func TestTheRootShowsAPage(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	page := s.call("GET", "/", "", nil, map[string]string{"Accept": "text/html,*/*;q=0.8"})
	if page.status != http.StatusOK || !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") || !strings.Contains(string(page.body), "/console/assets/") {
		t.Errorf("a browser gets %d %s", page.status, page.body)
	}
	if got := s.call("GET", "/", "", nil, nil); got.status != http.StatusNotFound || object(t, got.body)["code"] != "not_found" {
		t.Errorf("a program gets %d %s", got.status, got.body)
	}
}
