package main

import (
	"fmt"
	"testing"
	"time"
)

// TestInternalTrafficIsNotKept excludes paths and an address, sends events of all kinds of traffic, and reads journeys
// and vitals of the stored ones.
func TestInternalTrafficIsNotKept(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	put := s.call("PUT", appPath+"/exclusions", s.boot.Token, []byte(`{"items":[{"kind":"path","value":"/admin/*"},{"kind":"address","value":"203.0.113.0/24","label":"Office"}]}`), nil)
	if put.status != 200 {
		t.Fatalf("%d %s", put.status, put.body)
	}
	secret := s.boot.Keys["production"].Secret
	at := time.Now()
	page := func(visitor, path, ip string) string {
		at = at.Add(time.Millisecond)
		return `{"type":"page","ts":"` + at.UTC().Format(time.RFC3339Nano) + `","distinctId":"` + visitor + `","sessionId":"s-` + visitor + `","url":"https://shop.example` + path + `","context":{"ip":"` + ip + `","userAgent":"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}}`
	}
	vital := `{"type":"vital","name":"LCP","value":3000,"url":"https://shop.example/","context":{"userAgent":"Mozilla/5.0 (X11; Linux x86_64)"}}`
	body := `{"items":[` + page("v1", "/", "198.51.100.1") + `,` + page("v1", "/pricing", "198.51.100.1") + `,` + page("v1", "/admin/x", "198.51.100.1") + `,` +
		page("v2", "/", "203.0.113.9") + `,` + vital + `]}`
	sent := s.call("POST", "/api/v1/batch", secret, []byte(body), nil)
	if got := object(t, sent.body); sent.status != 202 || got["accepted"] != 5.0 || len(got["rejected"].([]any)) != 0 {
		t.Fatalf("%d %s", sent.status, sent.body)
	}
	if alone := s.call("POST", "/api/v1/batch", secret, []byte(`{"items":[`+page("v2", "/", "203.0.113.9")+`]}`), nil); alone.status != 202 {
		t.Errorf("excluded alone: %d %s", alone.status, alone.body)
	}
	eventually(t, "the visitor's way is known", func() error {
		got := s.get(appPath + "/analytics/journeys?from=path:/&steps=2")
		links := got["links"].([]any)
		if got["sessions"] != 1.0 || len(links) != 2 {
			return fmt.Errorf("%v", got)
		}
		first, second := links[0].(map[string]any), links[1].(map[string]any)
		if first["to"] != "/pricing" || second["value"] != "/pricing" || second["end"] != true {
			return fmt.Errorf("%v", links)
		}
		return nil
	})
	back := s.get(appPath + "/analytics/journeys?to=path:/pricing&steps=1")["links"].([]any)
	if len(back) != 1 || back[0].(map[string]any)["to"] != "/" {
		t.Errorf("the way to a page: %v", back)
	}
	eventually(t, "the vital is judged", func() error {
		got := s.get(appPath + "/analytics/vitals?by=device&device=desktop")
		rows := got["data"].([]any)
		if len(rows) != 1 || rows[0].(map[string]any)["value"] != "desktop" {
			return fmt.Errorf("%v", got)
		}
		if lcp := got["totals"].(map[string]any)["LCP"].(map[string]any); lcp["rating"] != "needs_improvement" || lcp["samples"] != 1.0 {
			return fmt.Errorf("%v", lcp)
		}
		return nil
	})
	s.settled()
	if events := s.get(appPath + "/events?limit=50")["data"].([]any); len(events) != 2 {
		t.Errorf("%d events are kept", len(events))
	}
}
