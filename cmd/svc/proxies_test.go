package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// TestAVisitorIsWhoATrustedProxySays sends events for visitors with an excluded and with another address. It sends them
// first to a server that trusts no proxy, and then to one behind a proxy on loopback.
func TestAVisitorIsWhoATrustedProxySays(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	put := s.call("PUT", appPath+"/exclusions", s.boot.Token, []byte(`{"items":[{"kind":"address","value":"9.9.9.0/24","label":"Office"}]}`), nil)
	if put.status != 200 {
		t.Fatalf("%d %s", put.status, put.body)
	}
	const office, visitor = "9.9.9.7", "8.8.8.8"
	send := func(s *server, name, forwarded string) {
		t.Helper()
		body := `{"name":"` + name + `","distinctId":"` + name + `","url":"https://acme.example/"}`
		sent := s.call("POST", "/api/v1/events", s.boot.Keys["production"].Public, []byte(body), map[string]string{"X-Forwarded-For": forwarded, "Origin": "https://acme.example"})
		if sent.status != 202 {
			t.Fatalf("%s: %d %s", name, sent.status, sent.body)
		}
	}
	stored := func(s *server, want ...string) {
		t.Helper()
		s.settled()
		names := map[string]bool{}
		for _, event := range s.get(appPath + "/events?limit=50")["data"].([]any) {
			names[event.(map[string]any)["name"].(string)] = true
		}
		if got := slices.Sorted(maps.Keys(names)); !slices.Equal(got, want) {
			t.Errorf("stored are %q, want %q", got, want)
		}
	}
	send(s, "anybody_says_office", office)
	send(s, "anybody_says_visitor", visitor)
	stored(s, "anybody_says_office", "anybody_says_visitor")
	if sending := s.get(appPath + "/telemetry")["fairness"].(map[string]any)["addresses"].(map[string]any)["sending"]; fmt.Sprint(sending) != "0" {
		t.Errorf("%v public addresses send without a trusted proxy", sending)
	}
	s.stopped()

	s = startServer(t, dir, map[string]string{"SVC_TRUSTED_PROXIES": "127.0.0.0/8"})
	send(s, "proxy_says_office", office)
	send(s, "visitor_says_office", office+", "+visitor)
	send(s, "office_says_visitor", visitor+", "+office)
	send(s, "proxy_says_visitor", visitor)
	eventually(t, "the addresses that send are counted", func() error {
		if sending := s.get(appPath + "/telemetry")["fairness"].(map[string]any)["addresses"].(map[string]any)["sending"]; fmt.Sprint(sending) != "2" {
			send(s, "proxy_says_visitor", visitor) // an address counts for two seconds
			send(s, "proxy_says_another", "1.1.1.1")
			return fmt.Errorf("%v addresses", sending)
		}
		return nil
	})
	stored(s, "anybody_says_office", "anybody_says_visitor", "proxy_says_another", "proxy_says_visitor", "visitor_says_office")
}
