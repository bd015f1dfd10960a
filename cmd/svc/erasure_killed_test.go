package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestAnErasureGoesOnAfterAKill erases people while a server is killed at each step: right after the answer, during the
// removal of the first rows, and between the two removal passes. No person returns, everything is removed once, and
// only the numbers of the other people remain.
func TestAnErasureGoesOnAfterAKill(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"SVC_ERASURE_DELAY": "1s"}
	s := startChild(t, dir, env)
	at := time.Now().Add(-time.Hour)
	const people, events = 4, 25
	for person := range people {
		items := []map[string]any{}
		for n := range events {
			items = append(items, item(fmt.Sprintf("k-%d-%d", person, n), fmt.Sprintf("person-%d", person), "/a", at.Add(time.Duration(n)*time.Second)))
		}
		s.send(items...)
	}
	counted := func(want int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d page views are counted", want), func() error {
			names := s.get(appPath + "/events/names?range=24h")["data"].([]any)
			if len(names) != 1 || names[0].(map[string]any)["count"] != float64(want) {
				return fmt.Errorf("%v", names)
			}
			return nil
		})
	}
	counted(people * events)
	ids := map[string]string{}
	for _, row := range s.get(appPath + "/people")["data"].([]any) {
		ids[row.(map[string]any)["distinctId"].(string)] = row.(map[string]any)["id"].(string)
	}
	gone := func() {
		t.Helper()
		if rows := s.get(appPath + "/people")["data"].([]any); len(rows) != 1 || rows[0].(map[string]any)["distinctId"] != "person-0" {
			t.Errorf("after a kill the people are %v", rows)
		}
	}
	for person := 1; person < people; person++ {
		s.erase(t, ids[fmt.Sprintf("person-%d", person)])
	}
	for _, step := range []string{"hidden", "removed", "complete"} {
		eventually(t, "an erasure is "+step, func() error {
			rows := s.get(appPath + "/erasures")["data"].([]any)
			for _, row := range rows {
				if row.(map[string]any)["status"] == step {
					return nil
				}
			}
			if step != "complete" && len(rows) == people-1 {
				for _, row := range rows {
					if row.(map[string]any)["status"] == "complete" {
						return nil // the erasure ended before the look-up
					}
				}
			}
			return fmt.Errorf("%v", rows)
		})
		s.stopped()
		s = startChild(t, dir, env)
		gone()
	}
	eventually(t, "all are complete", func() error {
		for _, row := range s.get(appPath + "/erasures")["data"].([]any) {
			one := row.(map[string]any)
			if removed := one["removed"].(map[string]any); one["status"] != "complete" || removed["events"] != float64(events) {
				return fmt.Errorf("%v", one)
			}
		}
		return nil
	})
	gone()
	counted(events)
	if overview := fmt.Sprint(s.get(appPath + "/analytics/overview?range=24h")); !strings.Contains(overview, fmt.Sprintf("pageviews:%d", events)) || !strings.Contains(overview, "visitors:1") {
		t.Errorf("the overview is %s", overview)
	}
}
