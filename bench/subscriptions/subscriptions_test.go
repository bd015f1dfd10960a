package subscriptions

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

// TestBillingIsCountedByItsDefinitions counts a history whose figures were computed by hand.
func TestBillingIsCountedByItsDefinitions(t *testing.T) {
	day := func(n int) int64 { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC).UnixMilli() }
	sub := func(at int, subject, customer, status, currency string, cents int64) Row {
		return Row{Kind: "subscription", Subject: subject, ID: fmt.Sprint(subject, at), Ts: day(at), Customer: customer, Plan: "Solo", Status: status, Currency: currency, Cents: cents}
	}
	trial := sub(3, "b", "ada", "trialing", Reported, 200)
	trial.TrialEnd, trial.Ended = day(10), day(20)
	coupon := sub(4, "c", "bob", "active", Rated, 1001)
	coupon.ChangeMs, coupon.ChangeCents = []int64{day(12)}, []int64{2002}
	rows := []Row{
		trial, coupon, sub(2, "a", "ada", "active", Reported, 1000), sub(15, "a", "ada", "canceled", Reported, 0), sub(16, "c", "bob", "paused", Rated, 0), sub(5, "d", "eve", "active", Unrated, 700),
		{Kind: "rate", Subject: Rated, ID: "r1", Ts: day(1), Target: Reported, Rate: 1_500_000_000_000},
		{Kind: "rate", Subject: Rated, ID: "r2", Ts: day(12), Target: Reported, Rate: 2_000_000_000_000},
		{Kind: "payment", Subject: "p", ID: "p", Ts: day(11), Currency: Rated, Cents: 3},
		{Kind: "refund", Subject: "q", ID: "q", Ts: day(13), Currency: Reported, Cents: 4},
	}
	totals, moves := NewBook(rows).Count(day(4), day(18))
	want := Totals{
		"mrrCents": 200, "arrCents": 2400, "arpaCents": 100, "activeSubscriptions": 2, "trialing": 0, "newCents": 1502, "expansionCents": 200 + 2002, "contractionCents": 1000, "churnCents": 3504,
		"churnedSubscriptions": 2, "newSubscriptions": 3, "paymentsCents": 5, "refundsCents": 4, "netNewMrrCents": 1502 + 2202 - 4504, "mrr " + Reported: 200, "mrr " + Unrated: 700, "payments " + Rated: 3,
	}
	if !maps.Equal(totals, want) {
		t.Errorf("the figures are\n%v, want\n%v", totals, want)
	}
	text := ""
	for _, m := range moves {
		cents := "unknown"
		if m.Cents != nil {
			cents = fmt.Sprint(*m.Cents)
		}
		text += fmt.Sprintln(time.UnixMilli(m.Ts).UTC().Day(), m.Subscription, m.Kind, cents, m.Original)
	}
	if want := "16 c churn -3504 -2002\n15 a contraction -1000 -1000\n12 c expansion 2002 1001\n10 b expansion 200 200\n5 d new unknown 700\n4 c new 1502 1001\n"; text != want {
		t.Errorf("the movements are\n%s, want\n%s", text, want)
	}
}

// TestBillingItemsHaveInstantsOfTheirOwn checks that no changes of two items happen at the same instant, because their
// order would be undefined.
func TestBillingItemsHaveInstantsOfTheirOwn(t *testing.T) {
	b := NewHistory(7)
	names, instants := map[string]bool{}, map[int64]bool{}
	own := func(n int, at int64) {
		if at != 0 && instants[at] {
			t.Fatalf("item %d has the instant %d of another one", n, at)
		}
		instants[at] = true
	}
	for n := range 5000 {
		_, row := b.Item(n)
		if row.Kind == "subscription" {
			own(n, row.Ts)
			own(n, row.TrialEnd)
			own(n, row.Ended)
			for _, change := range row.ChangeMs {
				own(n, change)
			}
		}
		if known := names[row.name()]; known && row.Kind != "rate" {
			t.Fatalf("item %d has the name of another one: %s", n, row.name())
		}
		names[row.name()] = true
	}
}
