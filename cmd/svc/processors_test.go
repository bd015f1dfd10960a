package main

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestLongWorkSharesTheProcessors occupies all processors of a node that long work may use. A long request waits and
// accepted items are not folded, while a short request is answered.
func TestLongWorkSharesTheProcessors(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	var items []map[string]any
	for n := range 500 {
		items = append(items, map[string]any{"type": "event", "name": "long", "distinctId": "u1", "id": fmt.Sprint("long", n)})
	}
	body, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		t.Fatal(err)
	}
	for range s.node.processors.Count() {
		if err := s.node.processors.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	answered := make(chan answer, 1)
	go func() {
		answered <- s.call("POST", "/api/v1/batch", s.boot.Keys["production"].Secret, body, nil)
	}()
	s.send(map[string]any{"type": "event", "name": "short", "distinctId": "u2", "id": "short"})
	select {
	case got := <-answered:
		t.Errorf("the long request did not wait: %d %s", got.status, got.body)
	default:
	}
	if rows := s.feed(); len(rows) > 0 {
		t.Errorf("folded without a processor: %v", rows)
	}
	for range s.node.processors.Count() {
		s.node.processors.Give()
	}
	if got := <-answered; got.status != 202 {
		t.Errorf("%d %s", got.status, got.body)
	}
	s.settled()
	if rows := s.get(appPath + "/events/names?includeBots=true"); len(rows["data"].([]any)) != 2 {
		t.Errorf("names after that: %v", rows)
	}
}
