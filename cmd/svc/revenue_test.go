//go:build !norevenue

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
)

// sendBilling sends billing items with the secret key and returns the status and the answer.
func (s *server) sendBilling(body string) (int, map[string]any) {
	s.t.Helper()
	status, text, _ := s.sendFlags("POST", "/api/v1/revenue", s.boot.Keys["production"].Secret, body)
	return status, object(s.t, text)
}

const revenuePath = "/api/v1/apps/acme/web/revenue"

// TestRevenueFromABillingSystem follows billing items through a real node, a kill and a repetition of all of them, to
// the overview.
func TestRevenueFromABillingSystem(t *testing.T) {
	dir := t.TempDir()
	s := startChild(t, dir, nil)
	if got := s.get(revenuePath + "/overview"); got["hasConnectors"] != false {
		t.Errorf("without any item the overview says %v", got)
	}
	const items = `[
		{"type":"rate","currency":"eur","to":"USD","day":"2026-01-01","rate":"1.10"},
		{"type":"subscription","id":"1","ts":"2026-03-01T00:00:00Z","subscriptionId":"a","customerId":"ada","plan":"Team","status":"active","currency":"USD","amountCents":120000,"interval":"year"},
		{"type":"subscription","id":"2","ts":"2026-04-01T00:00:00Z","subscriptionId":"a","customerId":"ada","plan":"Team","status":"active","currency":"USD","amountCents":120000,"quantity":2,"interval":"year"},
		{"type":"subscription","id":"3","ts":"2026-03-10T00:00:00Z","subscriptionId":"b","customerId":"bob","plan":"Pro","status":"active","currency":"EUR","amountCents":1000,"discounts":[{"percentOff":50,"endsAt":"2026-04-10T00:00:00Z"}]},
		{"type":"subscription","id":"4","ts":"2026-05-01T00:00:00Z","subscriptionId":"b","customerId":"bob","plan":"Pro","status":"canceled","currency":"EUR"},
		{"type":"payment","ts":"2026-03-01T00:00:00Z","paymentId":"p1","customerId":"ada","amountCents":120000,"currency":"USD"},
		{"type":"refund","ts":"2026-03-05T00:00:00Z","refundId":"r1","customerId":"ada","amountCents":5000,"currency":"USD"}]`
	for range 2 {
		if status, answer := s.sendBilling(items); status != 202 || answer["accepted"] != 7.0 {
			t.Fatalf("sending answers %d: %v", status, answer)
		}
	}
	s.stopped() // kill -9
	s = startChild(t, dir, nil)
	if status, answer := s.sendBilling(items); status != 202 {
		t.Fatalf("sending again answers %d: %v", status, answer)
	}
	want := map[string]float64{
		"mrrCents": 20000, "arrCents": 240000, "activeSubscriptions": 1, "trialing": 0, "newCents": 10000 + 550, "expansionCents": 10000 + 550, "contractionCents": 0,
		"churnCents": 1100, "churnedSubscriptions": 1, "newSubscriptions": 2, "paymentsCents": 120000, "refundsCents": 5000, "netNewMrrCents": 20000, "arpaCents": 20000,
	}
	eventually(t, "the overview shows the items once", func() error {
		totals, _ := s.get(revenuePath + "/overview?range=custom:2026-02-01..2026-06-30")["totals"].(map[string]any)
		for name, value := range want {
			if totals[name] != value {
				return fmt.Errorf("%s is %v, want %v", name, totals[name], value)
			}
		}
		return nil
	})
	sum, rows := 0.0, s.get(revenuePath + "/movements?range=custom:2026-02-01..2026-06-30")["data"].([]any)
	for _, row := range rows {
		sum += row.(map[string]any)["cents"].(float64)
	}
	if len(rows) != 5 || sum != want["netNewMrrCents"] {
		t.Errorf("%d movements sum up to %v: %v", len(rows), sum, rows)
	}
	t.Run("people", func(t *testing.T) { revenueOfPeople(t, s) })
	t.Run("refusals", func(t *testing.T) { billingRefusals(t, s) })
	t.Run("rates", func(t *testing.T) { ratesOfTheConsole(t, s) })
}

