package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"svc/cmd/svc/bridge"
	"svc/cmd/svc/cli"
)

// mcp sends a message to /mcp and returns the result.
func (s *server) mcp(method string, params map[string]any) map[string]any {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	got := s.call("POST", "/mcp", s.boot.Token, body, map[string]string{"Accept": "application/json, text/event-stream"})
	result, ok := object(s.t, got.body)["result"].(map[string]any)
	if got.status != 200 || !ok {
		s.t.Fatalf("%s: %d %s", method, got.status, got.body)
	}
	return result
}

// mcpCall calls a tool.
func (s *server) mcpCall(tool string, arguments map[string]any) (content map[string]any, failed bool) {
	s.t.Helper()
	result := s.mcp("tools/call", map[string]any{"name": tool, "arguments": arguments})
	failed, _ = result["isError"].(bool)
	return result["structuredContent"].(map[string]any), failed
}

// TestAnAgentReadsWritesAndProposes calls a complete node over MCP.
func TestAnAgentReadsWritesAndProposes(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	s.send(map[string]any{"type": "event", "name": "page_view", "distinctId": "u1", "url": "https://example.com/a"})
	s.settled()
	overview, failed := s.mcpCall("analytics_overview", map[string]any{"range": "24h"})
	if failed || overview["data"].(map[string]any)["pageviews"] != 1.0 {
		t.Errorf("the overview is %v", overview)
	}
	made, failed := s.mcpCall("goals_create", map[string]any{"name": "Signups", "kind": "event", "match": "signup"})
	if failed || made["status"] != 201.0 {
		t.Fatalf("making a goal: %v", made)
	}
	id := made["data"].(map[string]any)["id"].(string)
	proposed, failed := s.mcpCall("call_write", map[string]any{"tool": "goals_delete", "arguments": map[string]any{"id": id}})
	if failed || proposed["executed"] != false {
		t.Fatalf("deleting the goal: %v", proposed)
	}
	action := proposed["action"].(map[string]any)
	if action["effect"] != "destructive" || !strings.Contains(fmt.Sprint(action["preview"]), `now match: "signup"`) {
		t.Errorf("the action is %v", action)
	}
	rows := s.get(appPath + "/ai/actions")["data"].([]any)
	if len(rows) != 1 || rows[0].(map[string]any)["id"] != action["id"] || rows[0].(map[string]any)["status"] != "proposed" || rows[0].(map[string]any)["expiresAt"] != action["expiresAt"] {
		t.Fatalf("the actions are %v", rows)
	}
	approve := appPath + "/ai/actions/" + action["id"].(string)
	if got := s.call("POST", approve+"/approve", s.boot.Token, []byte(`{"reason":"yes"}`), nil); got.status != 403 {
		t.Errorf("a destructive action is approved over the API: %d %s", got.status, got.body)
	}
	if got := s.call("POST", approve+"/reject", s.boot.Token, []byte(`{"reason":"no"}`), nil); got.status != 200 {
		t.Errorf("rejecting it: %d %s", got.status, got.body)
	}
	if goals := s.get(appPath + "/goals")["data"].([]any); len(goals) != 1 {
		t.Errorf("the goals are %v", goals)
	}
	eventually(t, "the ledger has the proposal", func() error {
		entries := s.console(t, s.session(), "GET", "/orgs/acme/ledger", "", 200)
		if !strings.Contains(string(entries), "ai.action.proposed") || !strings.Contains(string(entries), `"tokenKind":"personal"`) {
			return fmt.Errorf("%s", entries)
		}
		return nil
	})
}

// TestATokenThatEndsIsRefusedAtOnce revokes the token between two messages.
func TestATokenThatEndsIsRefusedAtOnce(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	me := s.get("/api/v1/me")
	s.mcp("ping", nil)
	id := me["token"].(map[string]any)["id"].(string)
	if got := s.call("DELETE", "/api/v1/me/tokens/"+id, s.boot.Token, nil, nil); got.status != 204 {
		t.Fatalf("revoking: %d %s", got.status, got.body)
	}
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	got := s.call("POST", "/mcp", s.boot.Token, body, map[string]string{"Accept": "application/json, text/event-stream"})
	if got.status != 401 || !strings.Contains(got.header.Get("Www-Authenticate"), "resource_metadata=") {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
}

func TestFlagsOfMCPThatAreOff(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{"--speed": "-speed", "now": `"now"`, "--tools=some": `"some"`} {
		var stderr bytes.Buffer
		if err := bridge.Run(t.Context(), []string{args}, io.Discard, &stderr); !errors.Is(err, cli.ErrUsage) || !strings.Contains(stderr.String(), says) {
			t.Errorf("%s: %v, it says %s", args, err, stderr.String())
		}
	}
}
