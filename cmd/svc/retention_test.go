package main

import (
	"fmt"
	"testing"
	"time"
)

// TestLoweringTheRetentionHides requests the remaining data right after a change of the retention: in the feed, in
// numbers that were counted before, and of errors.
func TestLoweringTheRetentionHides(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	now := time.Now()
	var items []map[string]any
	for n := range 20 {
		items = append(items, item(fmt.Sprint("e", n), fmt.Sprint("u", n), "/", now.AddDate(0, 0, -n)))
	}
	s.send(items...)
	s.settled()
	count := func() string {
		overview := s.get(appPath + "/analytics/overview?range=30d")
		names := s.get(appPath + "/events/names?range=30d")["data"].([]any)
		return fmt.Sprint(len(s.feed()), overview["pageviews"], overview["visitors"], names[0].(map[string]any)["count"])
	}
	if got := count(); got != "20 20 20 20" {
		t.Fatalf("counted %s before", got)
	}
	got := s.call("PATCH", appPath, s.boot.Token, []byte(`{"retentionDays":9}`), nil)
	if got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := count(); got != "10 10 10 10" {
		t.Errorf("the next read counted %s, want today and nine days", got)
	}
}
