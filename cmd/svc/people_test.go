package main

import (
	"fmt"
	"testing"
	"time"
)

// TestPeopleAreFoundThroughTheLog sends identities through ingest, log and store: an anonymous id, an identify and an
// alias become one person, whose ids all find the same row.
func TestPeopleAreFoundThroughTheLog(t *testing.T) {
	s := startServerWith(t, t.TempDir(), nil, nil)
	at := time.Now().Add(-time.Hour)
	send := func(kind, id, distinctID, anonymousID string, more map[string]any) {
		t.Helper()
		at = at.Add(time.Second)
		it := item(id, distinctID, "/", at)
		it["type"] = kind
		delete(it, "name")
		if anonymousID != "" {
			it["anonymousId"] = anonymousID
		}
		if distinctID == "" {
			delete(it, "distinctId")
		}
		for name, value := range more {
			it[name] = value
		}
		s.send(it)
	}
	send("alias", "p4", "ada", "", map[string]any{"previousId": "countess"})
	send("page", "p1", "", "device", nil)
	send("identify", "p2", "ada", "device", map[string]any{"traits": map[string]any{"email": "ada@example.com", "plan": "pro"}})
	send("page", "p3", "countess", "", nil)
	send("page", "p5", "somebody", "", nil)
	s.settled()
	found := func(s *server) error {
		rows := s.get(appPath + "/people?q=ada%40EXAMPLE")["data"].([]any)
		if len(rows) != 1 {
			return fmt.Errorf("%d people", len(rows))
		}
		row := rows[0].(map[string]any)
		if fmt.Sprint(row["distinctIds"]) != "[ada countess device]" || row["events"] != 4.0 || row["pageviews"] != 2.0 || row["distinctId"] != "ada" {
			return fmt.Errorf("%v", row)
		}
		if all := s.get(appPath + "/people")["data"].([]any); len(all) != 2 {
			return fmt.Errorf("%d people in all", len(all))
		}
		if entries := s.get(appPath + "/people/" + row["id"].(string) + "/timeline")["data"].([]any); len(entries) != 4 {
			return fmt.Errorf("%d entries", len(entries))
		}
		events := s.get(appPath + "/events?personId=" + row["id"].(string))["data"].([]any)
		if len(events) != 4 {
			return fmt.Errorf("%d events", len(events))
		}
		for _, event := range events {
			if event.(map[string]any)["personId"] != row["id"] {
				return fmt.Errorf("the event %v", event)
			}
		}
		return nil
	}
	eventually(t, "the person is whole", func() error { return found(s) })
}
