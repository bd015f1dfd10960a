package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWhatIncidentsQuoteOfTheErasedIsGone lets an alert rule report an error whose message names a person, and erases
// the person. Neither the incident nor any file outside the log names the person. The rest of the incident's title
// remains, with the phone number masked as before.
func TestWhatIncidentsQuoteOfTheErasedIsGone(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, map[string]string{"SVC_ERASURE_DELAY": "1s", "SVC_LOG_RETENTION": "1h"})
	shortenOldParts(t, s)
	email, name, phone := planted["e-mail"], planted["name"], planted["phone"]
	s.post(appPath+"/alerts", `{"name":"News","kind":"new_issue"}`)
	s.send(map[string]any{
		"type": "identify", "id": "quoted", "ts": time.Now().Add(-time.Hour).Format(time.RFC3339Nano), "distinctId": email,
		"traits": map[string]any{"email": email, "name": name, "phone": phone},
	})
	s.report(map[string]any{"name": "GreetError", "message": "cannot greet " + name + " at " + phone + " or " + email, "distinctId": email})
	s.settled()
	var person, incident string
	eventually(t, "the incident quotes the person", func() error {
		people, incidents := s.get(appPath + "/people?q=zephyrine")["data"].([]any), s.get(appPath + "/incidents?status=all")["data"].([]any)
		if len(people) != 1 || len(incidents) != 1 || !strings.Contains(fmt.Sprint(incidents[0]), name) {
			return fmt.Errorf("%v, %v", people, incidents)
		}
		person, incident = people[0].(map[string]any)["id"].(string), incidents[0].(map[string]any)["id"].(string)
		return nil
	})
	if removed := s.erase(t, person)["removed"].(map[string]any); removed["texts"] != 1.0 {
		t.Errorf("removed: %v", removed)
	}
	for _, path := range []string{"/incidents?status=all", "/incidents/" + incident, "/alerts"} {
		if got := s.call("GET", appPath+path, s.boot.Token, nil, nil); got.status != 200 || len(shownIn(got.body)) > 0 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	title := s.get(appPath + "/incidents/" + incident)["title"].(string)
	if !strings.HasPrefix(title, "News — new issue: GreetError: cannot greet [erased] at +***") {
		t.Errorf("the title is %q", title)
	}
	eventuallyFiles(t, "no file but those of the log holds a planted text", func() error {
		for _, file := range filesWith(t, dir) {
			if !strings.HasPrefix(file, filepath.Join(dir, "log")) {
				return fmt.Errorf("%s does", file)
			}
		}
		return nil
	})
}
