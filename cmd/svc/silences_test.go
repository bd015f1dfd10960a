package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestASilencedIncidentIsRecordedAndNobodyIsTold takes a target down in a maintenance window, and removes the window.
func TestASilencedIncidentIsRecordedAndNobodyIsTold(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	t.Cleanup(target.Close)
	hook := newHook(t)
	s := startServer(t, t.TempDir(), watched())
	login, err := s.admin("login", "--email", "owner@acme.example")
	if err != nil {
		t.Fatal(err)
	}
	session := login["secret"].(string)
	made := s.call("POST", "/console"+appPath+"/channels", session, []byte(`{"name":"Pager","kind":"webhook","url":"`+hook.URL+`/wrong"}`), nil)
	channel := object(t, made.body)
	hook.secret = channel["secret"].(string)
	changed := s.call("PATCH", "/console"+appPath+"/channels/"+channel["id"].(string), session, []byte(`{"name":"Duty","url":"`+hook.URL+`"}`), nil)
	if changed.status != 200 || object(t, changed.body)["name"] != "Duty" {
		t.Fatalf("changing the channel: %d %s", changed.status, changed.body)
	}
	window := s.post(appPath+"/silences", `{"name":"Move","environment":"production","endsAt":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
	monitor := s.post(appPath+"/monitors", `{"name":"Site","url":"`+target.URL+`","intervalSeconds":1,"confirmations":1}`)["id"].(string)
	condition := `"kind":"uptime","threshold":1,"comparator":"gte","windowMinutes":1,"condition":{"monitorId":"` + monitor + `"}`
	s.post(appPath+"/alerts", `{"name":"Down",`+condition+`,"channelIds":["`+channel["id"].(string)+`"]}`)
	var incident map[string]any
	eventually(t, "the incident is recorded", func() error {
		rows := s.get(appPath + "/incidents")["data"].([]any)
		if len(rows) != 1 {
			return fmt.Errorf("%v", rows)
		}
		incident = s.get(appPath + "/incidents/" + rows[0].(map[string]any)["id"].(string))
		return nil
	})
	if incident["silenceId"] != window["id"] || len(incident["notices"].([]any)) != 0 || len(hook.told()) != 0 {
		t.Errorf("%v; the hook was told %v", incident, hook.told())
	}
	if got := s.call("DELETE", appPath+"/silences/"+window["id"].(string), s.boot.Token, nil, nil); got.status != 204 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	eventually(t, "the hook is told after all", func() error {
		detail := s.get(appPath + "/incidents/" + incident["id"].(string))
		notices := detail["notices"].([]any)
		if len(notices) != 1 || notices[0].(map[string]any)["state"] != "delivered" {
			return fmt.Errorf("%v", notices)
		}
		notice := notices[0].(map[string]any)
		if notice["channelName"] != "Duty" || notice["event"] != "open" || notice["attempts"] != 1.0 || detail["silenceId"] != nil {
			return fmt.Errorf("%v", detail)
		}
		return nil
	})
	if got := fmt.Sprint(hook.told()); got != "[open firing]" {
		t.Errorf("the hook was told %s", got)
	}
	eventually(t, "the checks are counted", func() error {
		days := s.get(appPath + "/monitors/" + monitor)["days"].([]any)
		if last := days[len(days)-1].(map[string]any); len(days) != 90 || last["checks"] == 0.0 || last["uptime"] != 0.0 {
			return fmt.Errorf("%d days, the last is %v", len(days), last)
		}
		checks := s.get(appPath + "/monitors/" + monitor + "/checks?range=1h&limit=1")
		failures := checks["data"].([]any)
		if len(failures) != 1 || failures[0].(map[string]any)["statusCode"] != 502.0 || checks["nextCursor"] == nil || len(checks["series"].([]any)) != 60 {
			return fmt.Errorf("%v", checks)
		}
		return nil
	})
	preview := s.call("POST", appPath+"/alerts/preview", s.boot.Token, []byte(`{`+condition+`}`), nil)
	if got := object(t, preview.body); preview.status != 200 || len(got["firings"].([]any)) != 1 || got["notices"] != 1.0 {
		t.Errorf("the preview: %d %s", preview.status, preview.body)
	}
	if got := s.call("POST", appPath+"/monitors/"+monitor+"/check", s.boot.Token, nil, nil); got.status != 429 {
		t.Errorf("a check just after another: %d %s", got.status, got.body)
	}
	calm := s.post(appPath+"/monitors", `{"name":"Slow","url":"`+target.URL+`","intervalSeconds":3600,"enabled":false}`)["id"].(string)
	checked := s.call("POST", appPath+"/monitors/"+calm+"/check", s.boot.Token, nil, nil)
	if got := object(t, checked.body); checked.status != 200 || got["statusCode"] != 502.0 || got["error"] == nil {
		t.Errorf("a check at once: %d %s", checked.status, checked.body)
	}
}
