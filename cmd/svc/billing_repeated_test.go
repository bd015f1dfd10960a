//go:build !norevenue

package main

import (
	"fmt"
	"strings"
	"testing"

	"svc/domain/ingest"
)

// TestRepeatedBillingItemsAreDuplicates (F6) sends billing items again: in the same request, in another one, after a restart and after
// a move. A rate that changes is no repetition, also if it changes back.
func TestRepeatedBillingItemsAreDuplicates(t *testing.T) {
	env := watched()
	env["SVC_CLICKHOUSE_DSN"] = "http://" + startStore(t) + "/ http://" + startStore(t) + "/"
	dir := t.TempDir()
	b := &teller{server: startServer(t, dir, env)}
	rate := func(rate string) string {
		return `{"type":"rate","currency":"EUR","to":"USD","day":"2026-01-01","rate":"` + rate + `"}`
	}
	const others = `
		{"type":"subscription","id":"1","ts":"2026-03-01T00:00:00Z","subscriptionId":"a","customerId":"ada","plan":"Team","status":"active","currency":"USD","amountCents":1000,"interval":"month"},
		{"type":"subscription","ts":"2026-04-01T00:00:00Z","subscriptionId":"a","customerId":"ada","plan":"Team","status":"canceled","currency":"USD"},
		{"type":"payment","ts":"2026-03-01T00:00:00Z","paymentId":"same","customerId":"ada","amountCents":1000,"currency":"USD"},
		{"type":"refund","ts":"2026-03-05T00:00:00Z","refundId":"same","customerId":"ada","amountCents":500,"currency":"USD"}`
	all := []string{rate("1.10"), others}
	move := func(to int) func() {
		return func() {
			if _, err := b.move(to); err != nil {
				t.Fatal(err)
			}
		}
	}
	stored, duplicates := 0, 0
	for _, c := range []struct {
		name               string
		before             func()
		items              []string
		stored, duplicates int
	}{
		{"all twice in one request", nil, append(all, all...), 5, 5},
		{"all again", nil, all, 0, 5},
		{"the rate changes", nil, []string{rate("1.20")}, 1, 0},
		{"the rate changes back", nil, []string{rate("1.10")}, 1, 0},
		{"after a restart", func() {
			b.stopped()
			b.server = startServer(t, dir, env)
		}, all, 0, 5},
		{"after a move", move(1), all, 0, 5},
		{"a new item after the move", nil, []string{strings.ReplaceAll(others, "same", "other")}, 2, 2},
		{"after a move back", move(0), []string{rate("1.10"), strings.ReplaceAll(others, "same", "other"), others}, 0, 9},
	} {
		if c.before != nil {
			c.before()
		}
		if status, answer := b.sendBilling("[" + strings.Join(c.items, ",") + "]"); status != 202 || answer["accepted"] != float64(c.stored+c.duplicates) {
			t.Fatalf("%s: sending answers %d: %v", c.name, status, answer)
		}
		stored, duplicates = stored+c.stored, duplicates+c.duplicates
		eventually(t, c.name+": the usage has them", func() error {
			got := b.usage()
			if got[fate{ingest.SignalEvents, ingest.FateStored}] != stored || got[fate{ingest.SignalEvents, ingest.FateDuplicate}] != duplicates {
				return fmt.Errorf("%v, want %d stored and %d repeated", got, stored, duplicates)
			}
			return nil
		})
	}
	totals := b.get(revenuePath + "/overview?range=custom:2026-02-01..2026-06-30")["totals"].(map[string]any)
	if totals["paymentsCents"] != 2000.0 || totals["refundsCents"] != 1000.0 {
		t.Errorf("the overview has %v", totals)
	}
}