// revenueOfPeople looks for people that pay, paid, and never did, as people, by stages and in segments.
func revenueOfPeople(t *testing.T, s *server) {
	s.send(map[string]any{"type": "identify", "distinctId": "ada"}, map[string]any{"type": "identify", "distinctId": "bob"}, map[string]any{"type": "identify", "distinctId": "eve"})
	want := map[string]string{"ada": "paying active 20000", "bob": "churned canceled 0", "eve": "signup none 0"}
	eventually(t, "people have their revenue", func() error {
		got := map[string]string{}
		for _, row := range s.get("/api/v1/apps/acme/web/people")["data"].([]any) {
			person := row.(map[string]any)
			id, _ := person["distinctId"].(string)
			if revenue, billed := person["revenue"].(map[string]any); billed {
				got[id] = fmt.Sprint(person["lifecycleStage"], " ", revenue["status"], " ", revenue["mrrCents"])
			}
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("people have %v, want %v", got, want)
		}
		return nil
	})
	for _, stage := range []string{"paying", "churned", "signup"} {
		if rows := s.get("/api/v1/apps/acme/web/people?stage=" + stage)["data"].([]any); len(rows) != 1 || rows[0].(map[string]any)["lifecycleStage"] != stage {
			t.Errorf("the stage %s has %v", stage, rows)
		}
	}
	for status, members := range map[string]float64{"active": 1, "canceled": 1, "none": 1, "trialing": 0} {
		answer := s.call("POST", "/api/v1/apps/acme/web/segments/preview", s.boot.Token, []byte(`{"definition":{"all":[{"field":"revenue.status","op":"eq","value":"`+status+`"}]}}`), nil)
		if got := object(t, answer.body); got["memberCount"] != members && got["count"] != members {
			t.Errorf("the segment of %s has %v", status, got)
		}
	}
}

// ratesOfTheConsole gives the rate of a currency that had none, with a connector that is removed again.
func ratesOfTheConsole(t *testing.T, s *server) {
	if status, answer := s.sendBilling(`{"type":"payment","ts":"2026-03-03T00:00:00Z","paymentId":"chf","customerId":"eve","amountCents":1000,"currency":"CHF"}`); status != 202 {
		t.Fatalf("sending answers %d: %v", status, answer)
	}
	paid := func(cents float64, converted bool) {
		t.Helper()
		eventually(t, "the payment is counted", func() error {
			got := s.get(revenuePath + "/overview?range=custom:2026-03-02..2026-03-04")
			others := got["otherCurrencies"].([]any)
			if len(others) == 1 && others[0].(map[string]any)["converted"] == converted && got["totals"].(map[string]any)["paymentsCents"] == cents {
				return nil
			}
			return fmt.Errorf("%v, %v", got["totals"], others)
		})
	}
	paid(0, false)
	session, path := s.seated("bo@acme.example", "admin"), "/apps/acme/web/billing/own"
	s.console(t, session, "PUT", path, `{"provider":"generic","rates":[{"currency":"CHF","to":"USD","day":"2026-03-01","rate":"1.5"},{"currency":"CHF","to":"USD","day":"2026-03-02","rate":"1.2"}]}`, 200)
	paid(1200, true)
	s.console(t, session, "DELETE", path, "", 200)
	paid(1200, true)
}

// billingRefusals sends items that are refused.
func billingRefusals(t *testing.T, s *server) {
	if status, text, _ := s.sendFlags("POST", "/api/v1/revenue", s.boot.Keys["production"].Public, `{"type":"payment"}`); status != 403 {
		t.Errorf("a public key gets %d: %s", status, text)
	}
	for body, code := range map[string]string{
		`{"type":"payment","paymentId":"x","amountCents":1.5,"currency":"USD"}`:                                                  "invalid_value",
		`{"type":"payment","amountCents":1,"currency":"USD"}`:                                                                    "missing_value",
		`{"type":"payment","paymentId":"x","amountCents":1,"currency":"dollars"}`:                                                "invalid_value",
		`{"type":"payment","paymentId":"x","amountCents":1e99,"currency":"USD"}`:                                                 "invalid_value",
		`{"type":"coupon","currency":"USD"}`:                                                                                     "unknown_type",
		`{"type":"rate","currency":"USD","to":"USD","rate":1,"day":"2026-01-01"}`:                                                "invalid_value",
		`{"type":"rate","currency":"EUR","to":"USD","rate":0,"day":"2026-01-01"}`:                                                "invalid_value",
		`{"type":"subscription","subscriptionId":"x","status":"active","currency":"USD"}`:                                        "missing_value",
		`{"type":"subscription","subscriptionId":"x","status":"asleep","currency":"USD"}`:                                        "invalid_value",
		`{"type":"subscription","subscriptionId":"x","status":"canceled","currency":"USD","ts":"2999-01-01T00:00:00Z"}`:          "invalid_value",
		`{"type":"subscription","subscriptionId":"x","status":"active","currency":"USD","amountCents":1,"interval":"fortnight"}`: "invalid_value",
		`{"type":"subscription","subscriptionId":7}`:                                                                             "invalid_type",
	} {
		status, answer := s.sendBilling(body)
		rejected, _ := answer["rejected"].([]any)
		if len(rejected) != 1 || rejected[0].(map[string]any)["code"] != code {
			text, _ := json.Marshal(answer)
			t.Errorf("%s answers %d: %s, want %s", body, status, text, code)
		}
	}
}
