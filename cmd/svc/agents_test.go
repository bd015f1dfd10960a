package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"svc/domain/conversation"
)

// TestAgentsReachNeitherProductionNorTheOutside lets an agent make changes over MCP. One kind of change affects an
// object on which production depends. Another kind sends data to new addresses. Each of these calls is proposed and
// changes nothing. The same calls without that reach are executed.
func TestAgentsReachNeitherProductionNorTheOutside(t *testing.T) {
	s := startServer(t, t.TempDir(), watched())
	segment := func(name string) string {
		return s.post(appPath+"/segments", `{"name":"`+name+`","kind":"dynamic","definition":{"all":[{"field":"trait.plan","op":"eq","value":"pro"}]}}`)["id"].(string)
	}
	live, staged, free := segment("Live"), segment("Staged"), segment("Free")
	for key, c := range map[string][2]string{"live": {live, "production"}, "staged": {staged, "staging"}} {
		s.change("PUT", appPath+"/flags/"+key, s.boot.Token, fmt.Sprintf(`{"name":%q,"kind":"boolean","rules":[{"conditions":[{"field":"segment","op":"eq","value":%q}]}],"environments":{%q:{"enabled":true}}}`, key, c[0], c[1]))
	}
	ends := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	everyone := map[string]any{"all": []any{map[string]any{"field": "trait.plan", "op": "neq", "value": "none"}}}
	changed := func(id string) map[string]any {
		return map[string]any{"id": id, "name": "Everyone", "kind": "dynamic", "definition": everyone}
	}
	for _, c := range []struct {
		name, tool string
		arguments  map[string]any
		want       conversation.Effect
	}{
		{"C a silence of all environments", "silences_put", map[string]any{"name": "x", "endsAt": ends}, conversation.EffectDestructive},
		{"C a segment of a flag that is on in production", "segments_put", changed(live), conversation.EffectDestructive},
		{"C a monitor of a new address", "monitors_put", map[string]any{"name": "x", "url": "http://127.0.0.1:1/?q=secret"}, conversation.EffectExternal},
		{"C a report of staging to a new address", "reports_put", map[string]any{"kind": "weekly", "env": "staging", "recipients": []string{"eve@evil.example"}}, conversation.EffectExternal},
		{"a silence of staging", "silences_put", map[string]any{"name": "x", "environment": "staging", "endsAt": ends}, conversation.EffectWrite},
		{"a segment of a flag that is on in staging alone", "segments_put", changed(staged), conversation.EffectWrite},
		{"a segment that nothing asks for", "segments_put", changed(free), conversation.EffectWrite},
		{"a goal while no flag asks for stages", "goals_create", map[string]any{"name": "x", "kind": "event", "match": "x"}, conversation.EffectWrite},
	} {
		got, failed := s.mcpCall("call_write", map[string]any{"tool": c.tool, "arguments": c.arguments})
		effect := conversation.EffectWrite
		if action, proposed := got["action"].(map[string]any); proposed {
			effect = conversation.Effect(action["effect"].(string))
		}
		if failed || effect != c.want {
			t.Errorf("%s: %q %v, want %q", c.name, effect, got, c.want)
		}
	}
	s.change("PUT", appPath+"/flags/stages", s.boot.Token, `{"name":"stages","kind":"boolean","rules":[{"conditions":[{"field":"stage","op":"eq","value":"activated"}]}],"environments":{"production":{"enabled":true}}}`)
	if got, _ := s.mcpCall("goals_create", map[string]any{"name": "All", "kind": "path", "match": "/*"}); got["executed"] != false {
		t.Errorf("C a goal that moves people into a flag of production: %v", got)
	}
	for path, want := range map[string]int{"/silences": 1, "/monitors": 0, "/reports?env=staging": 0, "/goals": 1} {
		if rows := s.get(appPath + path)["data"].([]any); len(rows) != want {
			t.Errorf("%s has %v, want %d", path, rows, want)
		}
	}
	for _, row := range s.get(appPath + "/segments")["data"].([]any) {
		if one := row.(map[string]any); one["id"] == live && one["name"] != "Live" {
			t.Errorf("the segment of production became %v", one)
		}
	}
}

// change calls a route and expects a status below 300.
func (s *server) change(method, path, token, body string) map[string]any {
	s.t.Helper()
	got := s.call(method, path, token, []byte(body), nil)
	if got.status >= 300 {
		s.t.Fatalf("%s %s %s: %d %s", method, path, body, got.status, got.body)
	}
	if len(got.body) == 0 || !json.Valid(got.body) {
		return nil
	}
	return object(s.t, got.body)
}
