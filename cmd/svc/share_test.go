package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"svc/cmd/svc/firststart"
	"svc/domain/signin"
)

// TestThePublicPageOnTheRealServer publishes a page over the console, reads it before and after a restart, and ends its
// links.
func TestThePublicPageOnTheRealServer(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	for _, path := range []string{"/", "/pricing", "/admin/users"} {
		s.send(map[string]any{"type": "page", "distinctId": "ada", "url": "https://example.com" + path + "?utm_source=readme"})
	}
	s.settled()
	const settings = "/console/api/v1/apps/acme/web/share"
	session := s.session()
	change := func(method, path, body string, status int) map[string]any {
		t.Helper()
		got := s.call(method, path, session, []byte(body), nil)
		if got.status != status {
			t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
		}
		if len(got.body) == 0 {
			return nil
		}
		return object(t, got.body)
	}
	read := func(path string, status int, holds ...string) {
		t.Helper()
		got := s.call("GET", path, "", nil, nil)
		if got.status != status || got.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
		for _, word := range holds {
			if !strings.Contains(string(got.body), word) {
				t.Errorf("%s lacks %q: %s", path, word, got.body)
			}
		}
	}
	page := change("POST", settings, `{"pages":true,"campaigns":true,"privatePaths":["/admin*"],"legacyLink":true}`, 201)
	path, embed := page["path"].(string), page["embedPath"].(string)
	read(path, 200, "<h1>Web</h1>", `title="3">3<`, "/pricing", "readme", "Not shared.")
	read(embed+"?range=24h&pages=exit_path", 200, "Exit page")
	read("/s/acme/web", 200, "/pricing")
	if got := s.call("GET", path, "", nil, nil); strings.Contains(string(got.body), "/admin") || strings.Contains(string(got.body), "acme") {
		t.Errorf("the page names what is private: %s", got.body)
	}
	s.stopped()

	s = startServer(t, dir, nil)
	session = s.session()
	read(path, 200, "/pricing")
	change("PATCH", settings, `{"pages":false}`, 200)
	read(path, 200, "readme")
	if got := s.call("GET", path, "", nil, nil); strings.Contains(string(got.body), "/pricing") {
		t.Error("a panel that was turned off is still shown")
	}
	rotated := change("POST", settings+"/rotate", "", 200)
	for _, old := range []string{path, embed, "/s/acme/web", "/embed/acme/web"} {
		read(old, 404, "Nothing is shared here")
	}
	// Both are in the cache when the page ends, but are not served from it.
	read(rotated["path"].(string), 200)
	read(rotated["embedPath"].(string), 200)
	change("DELETE", settings, "", 204)
	read(rotated["path"].(string), 404)
	read(rotated["embedPath"].(string), 404)

	ledger := s.call("GET", "/console/api/v1/orgs/acme/ledger", session, nil, nil)
	var kinds []string
	for _, entry := range object(t, ledger.body)["data"].([]any) {
		if kind := entry.(map[string]any)["kind"].(string); strings.HasPrefix(kind, "share.") {
			kinds = append(kinds, kind)
		}
	}
	if want := []string{"share.disabled", "share.rotated", "share.updated", "share.published"}; !slices.Equal(kinds, want) {
		t.Errorf("the ledger has %q, want %q", kinds, want)
	}
	for _, id := range []any{page["shareId"], rotated["shareId"]} {
		if strings.Contains(string(ledger.body), id.(string)) {
			t.Errorf("the ledger names the link %s", id)
		}
	}
}

// session opens a console session of the first owner.
func (s *server) session() string {
	s.t.Helper()
	owner, err := s.node.identity.User(context.Background(), firststart.Owner, "")
	if err != nil {
		s.t.Fatal(err)
	}
	_, secret, err := s.node.identity.OpenSession(context.Background(), signin.SessionSpec{Person: owner, By: "console"})
	if err != nil {
		s.t.Fatal(err)
	}
	return secret.Reveal()
}
