package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"svc/cmd/svc/firststart"
	"svc/domain/conversation"
	"svc/http/outbound/llm/llmtest"
)

// outgoing is the environment of a node whose assistant uses a scripted model and may call back to this machine.
func outgoing(model *llmtest.Server) map[string]string {
	env := map[string]string{"SVC_AI_PROVIDER": "openai", "SVC_AI_API_KEY": "sk-of-the-platform", "SVC_AI_BASE_URL": model.URL}
	maps.Copy(env, watched())
	return env
}

// seated creates a member and returns a session of the member.
func (s *server) seated(email, role string) (session string) {
	s.t.Helper()
	for _, args := range [][]string{{"members", "put", "--org", "acme", "--email", email, "--name", email[:2], "--role", role}, {"login", "--email", email}} {
		answer, err := s.admin(args...)
		if err != nil {
			s.t.Fatal(err)
		}
		session, _ = answer["secret"].(string)
	}
	return session
}

// requested requests a test of a channel and returns the action's id.
func (s *server) requested(t *testing.T) string {
	t.Helper()
	frames := s.ask("Does the pager work?", "")
	if got, want := shape(frames), "start status=running tool_call approval_required text status=awaiting done"; got != want {
		t.Fatalf("the frames are\n%s, want\n%s\n%v", got, want, frames)
	}
	action := find(t, frames, "approval_required")["actions"].([]any)[0].(map[string]any)
	if action["effect"] != "external" || !strings.Contains(fmt.Sprint(action["preview"]), `now name: "Pager"`) || !strings.Contains(fmt.Sprint(frames), "second operator") {
		t.Errorf("the action is %v", action)
	}
	return action["id"].(string)
}

// TestARequestIsSentOnceByASecondOperator follows a test of a channel from a question to the hook, and tries everything
// that must fail meanwhile.
func TestARequestIsSentOnceByASecondOperator(t *testing.T) {
	var channel atomic.Value
	model := llmtest.Serve(t, conversation.ProviderOpenAI, func(_ int, body []byte) llmtest.Round {
		if !bytes.Contains(body, []byte(`"role":"tool"`)) {
			return called(call("c1", "channels_test", fmt.Sprintf(`{"id":%q}`, channel.Load())))
		}
		return said("It rings.")
	})
	hook := newHook(t)
	s := startServer(t, t.TempDir(), outgoing(model))
	channel.Store(s.hooked(hook))
	owner, bo, vi := s.session(), s.seated("bo@acme.example", "member"), s.seated("vi@acme.example", "viewer")
	const queue, yes = "/orgs/acme/approvals", `{"reason":"we need to know"}`

	id := s.requested(t)
	if got := s.call("POST", appPath+"/ai/actions/"+id+"/approve", s.boot.Token, []byte(yes), nil); got.status != 403 || object(t, got.body)["reason"] != "second_operator_required" {
		t.Errorf("approving over the API: %d %s", got.status, got.body)
	}
	for who, session := range map[string]string{"second_operator_required": owner, "": vi} {
		for _, path := range []string{queue + "/" + id + "/approve", queue + "/" + id + "/reject"} {
			if body := object(t, s.console(t, session, "POST", path, yes, 403)); who != "" && body["reason"] != who {
				t.Errorf("%s: %v", path, body)
			}
		}
	}
	if rows := object(t, s.console(t, owner, "GET", queue, "", 200))["data"].([]any); len(rows) != 1 || rows[0].(map[string]any)["mayDecide"] != false {
		t.Errorf("the queue of the one who asked: %v", rows)
	}
	row := object(t, s.console(t, bo, "GET", queue, "", 200))["data"].([]any)[0].(map[string]any)
	if row["id"] != id || row["mayDecide"] != true || row["sending"] != nil || row["question"] != "Does the pager work?" || row["app"] != "web" {
		t.Errorf("the queue of the second: %v", row)
	}
	done := object(t, s.console(t, bo, "POST", queue+"/"+id+"/approve", yes, 200))
	if done["status"] != "executed" || done["sending"] != "sent" || done["decidedBy"].(map[string]any)["name"] != "bo" || done["requestId"] == nil || len(hook.told()) != 1 || len(hook.bad) != 0 {
		t.Errorf("approved: %v, and the hook was told %v, badly %v", done, hook.told(), hook.bad)
	}
	if again := object(t, s.console(t, bo, "POST", queue+"/"+id+"/approve", yes, 409)); again["actionStatus"] != "executed" {
		t.Errorf("approving again: %v", again)
	}
	conversation := done["conversationId"].(string)
	eventually(t, "the conversation goes on", func() error {
		if page := s.get(appPath + "/ai/conversations/" + conversation); page["state"] != "idle" || !strings.Contains(fmt.Sprint(page["messages"]), "It rings.") {
			return fmt.Errorf("%v", page)
		}
		return nil
	})
	s.requestsInTheLedger(t, id)

	id = s.requested(t)
	refused := object(t, s.console(t, bo, "POST", queue+"/"+id+"/reject", `{"reason":"not at night"}`, 200))
	if refused["status"] != "rejected" || refused["sending"] != nil || refused["reason"] != "not at night" || len(hook.told()) != 1 {
		t.Errorf("rejected: %v", refused)
	}
	id = s.requested(t)
	s.console(t, owner, "DELETE", "/apps/acme/web/channels/"+channel.Load().(string), "", 204)
	if changed := object(t, s.console(t, bo, "POST", queue+"/"+id+"/approve", yes, 409)); changed["reason"] != "target_changed" || len(hook.told()) != 1 {
		t.Errorf("after the channel is gone: %v", changed)
	}
	if rows := object(t, s.console(t, bo, "GET", queue+"?status=all&limit=2", "", 200)); len(rows["data"].([]any)) != 2 || rows["nextCursor"] == nil {
		t.Errorf("all: %v", rows)
	}
}

