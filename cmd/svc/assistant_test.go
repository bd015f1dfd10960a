package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc/domain/conversation"
	"svc/http/outbound/llm/llmtest"
)

// frame is one event of an answer's stream.
type frame struct {
	id, event string
	data      map[string]any
}

// stream sends a request and reads its stream until it ends, or until enough returns true.
func (s *server) stream(method, path, token, body string, header map[string]string, enough func(frame) bool) []frame {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.boot.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	var frames []frame
	var current frame
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			current.id = value
		case "event":
			current.event = value
		case "data":
			current.data = object(s.t, []byte(value))
		case "":
			if current.event != "" && current.data["type"] != current.event {
				s.t.Errorf("the type of %v is not %s", current.data, current.event)
			}
			if frames = append(frames, current); enough != nil && enough(current) {
				return frames
			}
			current = frame{}
		}
	}
	return frames
}

// ask asks the assistant and returns all frames.
func (s *server) ask(question, conversation string) []frame {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"question": question, "conversationId": conversation})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.stream("POST", appPath+"/ai/ask", s.boot.Token, string(body), nil, nil)
}

// shape writes frames as their names, with the states of statuses and joined text.
func shape(frames []frame) string {
	var names []string
	for _, f := range frames {
		name := f.event
		if name == "status" {
			name += "=" + fmt.Sprint(f.data["state"])
		}
		if name == "text" && len(names) > 0 && names[len(names)-1] == "text" {
			continue
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func find(t *testing.T, frames []frame, event string) map[string]any {
	t.Helper()
	at := slices.IndexFunc(frames, func(f frame) bool { return f.event == event })
	if at < 0 {
		t.Fatalf("no frame %s in %s", event, shape(frames))
	}
	return frames[at].data
}

func call(id, name, input string) conversation.ToolCall {
	return conversation.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

// rounds is a script that answers one round after another.
func rounds(list ...llmtest.Round) llmtest.Script {
	return func(n int, _ []byte) llmtest.Round { return list[min(n, len(list)-1)] }
}

// startAssisted starts a node whose assistant uses a scripted model.
func startAssisted(t *testing.T, dir string, script llmtest.Script) (*server, *llmtest.Server) {
	t.Helper()
	model := llmtest.Serve(t, conversation.ProviderOpenAI, script)
	return startServer(t, dir, map[string]string{
		"SVC_AI_PROVIDER": "openai", "SVC_AI_API_KEY": "sk-of-the-platform", "SVC_AI_BASE_URL": model.URL,
	}), model
}

func said(words ...string) llmtest.Round { return llmtest.Round{Text: words} }

func called(calls ...conversation.ToolCall) llmtest.Round { return llmtest.Round{Calls: calls} }

func TestAQuestionIsAnsweredWithTools(t *testing.T) {
	s, model := startAssisted(t, t.TempDir(), rounds(
		called(call("c1", "find_tools", `{"query":"goals"}`)),
		called(call("c2", "analytics_overview", `{"range":"24h"}`)),
		said("No visitors ", "yet."),
	))
	frames := s.ask("How many visitors today?", "")
	if got, want := shape(frames), "start status=running tool_call tools_loaded tool_result tool_call tool_result text status=done done"; got != want {
		t.Fatalf("the frames are\n%s, want\n%s\n%v", got, want, frames)
	}
	done := find(t, frames, "done")
	if usage := done["usage"].(map[string]any); done["rounds"] != 3.0 || usage["inputTokens"] != 300.0 || usage["outputTokens"] != 60.0 || usage["cacheReadTokens"] != 120.0 {
		t.Errorf("done: %v", done)
	}
	result := frames[6].data["result"].(map[string]any)
	if result["untrusted"] != true || result["data"].(map[string]any)["visitors"] != 0.0 || result["status"] != 200.0 {
		t.Errorf("the result is %v", result)
	}
	whole := fmt.Sprint(frames) + string(bytes.Join(model.Bodies(), nil))
	if strings.Contains(whole, "svc_agt_") {
		t.Error("the token of the turn is in the stream or in a request to the model")
	}
	conversation := frames[0].data["conversationId"].(string)
	page := s.get(appPath + "/ai/conversations/" + conversation)
	if page["state"] != "idle" || page["title"] != "How many visitors today?" || len(page["messages"].([]any)) != 6 {
		t.Errorf("the conversation is %v", page)
	}
	if list := s.get(appPath + "/ai/conversations")["data"].([]any); len(list) != 1 || list[0].(map[string]any)["id"] != conversation {
		t.Errorf("the list is %v", list)
	}
	if again := s.ask("And now?", conversation); shape(again) != "start status=running text status=done done" {
		t.Errorf("the second turn is %s", shape(again))
	}
}

// proposal requests a change and returns the conversation's id and the action.
func (s *server) proposal(t *testing.T) (conversation string, action map[string]any) {
	t.Helper()
	frames := s.ask("Make a goal of signups.", "")
	if got, want := shape(frames), "start status=running tool_call approval_required text status=awaiting done"; got != want {
		t.Fatalf("the frames are\n%s, want\n%s\n%v", got, want, frames)
	}
	return frames[0].data["conversationId"].(string), find(t, frames, "approval_required")["actions"].([]any)[0].(map[string]any)
}

const goalInput = `{"name":"Signups","kind":"event","match":"signup"}`

func goals(t *testing.T, s *server) int {
	t.Helper()
	return len(s.get(appPath + "/goals")["data"].([]any))
}

func TestAChangeHappensWhenItIsApproved(t *testing.T) {
	s, model := startAssisted(t, t.TempDir(), rounds(called(call("c1", "goals_create", goalInput)), said("It is done.")))
	conversation, action := s.proposal(t)
	if lines := fmt.Sprint(action["preview"].(map[string]any)["lines"]); goals(t, s) != 0 || action["effect"] != "write" || !strings.Contains(lines, `match: "signup"`) {
		t.Errorf("%d goals, action %v", goals(t, s), action)
	}
	busy := s.call("POST", appPath+"/ai/ask", s.boot.Token, []byte(`{"question":"More?","conversationId":"`+conversation+`"}`), nil)
	if problem := object(t, busy.body); busy.status != 409 || problem["reason"] != "actions_pending" || problem["conversationId"] != conversation ||
		problem["actions"].([]any)[0].(map[string]any)["id"] != action["id"] {
		t.Errorf("asking while the action waits: %d %s", busy.status, busy.body)
	}
	approve := appPath + "/ai/actions/" + action["id"].(string) + "/approve"
	frames := s.stream("POST", approve, s.boot.Token, `{"reason":"yes"}`, nil, nil)
	if got, want := shape(frames), "start status=running action tool_result text status=done done"; got != want {
		t.Fatalf("the frames are\n%s, want\n%s\n%v", got, want, frames)
	}
	if goals(t, s) != 1 || find(t, frames, "action")["status"] != "executed" {
		t.Errorf("%d goals, frames %v", goals(t, s), frames)
	}
	if last := model.Bodies()[1]; !bytes.Contains(last, []byte(`untrusted`)) || !bytes.Contains(last, []byte(`goal_`)) {
		t.Errorf("the model did not read the result: %s", last)
	}
	if again := s.call("POST", approve, s.boot.Token, []byte(`{}`), nil); again.status != 409 || object(t, again.body)["actionStatus"] != "executed" {
		t.Errorf("approving again: %d %s", again.status, again.body)
	}
	rows := s.get(appPath + "/ai/actions?status=executed")["data"].([]any)
	if len(rows) != 1 || rows[0].(map[string]any)["requestId"] == nil || rows[0].(map[string]any)["reason"] != "yes" {
		t.Errorf("the actions are %v", rows)
	}
	entries, _, err := s.node.db.LedgerEntries(t.Context(), "acme", "ai.action.executed", 0, 10)
	if err != nil || len(entries) != 1 || entries[0].Reason != "Make a goal of signups." || entries[0].Actor.ID == "" ||
		!bytes.Contains(entries[0].Metadata, []byte(`"conversationId":"`+conversation+`"`)) || !bytes.Contains(entries[0].Metadata, []byte(`"tokenKind":"assistant"`)) {
		t.Errorf("the ledger has %+v, %v", entries, err)
	}
}

func TestAnActionIsRejectedWithAReason(t *testing.T) {
	s, model := startAssisted(t, t.TempDir(), rounds(called(call("c1", "goals_create", goalInput)), said("Understood.")))
	conversation, action := s.proposal(t)
	path := appPath + "/ai/actions/" + action["id"].(string)
	if got := s.call("POST", path+"/reject", s.boot.Token, []byte(`{}`), nil); got.status != 400 {
		t.Errorf("without a reason: %d %s", got.status, got.body)
	}
	if got := s.call("POST", path+"/reject", s.boot.Token, []byte(`{"reason":"not this one"}`), nil); got.status != 200 ||
		object(t, got.body)["action"].(map[string]any)["status"] != "rejected" {
		t.Errorf("rejecting: %d %s", got.status, got.body)
	}
	if got := s.call("POST", path+"/approve", s.boot.Token, []byte(`{}`), nil); got.status != 409 || object(t, got.body)["actionStatus"] != "rejected" {
		t.Errorf("approving afterwards: %d %s", got.status, got.body)
	}
	s.ask("Why not?", conversation)
	if last := model.Bodies()[1]; goals(t, s) != 0 || !bytes.Contains(last, []byte("refused the action")) || !bytes.Contains(last, []byte("not this one")) {
		t.Errorf("the model reads %s", last)
	}
}
