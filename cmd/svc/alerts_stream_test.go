package main

import (
	"fmt"
	"testing"
	"time"
)

// hooked creates a channel that leads to a hook, and returns its id.
func (s *server) hooked(hook *hook) string {
	s.t.Helper()
	login, err := s.admin("login", "--email", "owner@acme.example")
	if err != nil {
		s.t.Fatal(err)
	}
	made := s.call("POST", "/console"+appPath+"/channels", login["secret"].(string), []byte(`{"name":"Pager","kind":"webhook","url":"`+hook.URL+`"}`), nil)
	channel := object(s.t, made.body)
	hook.mu.Lock()
	defer hook.mu.Unlock()
	hook.secret = channel["secret"].(string)
	return channel["id"].(string)
}

// titles returns the titles of the received notices.
func (h *hook) titles() (out []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, body := range h.bodies {
		out = append(out, fmt.Sprint(body["event"], " ", body["incident"].(map[string]any)["title"]))
	}
	return out
}

// tells waits until the hook has received exactly these titles.
func (h *hook) tells(t *testing.T, what string, want ...string) {
	t.Helper()
	eventually(t, what, func() error {
		if got := h.titles(); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("the hook was told %q, want %q", got, want)
		}
		return nil
	})
}

// TestRulesOfTheStreamDoNotWaitForTheFlush uses the longest flush interval and triggers several rules one after
// another: each fires because its block was stored early. An issue is new once, also after a restart.
func TestRulesOfTheStreamDoNotWaitForTheFlush(t *testing.T) {
	hook, dir, env := newHook(t), t.TempDir(), watched()
	env["SVC_FLUSH_INTERVAL"] = "1m"
	s := startServer(t, dir, watched()) // old events are stored at once
	fails := func(message string) { s.send(map[string]any{"type": "error", "message": message}) }
	channel := `"channelIds":["` + s.hooked(hook) + `"]`
	fails("old")
	s.settled()
	s.stopped()
	s = startServer(t, dir, env)
	began := time.Now()
	s.post(appPath+"/alerts", `{"name":"News","kind":"new_issue",`+channel+`}`)
	fails("fresh")
	hook.tells(t, "the hook is told of the new issue", "open News — new issue: Error: fresh")
	s.post(appPath+"/alerts", `{"name":"Rush","kind":"event_volume","threshold":3,"comparator":"gte","condition":{"name":"order"},`+channel+`}`)
	order := func(id string) map[string]any {
		return map[string]any{"type": "event", "name": "order", "distinctId": "ada", "id": id}
	}
	s.send(order("1"), order("2"))
	s.send(map[string]any{"type": "event", "name": "click", "distinctId": "ada"})
	s.send(order("3"))
	hook.tells(t, "the hook is told of the events", "open News — new issue: Error: fresh", "open Rush — 3 ≥ 3")
	s.post(appPath+"/alerts", `{"name":"Trouble","kind":"error_rate","threshold":3,"comparator":"gt","condition":{"level":"fatal"},`+channel+`}`)
	for n := range 4 {
		s.send(map[string]any{"type": "error", "message": "old", "level": "fatal", "id": fmt.Sprint("fatal-", n)})
	}
	told := []string{"open News — new issue: Error: fresh", "open Rush — 3 ≥ 3", "open Trouble — 4 > 3"}
	hook.tells(t, "the hook is told of the errors", told...)
	if took := time.Since(began); took >= time.Minute {
		t.Errorf("three incidents took %s, as long as the flush interval", took)
	}
	for restarts, message := range []string{"another", "the last"} {
		s.send(map[string]any{"type": "error", "message": "old", "id": message + " 1"}, map[string]any{"type": "error", "message": "fresh", "id": message + " 2"})
		fails(message)
		eventually(t, "the incident counts what is new", func() error {
			for _, row := range s.get(appPath + "/incidents")["data"].([]any) {
				if incident := row.(map[string]any); incident["ruleName"] == "News" && incident["occurrences"] == float64(2+restarts) {
					return nil
				}
			}
			return fmt.Errorf("it does not")
		})
		s.stopped()
		s = startServer(t, dir, env)
	}
	hook.tells(t, "nothing is told twice", told...)
}

// TestARegressionIsToldAtOnce lets an issue regress while its incident is open, with the longest flush interval.
func TestARegressionIsToldAtOnce(t *testing.T) {
	hook, env := newHook(t), watched()
	env["SVC_FLUSH_INTERVAL"] = "1m"
	s := startServer(t, t.TempDir(), env)
	s.post(appPath+"/alerts", `{"name":"News","kind":"new_issue","channelIds":["`+s.hooked(hook)+`"]}`)
	fails := func(id string) { s.send(map[string]any{"type": "error", "message": "fresh", "id": id}) }
	fails("1")
	told := []string{"open News — new issue: Error: fresh"}
	hook.tells(t, "the hook is told of the new issue", told...)
	rows, _ := s.listed("")
	for n := range 2 {
		s.patch(rows[0]["id"].(string), `{"status":"resolved"}`)
		began := time.Now()
		fails(fmt.Sprint("again ", n))
		told = append(told, "open News — regressed: Error: fresh")
		hook.tells(t, "the hook is told that it came back", told...)
		if took := time.Since(began); took >= 30*time.Second {
			t.Errorf("the regression was told after %s", took)
		}
	}
	fails("more of the same")
	incident := s.get(appPath + "/incidents")["data"].([]any)[0].(map[string]any)
	if incident["occurrences"] != 3.0 || incident["issueId"] != rows[0]["id"] {
		t.Errorf("the incident is %v", incident)
	}
	s.stopped()
	hook.tells(t, "nothing is told twice", told...)
}
