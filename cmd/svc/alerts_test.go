package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// hook is a webhook that records the received notices.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []map[string]any
	// ids are the ids of the deliveries, one per body.
	ids    []string
	bad    []string
	secret string
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		stamp, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("X-SVC-Signature"), "t="), ",")
		mac := hmac.New(sha256.New, []byte(h.secret))
		mac.Write([]byte(stamp + "." + string(body)))
		if want := "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil)); err != nil || r.Header.Get("X-SVC-Signature") != want || r.Header.Get("X-SVC-Delivery") == "" {
			h.bad = append(h.bad, r.Header.Get("X-SVC-Signature"))
		}
		var told map[string]any
		if json.Unmarshal(body, &told) != nil {
			h.bad = append(h.bad, string(body))
		}
		h.bodies, h.ids = append(h.bodies, told), append(h.ids, r.Header.Get("X-SVC-Delivery"))
	}))
	t.Cleanup(h.Close)
	return h
}

// told returns the received notices as event and status.
func (h *hook) told() (out []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, body := range h.bodies {
		out = append(out, fmt.Sprint(body["event"], " ", body["status"]))
	}
	return out
}

// TestAnIncidentFromBeginningToEnd takes a target down. The rule fires once, and the hook is notified once, also across
// a restart. A member acknowledges and resolves the incident.
func TestAnIncidentFromBeginningToEnd(t *testing.T) {
	var down atomic.Bool
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(target.Close)
	hook, dir := newHook(t), t.TempDir()
	s := startServer(t, dir, watched())
	login, err := s.admin("login", "--email", "owner@acme.example")
	if err != nil {
		t.Fatal(err)
	}
	session := login["secret"].(string)
	const console = "/console" + appPath
	made := s.call("POST", console+"/channels", session, []byte(`{"name":"Pager","kind":"webhook","url":"`+hook.URL+`"}`), nil)
	channel := object(t, made.body)
	hook.secret = channel["secret"].(string)
	if got := s.call("POST", console+"/channels/"+channel["id"].(string)+"/test", session, nil, nil); got.status != 200 || object(t, got.body)["ok"] != true {
		t.Fatalf("the test of the channel: %d %s", got.status, got.body)
	}
	monitor := s.post(appPath+"/monitors", `{"name":"Site","url":"`+target.URL+`","intervalSeconds":1,"confirmations":2}`)
	rule := s.post(appPath+"/alerts", `{"name":"Site is down","kind":"uptime","threshold":1,"comparator":"gte","severity":"critical","windowMinutes":1,"condition":{"monitorId":"`+
		monitor["id"].(string)+`"},"channelIds":["`+channel["id"].(string)+`"]}`)
	down.Store(true)
	eventually(t, "the hook is told", func() error {
		if len(hook.told()) < 2 {
			return fmt.Errorf("it was told %v", hook.told())
		}
		return nil
	})
	incidents := s.get(appPath + "/incidents")["data"].([]any)
	if len(incidents) != 1 {
		t.Fatalf("%d open incidents, want 1", len(incidents))
	}
	incident := incidents[0].(map[string]any)
	for member, want := range map[string]any{
		"ruleId": rule["id"], "ruleName": "Site is down", "kind": "uptime", "severity": "critical", "status": "open", "environment": "production", "title": "Site is down — 2 ≥ 1",
		"value": 2.0, "threshold": 1.0, "comparator": "gte", "monitorId": monitor["id"], "acknowledgedAt": nil, "resolvedBy": nil, "occurrences": 1.0,
	} {
		if incident[member] != want {
			t.Errorf("the incident's %s is %v, want %v", member, incident[member], want)
		}
	}
	s.stopped()
	s = startServer(t, dir, watched())
	id := incident["id"].(string)
	eventually(t, "checks go on", func() error {
		if failures := s.onlyMonitor()["consecutiveFailures"].(float64); failures < 6 {
			return fmt.Errorf("%v failures", failures)
		}
		return nil
	})
	if got, want := fmt.Sprint(hook.told()), "[test firing open firing]"; got != want {
		t.Errorf("after the restart the hook was told %s, want %s", got, want)
	}
	for _, step := range []struct {
		action string
		status int
		want   any
	}{{"acknowledge", 200, "acknowledged"}, {"acknowledge", 409, nil}} {
		if got := s.call("POST", console+"/incidents/"+id+"/"+step.action, session, nil, nil); got.status != step.status || step.want != nil && object(t, got.body)["status"] != step.want {
			t.Errorf("%s: %d %s", step.action, got.status, got.body)
		}
	}
	down.Store(false)
	eventually(t, "the monitor is up", func() error {
		if row := s.onlyMonitor(); row["lastStatus"] != "up" {
			return fmt.Errorf("it is %v", row["lastStatus"])
		}
		return nil
	})
	if got := s.call("POST", console+"/incidents/"+id+"/resolve", session, nil, nil); got.status != 200 || object(t, got.body)["resolvedBy"] == nil {
		t.Errorf("resolving: %d %s", got.status, got.body)
	}
	if got := s.call("POST", console+"/incidents/"+id+"/resolve", session, nil, nil); got.status != 409 {
		t.Errorf("resolving twice: %d %s", got.status, got.body)
	}
	eventually(t, "the hook is told of the end", func() error {
		if got, want := fmt.Sprint(hook.told()), "[test firing open firing resolved resolved]"; got != want {
			return fmt.Errorf("it was told %s, want %s", got, want)
		}
		return nil
	})
	if len(hook.bad) > 0 {
		t.Errorf("badly signed: %v", hook.bad)
	}
	if open, all := s.get(appPath + "/incidents")["data"].([]any), s.get(appPath + "/incidents?status=all")["data"].([]any); len(open) != 0 || len(all) != 1 {
		t.Errorf("%d open incidents, %d in all", len(open), len(all))
	}
}

