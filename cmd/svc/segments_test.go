package main

import (
	"fmt"
	"testing"
	"time"
)

// TestAFlagFollowsASegment lets a flag serve exactly the people of a segment, including new ones. The segment cannot be
// deleted while the flag uses it.
func TestAFlagFollowsASegment(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	at := time.Now().Add(-time.Hour)
	s.send(item("s-1", "ada", "/", at), item("s-2", "bob", "/", at))
	s.settled()
	segment := s.call("POST", appPath+"/segments", s.boot.Token, []byte(`{"name":"Buyers","definition":{"all":[{"field":"did_event","op":"gte","value":1,"event":{"name":"order"}}]}}`), nil)
	if segment.status != 201 && segment.status != 200 {
		t.Fatalf("making a segment: %d %s", segment.status, segment.body)
	}
	id := object(t, segment.body)["id"].(string)
	s.putFlag("thanks", fmt.Sprintf(`{"name":"Thanks","kind":"boolean","rules":[{"id":"buyers","conditions":[{"field":"segment","op":"eq","value":%q}],"variant":"on","rolloutPercent":100}],
		"environments":{"production":{"enabled":true,"rolloutPercent":0}}}`, id))
	served := func(person string, want bool) {
		t.Helper()
		eventually(t, fmt.Sprintf("%s gets %t", person, want), func() error {
			flag := s.evaluateFlags(`{"distinctId":"` + person + `"}`).Flags["thanks"]
			if flag.Reason == "person_unknown" || flag.Enabled != want {
				return fmt.Errorf("%+v", flag)
			}
			return nil
		})
	}
	served("ada", false)
	served("nobody", false)
	s.send(map[string]any{"type": "event", "name": "order", "id": "s-3", "distinctId": "ada"})
	s.settled()
	served("ada", true)
	served("bob", false)
	path := appPath + "/segments/" + id
	if got := s.call("DELETE", path, s.boot.Token, nil, nil); got.status != 409 || object(t, got.body)["reason"] != "in_use" {
		t.Errorf("deleting a segment that a flag asks for: %d %s", got.status, got.body)
	}
	if status, text, _ := s.sendFlags("DELETE", flagsPath+"/thanks", s.boot.Token, ""); status != 200 {
		t.Fatalf("archiving the flag: %d %s", status, text)
	}
	if got := s.call("DELETE", path, s.boot.Token, nil, nil); got.status != 204 {
		t.Errorf("deleting a segment that nothing asks for: %d %s", got.status, got.body)
	}
}
