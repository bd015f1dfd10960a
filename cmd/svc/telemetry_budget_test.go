package main

import (
	"fmt"
	"strings"
	"testing"

	"svc/domain/ingest"
)

// TestWhatClientsDroppedIsCounted sends the client report of a Sentry SDK. The unsent errors are counted as dropped by
// the client, with its reasons; unsupported categories are left out.
func TestWhatClientsDroppedIsCounted(t *testing.T) {
	b := newTeller(startServer(t, t.TempDir(), nil), 6)
	report := `{"timestamp":1763600000,"discarded_events":[{"reason":"sample_rate","category":"error","quantity":7},{"reason":"queue_overflow","category":"default","quantity":2},` +
		`{"reason":"before_send","category":"transaction","quantity":50},{"reason":"network_error","category":"error","quantity":-4},` +
		`{"reason":"nobody says so","category":"error","quantity":1},{"reason":"queue_overflow","category":"session","quantity":3}]}`
	for range 2 {
		if got := b.envelope([]byte("{}\n{\"type\":\"client_report\"}\n" + report)); got.status != 200 {
			t.Fatalf("the report is answered %d: %s", got.status, got.body)
		}
		b.sure[fate{ingest.SignalErrors, ingest.FateClientSide}] += 10
		b.sure[fate{ingest.SignalMetrics, ingest.FateClientSide}] += 3
	}
	b.check()
	days := b.get(telemetryPath)["usage"].([]any)
	signals := days[len(days)-1].(map[string]any)["signals"].(map[string]any)
	for signal, want := range map[string]string{
		"errors":       "[map[category:error items:14 reason:sample_rate] map[category:default items:4 reason:queue_overflow] map[category:error items:2 reason:other]]",
		"metricPoints": "[map[category:session items:6 reason:queue_overflow]]",
		"events":       "[]",
	} {
		if got := fmt.Sprint(signals[signal].(map[string]any)["clientSide"]); got != want {
			t.Errorf("clients did not send %s %s, not %s", signal, got, want)
		}
	}
}

// TestBudgets uses a budget up: the alerts are created once, further items are rejected, and a higher budget admits
// them again.
func TestBudgets(t *testing.T) {
	b := newTeller(startServer(t, t.TempDir(), nil), 3)
	event := func(n int) map[string]any {
		return map[string]any{"type": "event", "id": fmt.Sprint("budget-", n), "name": "order", "distinctId": "u", "properties": map[string]any{"short": 1, "long": strings.Repeat("x", 3000)}}
	}
	b.policy(`{"events":{"monthlyBudget":4},"overBudget":"drop","alerts":{"thresholds":[50,100]}}`)
	b.send(event(1), event(2), event(3), event(4), event(5))
	b.settled()
	eventually(t, "the budget is used up", func() error {
		got := b.get(telemetryPath)
		budget := got["budgets"].([]any)[0].(map[string]any)
		if alerts := got["budgetAlerts"].([]any); budget["used"] != 5.0 || budget["overSince"] == nil || len(alerts) != 1 || alerts[0].(map[string]any)["threshold"] != 100.0 {
			return fmt.Errorf("%v %v", budget, alerts)
		}
		return nil
	})
	body := []byte(`{"name":"order","distinctId":"u"}`)
	if status, answer := b.post("/api/v1/events", b.boot.Keys["production"].Secret, body); status != 400 || !strings.Contains(string(answer), "over_budget") {
		t.Errorf("over the budget: %d %s", status, answer)
	}
	b.policy(`{"events":{"monthlyBudget":400}}`)
	eventually(t, "a higher budget lets events in", func() error {
		if status, answer := b.post("/api/v1/events", b.boot.Keys["production"].Secret, body); status != 202 {
			return fmt.Errorf("%d %s", status, answer)
		}
		return nil
	})
	for _, row := range b.feed() {
		if properties, _ := row["properties"].(map[string]any); row["id"] == "budget-1" && (properties["short"] != 1.0 || len(properties) != 1) {
			t.Errorf("an event has the properties %v", properties)
		}
	}
	if got := b.usage()[fate{ingest.SignalEvents, ingest.FateBudget}]; got < 1 {
		t.Errorf("%d events are counted as over the budget", got)
	}
}