// TestAnIncidentEndsWithItsMonitor disables a monitor that is down, and deletes another one: otherwise their incidents
// would never end.
func TestAnIncidentEndsWithItsMonitor(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	t.Cleanup(target.Close)
	s := startServer(t, t.TempDir(), watched())
	var ids [2]string
	for i := range ids {
		monitor := s.post(appPath+"/monitors", `{"name":"Site","url":"`+target.URL+`","intervalSeconds":1,"confirmations":1}`)
		ids[i] = monitor["id"].(string)
		s.post(appPath+"/alerts", `{"name":"Site is down","kind":"uptime","threshold":1,"comparator":"gte","cooldownMinutes":0,"condition":{"monitorId":"`+ids[i]+`"}}`)
	}
	open := func(want int) func() error {
		return func() error {
			if got := s.get(appPath + "/incidents")["data"].([]any); len(got) != want {
				return fmt.Errorf("%d incidents are open, want %d", len(got), want)
			}
			return nil
		}
	}
	eventually(t, "both rules fire", open(2))
	if got := s.call("POST", appPath+"/monitors", s.boot.Token, []byte(`{"id":"`+ids[0]+`","enabled":false}`), nil); got.status != 200 {
		t.Fatalf("disabling: %d %s", got.status, got.body)
	}
	if err := open(1)(); err != nil {
		t.Error("after one was disabled:", err)
	}
	if got := s.call("DELETE", appPath+"/monitors/"+ids[1], s.boot.Token, nil, nil); got.status != 204 {
		t.Fatalf("deleting: %d %s", got.status, got.body)
	}
	if err := open(0)(); err != nil {
		t.Error("after the other was deleted:", err)
	}
	for _, rule := range s.get(appPath + "/alerts")["data"].([]any) {
		if state := rule.(map[string]any)["state"]; state != "ok" {
			t.Errorf("a rule is %v", state)
		}
	}
}
