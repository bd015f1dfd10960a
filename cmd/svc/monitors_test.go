package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// watched is the environment of a node that checks targets on this machine every second.
func watched() map[string]string {
	return map[string]string{"SVC_MONITOR_ALLOW": "127.0.0.1", "SVC_MONITOR_LEAST": "1s"}
}

// onlyMonitor returns the application's monitor.
func (s *server) onlyMonitor() map[string]any {
	s.t.Helper()
	rows := s.get(appPath + "/monitors")["data"].([]any)
	if len(rows) != 1 {
		s.t.Fatalf("%d monitors, want 1", len(rows))
	}
	return rows[0].(map[string]any)
}

// TestAMonitorSurvivesRestarts takes a target down and up again, and restarts the server in between: consecutive
// failures continue to count.
func TestAMonitorSurvivesRestarts(t *testing.T) {
	var down atomic.Bool
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(target.Close)
	dir := t.TempDir()
	s := startServer(t, dir, watched())
	s.post(appPath+"/monitors", `{"name":"Site","url":"`+target.URL+`","intervalSeconds":1,"confirmations":1}`)
	until := func(s *server, what string, holds func(m map[string]any) bool) map[string]any {
		t.Helper()
		var last map[string]any
		eventually(t, what, func() error {
			if last = s.onlyMonitor(); !holds(last) {
				return fmt.Errorf("it is %v", last)
			}
			return nil
		})
		return last
	}
	up := until(s, "the monitor is up", func(m map[string]any) bool { return m["lastStatus"] == "up" })
	if up["uptime30d"] != 1.0 || up["consecutiveFailures"] != 0.0 || up["lastError"] != nil {
		t.Errorf("up: %v", up)
	}
	down.Store(true)
	failing := until(s, "the monitor is down", func(m map[string]any) bool { return m["consecutiveFailures"].(float64) >= 2 })
	if failing["lastStatus"] != "down" || failing["lastError"] != "The status was 503, not 200." || failing["uptime30d"].(float64) >= 1 {
		t.Errorf("down: %v", failing)
	}
	s.stopped()
	s = startServer(t, dir, watched())
	before := s.onlyMonitor()
	until(s, "failures go on counting", func(m map[string]any) bool {
		return m["consecutiveFailures"].(float64) > before["consecutiveFailures"].(float64) && m["checks30d"].(float64) > before["checks30d"].(float64)
	})
	if failures := before["consecutiveFailures"].(float64); failures < failing["consecutiveFailures"].(float64) {
		t.Errorf("%v failures were forgotten at the restart", failing["consecutiveFailures"].(float64)-failures)
	}
	down.Store(false)
	until(s, "the monitor is up again", func(m map[string]any) bool { return m["lastStatus"] == "up" && m["consecutiveFailures"] == 0.0 })
	id := s.onlyMonitor()["id"].(string)
	if got := s.call("DELETE", appPath+"/monitors/"+id, s.boot.Token, nil, nil); got.status != 204 {
		t.Errorf("deleting: %d %s", got.status, got.body)
	}
	if rows := s.get(appPath + "/monitors")["data"].([]any); len(rows) != 0 {
		t.Errorf("after the deletion: %v", rows)
	}
	if left := s.node.monitoring.schedule.Len(); left != 0 {
		t.Errorf("%d monitors are still scheduled", left)
	}
}
