package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/outbound/llm/llmtest"
)

// console sends a request of the console and expects a status.
func (s *server) console(t *testing.T, session, method, path, body string, status int) []byte {
	t.Helper()
	got := s.call(method, "/console/api/v1"+path, session, []byte(body), nil)
	if got.status != status {
		t.Fatalf("%s %s: %d %s, want %d", method, path, got.status, got.body, status)
	}
	return got.body
}

func TestTurnsEndAtTheirLimits(t *testing.T) {
	many := func(n int, _ []byte) llmtest.Round {
		return called(call(fmt.Sprintf("c%d", n), "events_list", fmt.Sprintf(`{"limit":%d}`, n+1)))
	}
	for name, c := range map[string]struct {
		script llmtest.Script
		shape  string
		rounds float64
		says   string
	}{
		"stuck":    {rounds(called(call("a", "apps_get", `{}`)), called(call("b", "apps_get", `{ }`))), "start status=running tool_call tool_result text status=done done", 2, "repeated"},
		"rounds":   {many, "start status=running" + strings.Repeat(" tool_call tool_result", 16) + " text status=done done", 16, "16 tool rounds"},
		"provider": {func(int, []byte) llmtest.Round { return llmtest.Round{Status: 400} }, "start status=running error", 0, "refused"},
	} {
		s, _ := startAssisted(t, t.TempDir(), c.script)
		frames := s.ask("What?", "")
		last := frames[len(frames)-1]
		if got := shape(frames); got != c.shape || c.rounds > 0 && last.data["rounds"] != c.rounds || !strings.Contains(fmt.Sprint(frames), c.says) {
			t.Errorf("%s: %s %v", name, got, last)
		}
		if again := s.ask("Again?", frames[0].data["conversationId"].(string)); again[0].event != "start" {
			t.Errorf("%s: the conversation does not go on: %v", name, again)
		}
		s.stopped()
	}
}

func TestTheOrganizationsRulesHold(t *testing.T) {
	s, model := startAssisted(t, t.TempDir(), rounds(called(call("c1", "goals_create", goalInput)), said("No.")))
	session := s.session()
	for name, policy := range map[string]string{
		"a denied tool": `{"deniedTools":["goals_create"]}`, "a denied effect": `{"deniedEffects":["write"]}`, "a capped scope": `{"maxScope":"read"}`,
	} {
		s.console(t, session, "PUT", "/orgs/acme/ai/policy", policy, 200)
		before := len(model.Bodies())
		model.Restart()
		frames := s.ask("Make a goal.", "")
		if got := shape(frames); got != "start status=running tool_call tool_result text status=done done" || find(t, frames, "tool_result")["ok"] != false {
			t.Errorf("%s: %s", name, got)
		}
		if body := string(model.Bodies()[before]); strings.Contains(body, `"goals_create"`) {
			t.Errorf("%s: the tool is offered", name)
		}
	}
	s.console(t, session, "PUT", "/orgs/acme/ai/policy", `{"monthlyBudget":0}`, 200)
	before := len(model.Bodies())
	if frames := s.ask("What?", ""); shape(frames) != "start status=running text status=done done" || !strings.Contains(fmt.Sprint(frames), "budget") || len(model.Bodies()) != before {
		t.Errorf("without a budget: %v", frames)
	}
	s.console(t, session, "PUT", "/orgs/acme/ai/policy", `{"monthlyBudget":null}`, 200)
	if frames := s.ask("What?", ""); shape(frames) != "start status=running text status=done done" || len(model.Bodies()) != before+1 {
		t.Errorf("with the budget again: %v", frames)
	}
	settings := object(t, s.console(t, session, "GET", "/orgs/acme/ai", "", 200))
	if spent := settings["spent"].(map[string]any); spent["inputTokens"] != 700.0 || spent["outputTokens"] != 140.0 {
		t.Errorf("spent %v", spent)
	}
}

func TestDestructiveActionsAndChangedTargetsAreNotExecuted(t *testing.T) {
	dir := t.TempDir()
	s, model := startAssisted(t, dir, rounds(called(call("c1", "apps_update", `{"name":"Renamed"}`)), said("ok")))
	frames := s.ask("Rename the application.", "")
	action := find(t, frames, "approval_required")["actions"].([]any)[0].(map[string]any)
	if action["effect"] != "destructive" || !strings.Contains(fmt.Sprint(action["preview"]), `name: "Web" → "Renamed"`) {
		t.Errorf("the action is %v", action)
	}
	id := action["id"].(string)
	if got := s.call("POST", appPath+"/ai/actions/"+id+"/approve", s.boot.Token, []byte(`{"reason":"yes"}`), nil); got.status != 403 || object(t, got.body)["code"] != "forbidden" {
		t.Errorf("approving over the API: %d %s", got.status, got.body)
	}
	if body := object(t, s.console(t, s.session(), "POST", "/apps/acme/web/ai/actions/"+id+"/approve", `{"reason":"yes"}`, 403)); body["code"] != "passkey_required" {
		t.Errorf("approving in the console: %v", body)
	}
	s.stopped()

	// The action survives a restart, and can be revoked there.
	env := map[string]string{"SVC_AI_PROVIDER": "openai", "SVC_AI_API_KEY": "k", "SVC_AI_BASE_URL": model.URL}
	again := startServer(t, dir, env)
	rows := again.get(appPath + "/ai/actions")["data"].([]any)
	if len(rows) != 1 || rows[0].(map[string]any)["id"] != id {
		t.Fatalf("after a restart: %v", rows)
	}
	me := again.get("/api/v1/me")["user"].(map[string]any)["id"].(string)
	again.console(t, again.session(), "POST", "/apps/acme/web/ai/members/"+me+"/actions/"+id+"/revoke", `{"reason":"not now"}`, 200)
	if rows := again.get(appPath + "/ai/actions?status=revoked")["data"].([]any); len(rows) != 1 {
		t.Errorf("revoked: %v", rows)
	}
	if name := again.get(appPath)["name"]; name != "Web" {
		t.Errorf("the application is called %v", name)
	}
}

