package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"svc/domain/conversation"
	"svc/http/outbound/llm/llmtest"
	"svc/http/passkey/passkeytest"
)

// ceremony begins a ceremony and returns its name and the options for an authenticator.
func (s *server) ceremony(t *testing.T, session, path string) (id string, options []byte) {
	t.Helper()
	var begun struct {
		Ceremony string
		Options  json.RawMessage
	}
	if err := json.Unmarshal(s.console(t, session, "POST", path, "", 200), &begun); err != nil {
		t.Fatal(err)
	}
	return begun.Ceremony, begun.Options
}

// register lets an authenticator create a passkey for a session's person.
func (s *server) register(t *testing.T, session string, device *passkeytest.Authenticator) (id string) {
	t.Helper()
	ceremony, options := s.ceremony(t, session, "/me/passkeys/challenge")
	made := s.console(t, session, "POST", "/me/passkeys", fmt.Sprintf(`{"name":"Phone","ceremony":%q,"credential":%s}`, ceremony, device.Create(options)), 201)
	return object(t, made)["id"].(string)
}

// renaming requests a name of the application and returns the action's id.
func (s *server) renaming(t *testing.T) string {
	t.Helper()
	return find(t, s.ask("Rename the application.", ""), "approval_required")["actions"].([]any)[0].(map[string]any)["id"].(string)
}

// TestADestructiveActionIsConfirmedWithAPasskey registers passkeys, confirms an action of the assistant and one over
// MCP with them, and tries everything that must fail.
func TestADestructiveActionIsConfirmedWithAPasskey(t *testing.T) {
	renames := 0
	model := llmtest.Serve(t, conversation.ProviderOpenAI, func(_ int, body []byte) llmtest.Round {
		if strings.Contains(string(body), `"role":"tool"`) {
			return said("It is renamed.")
		}
		renames++
		return called(call("c1", "apps_update", fmt.Sprintf(`{"name":"Renamed %d"}`, renames)))
	})
	env := outgoing(model)
	const origin = "http://localhost:4711"
	env["SVC_PUBLIC_URL"] = origin
	s := startServer(t, t.TempDir(), env)
	session, device := s.session(), passkeytest.New(t, origin, "localhost")
	path := func(id, verb string) string { return "/apps/acme/web/ai/actions/" + id + "/" + verb }
	answer := func(ceremony string, credential []byte) string {
		return fmt.Sprintf(`{"reason":"agreed with Bo","ceremony":%q,"credential":%s}`, ceremony, credential)
	}
	refused := func(what, reason string, body []byte) {
		t.Helper()
		if problem := object(t, body); problem["code"] != "passkey_required" || fmt.Sprint(problem["reason"]) != reason {
			t.Errorf("%s: %v", what, problem)
		}
	}

	first := s.renaming(t)
	refused("without a passkey", "no_passkey", s.console(t, session, "POST", path(first, "challenge"), "", 403))
	key := s.register(t, session, device)
	refused("without an answer", "<nil>", s.console(t, session, "POST", path(first, "approve"), `{"reason":"yes"}`, 403))
	ceremony, options := s.ceremony(t, session, path(first, "challenge"))
	credential := device.Get(options)
	if got := s.call("POST", "/console/api/v1"+path(first, "approve"), session, []byte(strings.Replace(answer(ceremony, credential), "agreed with Bo", " ", 1)), nil); got.status != 400 {
		t.Errorf("without a reason: %d %s", got.status, got.body)
	}
	bo := s.seated("bo@acme.example", "member")
	s.console(t, bo, "POST", path(first, "approve"), answer(ceremony, credential), 404)
	done := object(t, s.console(t, session, "POST", path(first, "approve"), answer(ceremony, credential), 200))
	action := done["action"].(map[string]any)
	if name := s.get(appPath)["name"]; action["status"] != "executed" || action["reason"] != "agreed with Bo" || done["text"] != "It is renamed." || name != "Renamed 1" {
		t.Errorf("approved: %v, the application is %v", done, name)
	}

	second := s.renaming(t)
	refused("an answer that was given before", "challenge_over", s.console(t, session, "POST", path(second, "approve"), answer(ceremony, credential), 403))
	other := s.renaming(t)
	ceremony, options = s.ceremony(t, session, path(other, "challenge"))
	credential = device.Get(options)
	refused("an answer about another action", "other_purpose", s.console(t, session, "POST", path(second, "approve"), answer(ceremony, credential), 403))
	refused("the same for the right one, once more", "challenge_over", s.console(t, session, "POST", path(other, "approve"), answer(ceremony, credential), 403))
	ceremony, options = s.ceremony(t, session, path(second, "challenge"))
	refused("another key", "passkey_refused", s.console(t, session, "POST", path(second, "approve"), answer(ceremony, passkeytest.New(t, origin, "localhost").Get(options)), 403))
	if got := s.call("POST", appPath+"/ai/actions/"+second+"/approve", s.boot.Token, []byte(`{"reason":"yes"}`), nil); got.status != 403 {
		t.Errorf("over the API it is still refused: %d %s", got.status, got.body)
	}
	if name := s.get(appPath)["name"]; name != "Renamed 1" {
		t.Errorf("the application is %v", name)
	}

	proposed, failed := s.mcpCall("call_write", map[string]any{"tool": "apps_update", "arguments": map[string]any{"name": "By an agent"}})
	if failed {
		t.Fatalf("%v", proposed)
	}
	agents := proposed["action"].(map[string]any)["id"].(string)
	ceremony, options = s.ceremony(t, session, path(agents, "challenge"))
	s.console(t, session, "POST", path(agents, "approve"), answer(ceremony, device.Get(options)), 200)
	if name := s.get(appPath)["name"]; name != "By an agent" {
		t.Errorf("the application is %v", name)
	}
	ceremony, options = s.ceremony(t, session, path(second, "challenge"))
	if changed := object(t, s.console(t, session, "POST", path(second, "approve"), answer(ceremony, device.Get(options)), 409)); changed["reason"] != "target_changed" {
		t.Errorf("a target that has changed: %v", changed)
	}
	rows := object(t, s.console(t, session, "GET", "/me/passkeys", "", 200))["data"].([]any)
	if len(rows) != 1 || rows[0].(map[string]any)["id"] != key || rows[0].(map[string]any)["host"] != "localhost" || rows[0].(map[string]any)["lastUsedAt"] == nil {
		t.Errorf("the passkeys are %v", rows)
	}
	ceremony, options = s.ceremony(t, session, path(other, "challenge"))
	s.console(t, session, "DELETE", "/me/passkeys/"+key, "", 204)
	refused("a passkey that is removed", "passkey_refused", s.console(t, session, "POST", path(other, "approve"), answer(ceremony, device.Get(options)), 403))
	for _, kind := range []string{"passkey.created", "passkey.removed"} {
		entries := object(t, s.console(t, session, "GET", "/orgs/acme/ledger?kind="+kind, "", 200))["data"].([]any)
		if len(entries) != 1 || entries[0].(map[string]any)["subject"] != key || entries[0].(map[string]any)["actor"].(map[string]any)["id"] == "" {
			t.Errorf("the ledger has %s %v", kind, entries)
		}
	}
}

// TestPasskeysBelongToAName uses a node with an address instead of a name.
func TestPasskeysBelongToAName(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	if problem := object(t, s.console(t, s.session(), "POST", "/me/passkeys/challenge", "", 501)); problem["code"] != "not_available" {
		t.Errorf("%v", problem)
	}
}
