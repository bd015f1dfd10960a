package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// TestAnIDBelongsToItsVisitor sends items of many visitors, issues and series with one id. It sends everything once
// more, also after a restart: an id counts as repeated only for the same sender.
func TestAnIDBelongsToItsVisitor(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	const visitors = 40
	var items []map[string]any
	for n := range visitors {
		visitor := fmt.Sprint("visitor ", n)
		items = append(items,
			map[string]any{"type": "event", "name": "order", "id": "same", "distinctId": visitor},
			map[string]any{"type": "error", "name": "Broken", "message": "It broke.", "id": "same", "distinctId": visitor},
			map[string]any{"type": "metric", "name": "orders", "kind": "counter", "value": 1, "id": "same", "labels": map[string]any{"plan": fmt.Sprint(n % 10)}},
		)
	}
	for n := range 10 {
		items = append(items, map[string]any{"type": "error", "name": fmt.Sprint("Failure", n), "id": "same", "distinctId": "visitor 1", "culprit": fmt.Sprint("c", n)})
	}
	check := func() {
		t.Helper()
		s.settled()
		if events := s.feed(); len(events) != visitors {
			t.Errorf("%d events of %d visitors are stored", len(events), visitors)
		}
		issues, occurrences := 0, 0.0
		for _, row := range s.get(appPath + "/errors?limit=100")["data"].([]any) {
			issues, occurrences = issues+1, occurrences+row.(map[string]any)["eventCount"].(float64)
		}
		if issues != 11 || occurrences != visitors+10 {
			t.Errorf("%d issues with %v occurrences, want 11 with %d", issues, occurrences, visitors+10)
		}
		s.becomes("orders", "sum", 10)
	}
	s.send(items...)
	check()
	s.send(items...)
	check()
	s.stopped()
	s = startServer(t, dir, nil)
	s.send(items...)
	check()
}

// TestItemsWithoutIDCountOnce sends one request three times, like a client that loses the answers, with another sending
// time, and the third time after a restart. Equal items count once; items that differ in anything count separately.
func TestItemsWithoutIDCountOnce(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	at := time.Now().Add(-30 * time.Minute).UTC().Format(time.RFC3339Nano)
	var items []map[string]any
	for n := range 4 {
		items = append(items, map[string]any{"type": "event", "name": "order", "distinctId": "u1", "ts": at, "value": 10 * (n + 1)})
	}
	items = append(items,
		map[string]any{"type": "error", "name": "Broken", "ts": at},
		map[string]any{"type": "metric", "name": "orders", "kind": "counter", "value": 3, "ts": at},
	)
	for attempt := range 3 {
		body, err := json.Marshal(map[string]any{"items": items, "sentAt": time.Now().Add(-time.Duration(attempt) * time.Second).Format(time.RFC3339Nano)})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.call("POST", "/api/v1/batch", s.boot.Keys["production"].Secret, body, nil); got.status != 202 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		s.settled()
		if attempt == 1 {
			s.stopped()
			s = startServer(t, dir, nil)
		}
	}
	sum := 0.0
	events := s.feed()
	for _, event := range events {
		sum += event["value"].(float64)
	}
	if len(events) != 4 || sum != 100 {
		t.Errorf("%d orders of %v, want 4 of 100", len(events), sum)
	}
	issues := s.get(appPath + "/errors")["data"].([]any)
	if len(issues) != 1 || issues[0].(map[string]any)["eventCount"] != 1.0 {
		t.Errorf("issues %v, want one occurrence", issues)
	}
	s.becomes("orders", "sum", 3)
}
