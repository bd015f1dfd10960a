package main

import (
	"fmt"
	"testing"
	"time"
)

// stored waits until production has so many events.
func (s *server) stored(want int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%d events are stored", want), func() error {
		if got := len(s.feed()); got != want {
			return fmt.Errorf("%d are", got)
		}
		return nil
	})
}

// TestEveryMonthOfTheLongestRetention sends ten years in one request: each month is a part of
// its own in the store.
func TestEveryMonthOfTheLongestRetention(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	if got := s.call("PATCH", appPath, s.boot.Token, []byte(`{"retentionDays":3650}`), nil); got.status != 200 {
		t.Fatalf("setting the retention: %d %s", got.status, got.body)
	}
	const months = 119
	var items []map[string]any
	for n := range months {
		items = append(items, item(fmt.Sprintf("month-%d", n), "somebody", "/", time.Now().AddDate(0, -n, 0)))
	}
	s.send(items...)
	s.settled()
	s.stored(months)
}

// TestAThousandPartitions has the partitions of a large log bring events at once, and once more
// before a restart.
func TestAThousandPartitions(t *testing.T) {
	dir, env := t.TempDir(), map[string]string{"SVC_PARTITIONS": "1024"}
	sent := 0
	publish := func(s *server) {
		items := make([]map[string]any, 1000)
		for n := range items {
			items[n] = item(fmt.Sprintf("event-%d", sent), fmt.Sprintf("visitor-%d", sent), "/", time.Now())
			sent++
		}
		s.send(items...)
	}
	s := startServer(t, dir, env)
	publish(s)
	s.settled()
	publish(s)
	s.stopped()
	again := startServer(t, dir, env)
	again.settled()
	again.stored(sent)
}
