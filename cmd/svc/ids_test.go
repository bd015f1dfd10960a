package main

import (
	"fmt"
	"testing"
)

// TestAnIDBelongsToItsVisitor sends items of many visitors, issues and series with one id, and
// everything once more, also after a restart: an id is repeated by the same sender alone.
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

