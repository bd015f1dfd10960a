//go:build norevenue

package main

import "testing"

// TestWithoutTheModuleOfRevenue calls every route of the module in a program that was built without it.
func TestWithoutTheModuleOfRevenue(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	for _, path := range []string{"/overview", "/movements"} {
		if status, text, _ := s.sendFlags("GET", "/api/v1/apps/acme/web/revenue"+path, s.boot.Token, ""); status != 501 || object(t, text)["code"] != "not_available" {
			t.Errorf("%s answers %d: %s", path, status, text)
		}
	}
	s.call("PATCH", appPath, s.boot.Token, []byte(`{"modules":["analytics","revenue"]}`), nil)
	if modules := s.get(appPath)["modules"].([]any); len(modules) != 1 || modules[0] != "analytics" {
		t.Errorf("the application lists the modules %v", modules)
	}
	session, billing := s.session(), "/apps/acme/web/billing"
	s.console(t, session, "GET", billing, "", 501)
	s.console(t, session, "PUT", billing+"/own", `{"provider":"generic","rates":[{"currency":"EUR","to":"USD","day":"2026-03-01","rate":"1.08"}]}`, 501)
	s.console(t, session, "DELETE", billing+"/own", "", 501)
	if status, text, _ := s.sendFlags("POST", "/api/v1/revenue", s.boot.Keys["production"].Secret, `{"type":"payment"}`); status != 501 {
		t.Errorf("sending answers %d: %s", status, text)
	}
}