func TestAClientThatComesBackMissesAndDoublesNothing(t *testing.T) {
	held := make(chan struct{})
	words := []string{"one ", "two ", "three ", "four"}
	s, _ := startAssisted(t, t.TempDir(), func(int, []byte) llmtest.Round { return llmtest.Round{Text: words, Wait: held} })
	var conversation, last string
	first := s.stream("POST", appPath+"/ai/ask", s.boot.Token, `{"question":"Count."}`, nil, func(f frame) bool {
		if f.event == "start" {
			conversation = f.data["conversationId"].(string)
		}
		last = f.id
		return f.event == "text"
	})
	busy := s.call("POST", appPath+"/ai/ask", s.boot.Token, []byte(`{"question":"More?","conversationId":"`+conversation+`"}`), nil)
	if problem := object(t, busy.body); busy.status != 409 || problem["reason"] != "turn_running" || problem["conversationId"] != conversation {
		t.Errorf("asking while a turn runs: %d %s", busy.status, busy.body)
	}
	close(held)
	again := s.stream("POST", appPath+"/ai/ask", s.boot.Token, `{"question":"Count.","conversationId":"`+conversation+`"}`, map[string]string{"Last-Event-ID": last}, nil)
	late := s.stream("GET", appPath+"/ai/conversations/"+conversation, s.boot.Token, "", map[string]string{"Last-Event-ID": last}, nil)
	for name, rest := range map[string][]frame{"by asking": again, "by following": late} {
		var text strings.Builder
		seen, previous := map[string]bool{}, ""
		for _, f := range append(append([]frame{}, first...), rest...) {
			if seen[f.id] || len(f.id) < len(previous) || len(f.id) == len(previous) && f.id <= previous {
				t.Errorf("%s: id %s comes after %s", name, f.id, previous)
			}
			seen[f.id], previous = true, f.id
			if f.event == "text" {
				text.WriteString(f.data["text"].(string))
			}
		}
		if text.String() != strings.Join(words, "") || rest[len(rest)-1].event != "done" {
			t.Errorf("%s: %q, frames %s", name, text.String(), shape(rest))
		}
	}
}

func TestForeignConversationsAndMissingProviders(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	for name, c := range map[string]struct{ body, code string }{
		"no such conversation": {`{"question":"x","conversationId":"cnv_foreign"}`, "not_found"}, "no provider": {`{"question":"x"}`, "provider_unavailable"},
	} {
		frames := s.stream("POST", appPath+"/ai/ask", s.boot.Token, c.body, nil, nil)
		if len(frames) != 1 || frames[0].event != "error" || frames[0].data["code"] != c.code {
			t.Errorf("%s: %v", name, frames)
		}
	}
	if got := s.call("POST", appPath+"/ai/ask", s.boot.Token, []byte(`{"question":"x"}`), map[string]string{"Accept": "text/html"}); got.status != http.StatusNotAcceptable {
		t.Errorf("a client that takes neither: %d %s", got.status, got.body)
	}
}

func TestThirtyQuestionsAnHour(t *testing.T) {
	s, _ := startAssisted(t, t.TempDir(), rounds(said("Yes.")))
	for range conversation.QuestionsPerHour {
		s.ask("Is it so?", "")
	}
	got := s.call("POST", appPath+"/ai/ask", s.boot.Token, []byte(`{"question":"One more?"}`), nil)
	if got.status != 429 || object(t, got.body)["code"] != "rate_limited" || got.header.Get("Retry-After") == "" {
		t.Errorf("the 31st: %d %s", got.status, got.body)
	}
}

func TestARevokedMembersAssistantStops(t *testing.T) {
	held := make(chan struct{})
	s, _ := startAssisted(t, t.TempDir(), func(n int, _ []byte) llmtest.Round {
		if n == 0 {
			return llmtest.Round{Text: []string{"I look."}, Wait: held, Calls: []conversation.ToolCall{call("c1", "apps_get", `{}`)}}
		}
		return said("You should not read this.")
	})
	ctx := t.Context()
	if _, err := s.node.identity.PutMember(ctx, "acme", domain.RoleOwner, domain.MemberSpec{Email: "bo@acme.example", Name: "Bo", Role: domain.RoleMember}); err != nil {
		t.Fatal(err)
	}
	bo, err := s.node.identity.KnownUser(ctx, "bo@acme.example")
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := s.node.identity.MintToken(ctx, domain.TokenOwner{User: bo}, domain.TokenSpec{Name: "bo", Scopes: domain.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	frames := s.stream("POST", appPath+"/ai/ask", secret.Reveal(), `{"question":"What?"}`, nil, func(f frame) bool {
		if f.event == "text" {
			if err := s.node.identity.RemoveMember(ctx, "acme", domain.RoleOwner, "bo@acme.example"); err != nil {
				t.Error(err)
			}
			close(held)
		}
		return false
	})
	if got := shape(frames); got != "start status=running text tool_call tool_result error" || find(t, frames, "tool_result")["ok"] != false || find(t, frames, "error")["code"] != "not_found" {
		t.Errorf("%s %v", got, frames)
	}
}
