package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestSecurityReports sends browsers' reports about policies. Reports of one directive and host are one issue for any
// page and form; others are separate issues. Reports about extensions are accepted and dropped.
func TestSecurityReports(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	_, key, path := s.dsn()
	chrome := "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/127.0.0.0 Safari/537.36"
	send := func(suffix, media, body string, status int) {
		t.Helper()
		got := s.call("POST", path+"/security/?sentry_key="+key+suffix, "", []byte(body), map[string]string{"Content-Type": media, "User-Agent": chrome})
		if got.status != status || (status >= 400) != (got.header.Get("X-Sentry-Error") != "") {
			t.Errorf("%.80s: %d %q %s", body, got.status, got.header.Get("X-Sentry-Error"), got.body)
		}
	}
	csp := func(page, directive, blocked string) string {
		return fmt.Sprintf(`{"csp-report":{"document-uri":%q,"effective-directive":%q,"violated-directive":%q,"blocked-uri":%q,"disposition":"enforce","status-code":200}}`, page, directive, directive, blocked)
	}
	api := func(page, directive, blocked string) string {
		return fmt.Sprintf(`{"type":"csp-violation","age":1000,"url":%q,"user_agent":%q,"body":{"documentURL":%q,"effectiveDirective":%q,"blockedURL":%q,"disposition":"enforce"}}`, page, chrome, page, directive, blocked)
	}
	const old, list = "application/csp-report", "application/reports+json"
	send("&sentry_release=shop@1.2.3&sentry_environment=qa", old, csp("https://shop.example/cart?token=s3cret&step=2", "script-src-elem", "https://evil.example/a.js"), 200)
	send("", list, "["+api("https://shop.example/pay", "script-src-elem", "https://evil.example/b.js")+","+api("https://shop.example/pay", "script-src-elem", "https://other.example/b.js")+",7]", 200)
	send("", old, csp("https://shop.example/", "img-src", "https://evil.example/a.png"), 200)
	send("", old, csp("https://shop.example/", "script-src", "inline"), 200)
	send("", old, csp("https://shop.example/", "script-src", "chrome-extension://abc/x.js"), 200)
	send("", "application/expect-ct-report+json", `{"expect-ct-report":{"hostname":"shop.example","port":443}}`, 200)
	for _, body := range []string{"", "noise", "[]", "{}", "[7]", `{"csp-report":{}}`, `{"csp-report":` + strings.Repeat("[", 100_000)} {
		send("", old, body, 400)
	}
	send("", old, `{"csp-report":{"effective-directive":"`+strings.Repeat("x", 1<<20)+`"}}`, 413)
	envelope := "{}\n{\"type\":\"raw_security\"}\n" + csp("https://shop.example/a", "script-src", "https://evil.example/c.js") +
		"\n{\"type\":\"event\"}\n{\"csp\":{\"effective_directive\":\"script-src\",\"blocked_uri\":\"https://evil.example\",\"document_uri\":\"https://shop.example/b\"}}"
	if got := s.envelope([]byte(envelope)); got.status != 200 {
		t.Errorf("the envelope: %d %s", got.status, got.body)
	}
	found := s.issues(5)
	for title, want := range map[string]struct {
		count   float64
		culprit string
	}{
		"CSP: Blocked 'script' from 'evil.example'":      {4, ""},
		"CSP: Blocked 'script' from 'other.example'":     {1, "script-src-elem"},
		"CSP: Blocked 'image' from 'evil.example'":       {1, "img-src"},
		"CSP: Blocked unsafe inline 'script'":            {1, "script-src"},
		"Expect-CT: Expect-CT failed for 'shop.example'": {1, "shop.example"},
		"CSP: Blocked 'script' from 'chrome-extension:'": {},
	} {
		issue := found[title]
		switch {
		case issue == nil && want.count > 0:
			t.Errorf("there is no issue %s: %v", title, found)
		case issue == nil:
		case want.count == 0 || issue["level"] != "warning" || want.culprit != "" && issue["culprit"] != want.culprit:
			t.Errorf("%s is %v", title, issue)
		}
	}
	issue := found["CSP: Blocked 'script' from 'evil.example'"]
	if issue == nil {
		return
	}
	eventually(t, "all reports of the host are one issue", func() error {
		if rows, _ := s.listed("status=all&limit=100"); len(rows) != 5 {
			return fmt.Errorf("there are %d issues: %v", len(rows), rows)
		}
		if got := s.issues(5)["CSP: Blocked 'script' from 'evil.example'"]; got["eventCount"] != 4.0 {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	})
	checkCart(t, s, issue)
}

// checkCart checks the occurrence of the page /cart.
func checkCart(t *testing.T, s *server, issue map[string]any) {
	t.Helper()
	rows := s.get(errorsPath + "/" + issue["id"].(string) + "/events?limit=10")["data"].([]any)
	for _, row := range rows {
		got := s.get(errorsPath + "/" + issue["id"].(string) + "/events/" + row.(map[string]any)["id"].(string))
		if got["path"] != "/cart" {
			continue
		}
		tags := got["tags"].(map[string]any)
		if url := got["url"].(string); strings.Contains(url, "s3cret") || !strings.Contains(url, "step=2") || got["browser"] != "Chrome" || got["release"] != "shop@1.2.3" || tags["environment"] != "qa" {
			t.Errorf("the occurrence is %v", got)
		}
		return
	}
	t.Errorf("no occurrence is of the page /cart: %v", rows)
}
