package revenue_test

import (
	"fmt"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/revenue"
)

// billedSubscriptions returns the items of some subscriptions over a year: each begins, changes twice and pays monthly.
// A fifth of them end.
func billedSubscriptions(count int, begin time.Time) []revenue.BillingRow {
	rows := make([]revenue.BillingRow, 0, 16*count)
	for n := range count {
		id, who := fmt.Sprint("sub_", n), fmt.Sprint("person-", n)
		at := begin.Add(time.Duration(n) * 200 * time.Second)
		add := func(kind revenue.BillingKind, subject, item string, at time.Time, status revenue.SubscriptionStatus, cents int64) {
			rows = append(rows, revenue.BillingRow{Kind: kind, Subject: subject, ID: item, Ts: at, ReceivedAt: at, Customer: who, Plan: "Team", Status: status, Currency: "USD", Cents: cents})
		}
		add(revenue.BillingSubscription, id, "1", at, revenue.SubscriptionActive, 1900)
		add(revenue.BillingSubscription, id, "2", at.AddDate(0, 2, 0), revenue.SubscriptionActive, 3800)
		last := revenue.SubscriptionActive
		if n%5 == 0 {
			last = revenue.SubscriptionCanceled
		}
		add(revenue.BillingSubscription, id, "3", at.AddDate(0, 4, 0), last, 2900)
		for month := range 5 {
			payment := fmt.Sprint("pay_", n, "_", month)
			add(revenue.BillingPayment, payment, payment, at.AddDate(0, month, 0), "", 1900)
		}
	}
	return rows
}

// BenchmarkLedger makes the ledger of 100,000 subscriptions, as for the first answer after a change.
func BenchmarkLedger(b *testing.B) {
	rows := billedSubscriptions(100_000, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for b.Loop() {
		revenue.NewLedger(rows, "")
	}
}

// BenchmarkRevenueOverview queries a ledger of 100,000 subscriptions for a year, as for every other answer.
func BenchmarkRevenueOverview(b *testing.B) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ledger := revenue.NewLedger(billedSubscriptions(100_000, begin), "")
	window := domain.Window{From: begin, To: begin.AddDate(1, 0, 0), Interval: domain.Month, Location: time.UTC}
	for b.Loop() {
		ledger.Overview(window, window.To)
	}
}
