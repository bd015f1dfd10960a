//go:build !norevenue

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestACustomerOfBillingAloneIsErased erases a person that never sent an event, by the id that the billing system uses,
// and bills the id again.
func TestACustomerOfBillingAloneIsErased(t *testing.T) {
	s := startServer(t, t.TempDir(), map[string]string{"SVC_ERASURE_DELAY": "1s"})
	bill := func(number int) {
		t.Helper()
		item := `[{"type":"subscription","id":"%d","ts":"%s","subscriptionId":"sub-%d","customerId":"only-billed","plan":"Team","status":"active","currency":"EUR","amountCents":1000,"interval":"month"}]`
		if status, answer := s.sendBilling(fmt.Sprintf(item, number, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), number)); status != 202 {
			t.Fatalf("billing: %d %v", status, answer)
		}
		eventually(t, "the item is counted", func() error {
			if totals, _ := s.billed(t); !strings.Contains(totals, fmt.Sprint("mrrCents:", 1000*number)) {
				return fmt.Errorf("the totals are %s", totals)
			}
			return nil
		})
	}
	const path = appPath + "/people/only-billed"
	if got := s.call("DELETE", path, s.boot.Token, nil, nil); got.status != 404 {
		t.Fatalf("somebody who is nowhere: %d %s", got.status, got.body)
	}
	bill(1)
	s.erase(t, "only-billed")
	if _, customers := s.billed(t); len(customers) != 1 || !strings.HasPrefix(customers[0], "erased_") {
		t.Errorf("after the erasure the customers are %q", customers)
	}
	if got := s.call("DELETE", path, s.boot.Token, nil, nil); got.status != 404 {
		t.Errorf("erased again: %d %s", got.status, got.body)
	}
	bill(2)
	if _, customers := s.billed(t); len(customers) != 2 || customers[1] != "only-billed" {
		t.Errorf("billed again, the customers are %q", customers)
	}
	eventually(t, "the rows are rewritten", func() error {
		rows := s.get(appPath + "/erasures")["data"].([]any)
		if len(rows) != 1 || rows[0].(map[string]any)["status"] == "hidden" {
			return fmt.Errorf("%v", rows)
		}
		return nil
	})
	s.erase(t, "only-billed") // the new customer of the id
}