// requestsInTheLedger expects both people in the entries about a request.
func (s *server) requestsInTheLedger(t *testing.T, id string) {
	t.Helper()
	eventually(t, "the ledger tells of both people", func() error {
		entries, _, err := s.node.db.LedgerEntries(t.Context(), "acme", "", 0, 100)
		if err != nil {
			return err
		}
		var seen []string
		for _, entry := range entries {
			if entry.Subject == id {
				both := bytes.Contains(entry.Metadata, []byte(`"requestedBy":"usr_`))
				decided := bytes.Contains(entry.Metadata, []byte(`"decidedBy":"usr_`))
				seen = append(seen, fmt.Sprintf("%s by %s %v %v", entry.Kind, entry.Actor.Name, both, decided))
			}
		}
		if want := "[ai.action.executed by Owner true true ai.action.approved by bo true true ai.action.proposed by Owner true false]"; fmt.Sprint(seen) != want {
			return fmt.Errorf("%v, want %s", seen, want)
		}
		return nil
	})
}

// TestARequestIsNotSentAgainAfterAKill kills the process between the claim of a sending and its end. After the restart
// the request is still claimed, cannot be approved again, and the hook receives no second notice.
func TestARequestIsNotSentAgainAfterAKill(t *testing.T) {
	var channel atomic.Value
	model := llmtest.Serve(t, conversation.ProviderOpenAI, func(int, []byte) llmtest.Round {
		return called(call("c1", "channels_test", fmt.Sprintf(`{"id":%q}`, channel.Load())))
	})
	var told atomic.Int64
	arrived, held := make(chan struct{}, 8), make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only its end matters
		told.Add(1)
		arrived <- struct{}{}
		<-held
	}))
	t.Cleanup(target.Close)
	t.Cleanup(func() { close(held) })
	dir := t.TempDir()
	s := startChild(t, dir, outgoing(model))
	login, err := s.admin("login", "--email", firststart.Owner)
	if err != nil {
		t.Fatal(err)
	}
	made := s.console(t, login["secret"].(string), "POST", "/apps/acme/web/channels", `{"name":"Pager","kind":"webhook","url":"`+target.URL+`"}`, 201)
	channel.Store(object(t, made)["id"])
	bo := s.seated("bo@acme.example", "member")
	id := s.requested(t)
	go func() {
		request, err := http.NewRequestWithContext(t.Context(), "POST", s.boot.URL+"/console/api/v1/orgs/acme/approvals/"+id+"/approve", strings.NewReader(`{"reason":"yes"}`))
		if err != nil {
			return
		}
		request.Header.Set("Authorization", "Bearer "+bo)
		request.Header.Set("Content-Type", "application/json")
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
		}
	}()
	<-arrived
	s.stopped()

	s = startChild(t, dir, outgoing(model))
	rows := object(t, s.console(t, bo, "GET", "/orgs/acme/approvals?status=executing", "", 200))["data"].([]any)
	if len(rows) != 1 || rows[0].(map[string]any)["sending"] != "claimed" {
		t.Errorf("after the restart: %v", rows)
	}
	if again := object(t, s.console(t, bo, "POST", "/orgs/acme/approvals/"+id+"/approve", `{"reason":"yes"}`, 409)); again["actionStatus"] != "executing" {
		t.Errorf("approving again: %v", again)
	}
	if got := told.Load(); got != 1 {
		t.Errorf("the hook was told %d times", got)
	}
}
