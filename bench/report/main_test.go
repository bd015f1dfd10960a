package main

import (
	"strings"
	"testing"
	"time"

	"svc/bench/harness"
)

func TestReplaceKeepsTheRest(t *testing.T) {
	page := "top\n" + beginMark + "\nold\n" + endMark + "\nbottom\n"
	got, err := replace(page, "new\n")
	if err != nil || got != "top\n"+beginMark+"\n\nnew\n"+endMark+"\nbottom\n" {
		t.Errorf("%q, %v", got, err)
	}
	again, err := replace(got, "new\n")
	if err != nil || again != got {
		t.Errorf("the second time differs: %q, %v", again, err)
	}
	if _, err := replace("no marks", "new"); err == nil {
		t.Error("a page without marks was taken")
	}
}

func TestNewestKeepsOnePerScenario(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	got := newest([]harness.Result{
		{Scenario: "ingest", Date: day(1)},
		{Scenario: "crash", Date: day(2)},
		{Scenario: "ingest", Date: day(3), Pinned: true},
		{Scenario: "ingest", Date: day(4)},
	})
	if len(got) != 3 || got[0].Scenario != "crash" || !got[1].Pinned || got[2].Date != day(4) {
		t.Errorf("%+v", got)
	}
}

func TestTablesNameWhatWasMissed(t *testing.T) {
	text := tables([]harness.Result{{
		Scenario: "ingest", Bottleneck: "the disk",
		Rows:       []harness.Measurement{{Name: "single", Kind: harness.KindService, EventsPerSecond: 12345, Latency: &harness.Spread{P50: 1.5}}},
		Ratios:     []harness.Ratio{harness.AtLeast("G1", "rate", 0.5, 0.65)},
		Violations: []string{"one event is missing"},
	}})
	for _, part := range []string{"| single | service | 12345 |  | 1.5 |", "| G1 | rate | 0.5 | ≥ 0.65 | no |", "one event is missing", "the disk"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}
