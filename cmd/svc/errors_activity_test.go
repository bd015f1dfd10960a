package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestReleasesCountSessions sends sessions and errors as Sentry SDKs do, and reads the releases.
func TestReleasesCountSessions(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	item := func(kind, payload string) string { return "{\"type\":\"" + kind + "\"}\n" + payload + "\n" }
	crashed := item("session", `{"sid":"s1","init":true,"status":"ok","attrs":{"release":"2.0"}}`) +
		item("session", `{"sid":"s1","status":"crashed","errors":1,"attrs":{"release":"2.0"}}`)
	sums := item("sessions", `{"aggregates":[{"started":"2026-11-20T12:00:00Z","exited":8,"errored":1}],"attrs":{"release":"2.0"}}`)
	broken := item("event", `{"message":"broken","release":"1.0"}`)
	for range 2 { // an SDK repeats unanswered requests
		if got := s.envelope([]byte("{}\n" + crashed + sums)); got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	if got := s.envelope([]byte("{}\n" + broken)); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	eventually(t, "both releases are listed", func() error {
		rows := s.get(errorsPath + "/releases")["data"].([]any)
		if len(rows) != 2 {
			return fmt.Errorf("%v", rows)
		}
		shown := ""
		for _, row := range rows {
			r := row.(map[string]any)
			shown += fmt.Sprintln(r["release"], r["eventCount"], r["newIssues"], r["sessions"], r["crashedSessions"], r["erroredSessions"], r["crashFreeSessions"])
		}
		for _, want := range []string{"2.0 0 0 10 1 1 0.9\n", "1.0 1 1 0 0 0 <nil>\n"} {
			if !strings.Contains(shown, want) {
				return fmt.Errorf("%s, want %s", shown, want)
			}
		}
		return nil
	})
	issue := s.issues(1)["Message: broken"]["id"].(string)
	change := s.call("PATCH", errorsPath, s.boot.Token, []byte(`{"ids":["`+issue+`"],"status":"resolved","resolvedInRelease":"1.0"}`), nil)
	if change.status != 200 || object(t, change.body)["changed"] != 1.0 {
		t.Fatalf("%d %s", change.status, change.body)
	}
	if got := s.envelope([]byte("{}\n" + strings.Replace(broken, "1.0", "2.0", 1))); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	eventually(t, "the regression is noted", func() error {
		rows := s.get(errorsPath + "/" + issue + "/activity")["data"].([]any)
		kinds := ""
		for _, row := range rows {
			kinds += row.(map[string]any)["kind"].(string) + " "
		}
		if kinds != "regression status " {
			return fmt.Errorf("the activity is %q", kinds)
		}
		if row := rows[0].(map[string]any); row["release"] != "2.0" || row["author"] != nil {
			return fmt.Errorf("the regression is %v", row)
		}
		return nil
	})
}
