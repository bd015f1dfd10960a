package demo

import (
	"encoding/json"
	"testing"
	"time"

	"svc/domain/event"
)

// TestADemoIsTheSameEveryTime makes the demo twice, and checks that it has enough content.
func TestADemoIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	kinds, ids := map[any]int{}, map[any]bool{}
	for number := range parts {
		part, known := Of(number, until)
		again, _ := Of(number, until)
		one, err := json.Marshal(part)
		if err != nil || !known {
			t.Fatal(known, err)
		}
		if two, _ := json.Marshal(again); string(one) != string(two) {
			t.Errorf("part %d differs from time to time", number)
		}
		for _, call := range part.Calls {
			if !call.Ingest || call.Path != "/api/v1/batch" {
				continue
			}
			items := call.Body.(map[string]any)["items"].([]Item)
			if len(items) > event.MaxBatchItems {
				t.Errorf("a batch has %d items", len(items))
			}
			for _, item := range items {
				if ids[item["id"]] {
					t.Fatalf("two items are %v", item["id"])
				}
				ids[item["id"]] = true
				kinds[item["type"]]++
				if at, err := time.Parse(time.RFC3339Nano, item["ts"].(string)); err != nil || at.After(until) || until.Sub(at) > days*24*time.Hour {
					t.Fatalf("%v is of %v", item["id"], item["ts"])
				}
			}
		}
	}
	if _, known := Of(parts, until); known {
		t.Error("there is a part after the last one")
	}
	for kind, least := range map[string]int{"page": 15_000, "event": 2_000, "identify": 400, "error": 700, "metric": 10_000, "vital": 2_000} {
		if kinds[kind] < least {
			t.Errorf("%d items are of type %s; %d were expected", kinds[kind], kind, least)
		}
	}
}
