package svc_test

import (
	"maps"
	"math/big"
	"slices"
	"time"

	"svc"
)

// recompute returns the figures of [from, to) by the definitions alone. It visits every instant at which something may
// change, and compares each subscription just before it and at it.
func recompute(rows []svc.BillingRow, from, to time.Time) (totals svc.RevenueTotals) {
	history, instants := map[string][]svc.BillingRow{}, map[int64]bool{}
	for _, row := range rows {
		if row.Kind == svc.BillingSubscription {
			history[row.Subject] = append(history[row.Subject], row)
			instants[row.Ts.UnixMilli()] = true
			instants[row.TrialEndMs], instants[row.EndMs] = true, true
			for _, change := range row.Changes {
				instants[change.AtMs] = true
			}
		}
	}
	carried := map[string]int64{}
	subscriptions := slices.Sorted(maps.Keys(history))
	for _, at := range slices.Sorted(maps.Keys(instants)) {
		if at == 0 || at >= to.UnixMilli() {
			continue
		}
		counts := at >= from.UnixMilli()
		for _, id := range subscriptions {
			_, before, _ := paysAt(history[id], at-1)
			_, after, currency := paysAt(history[id], at)
			if before == after {
				continue
			}
			customer := history[id][0].Customer
			paid, pays := customerPays(history, customer, at-1), customerPays(history, customer, at)
			value := convertPlainly(rows, after-before, currency, at)
			switch {
			case after == 0:
				value = -carried[id]
			case after < before && -value > carried[id]:
				value = -carried[id]
			}
			carried[id] += value
			if !counts {
				continue
			}
			switch {
			case before == 0 && !paid:
				totals.New += value
			case after > before:
				totals.Expansion += value
			case after == 0 && !pays:
				totals.Churn -= value
			default:
				totals.Contraction -= value
			}
			if before == 0 {
				totals.Began++
			}
			if after == 0 {
				totals.Ended++
			}
		}
	}
	end := to.UnixMilli() - 1
	customers := map[string]bool{}
	for id, rows := range history {
		status, cents, _ := paysAt(rows, end)
		if status == svc.SubscriptionTrialing {
			totals.Trialing++
		}
		if cents > 0 {
			totals.Active++
			customers[rows[0].Customer] = true
		}
		totals.MRR += carried[id]
	}
	totals.Customers = int64(len(customers))
	for _, row := range rows {
		if row.Ts.Before(from) || !row.Ts.Before(to) {
			continue
		}
		switch row.Kind {
		case svc.BillingPayment:
			totals.Payments += convertPlainly(rows, row.Cents, row.Currency, row.Ts.UnixMilli())
		case svc.BillingRefund:
			totals.Refunds += convertPlainly(rows, row.Cents, row.Currency, row.Ts.UnixMilli())
		case svc.BillingSubscription, svc.BillingRate:
		}
	}
	return totals
}

// paysAt returns the state of a subscription at an instant: that of its last item until then.
func paysAt(rows []svc.BillingRow, at int64) (svc.SubscriptionStatus, int64, string) {
	var last *svc.BillingRow
	for n := range rows {
		if row := &rows[n]; row.Ts.UnixMilli() <= at && (last == nil || row.Ts.After(last.Ts) || row.Ts.Equal(last.Ts) && (row.ReceivedAt.After(last.ReceivedAt) || row.ReceivedAt.Equal(last.ReceivedAt) && row.ID > last.ID)) {
			last = row
		}
	}
	if last == nil {
		return "", 0, ""
	}
	status, cents := last.Status, last.Cents
	if status == svc.SubscriptionTrialing && last.TrialEndMs > 0 && last.TrialEndMs <= at {
		status = svc.SubscriptionActive
	}
	if last.EndMs > 0 && last.EndMs <= at {
		status = svc.SubscriptionCanceled
	}
	for _, change := range last.Changes {
		if change.AtMs <= at {
			cents = change.Cents
		}
	}
	if status != svc.SubscriptionActive && status != svc.SubscriptionPastDue {
		cents = 0
	}
	return status, cents, last.Currency
}

func customerPays(history map[string][]svc.BillingRow, customer string, at int64) bool {
	for _, rows := range history {
		if _, cents, _ := paysAt(rows, at); rows[0].Customer == customer && cents > 0 {
			return true
		}
	}
	return false
}

// convertPlainly multiplies by the last rate on or before the day of an instant, and rounds.
func convertPlainly(rows []svc.BillingRow, cents int64, currency string, at int64) int64 {
	if currency == "USD" {
		return cents
	}
	rate, day := int64(0), int64(-1)
	for _, row := range rows {
		if of := row.Ts.UnixMilli() / 86_400_000; row.Kind == svc.BillingRate && of <= at/86_400_000 && of > day {
			rate, day = row.Rate, of
		}
	}
	size := cents
	if cents < 0 {
		size = -cents
	}
	product := new(big.Int).Mul(big.NewInt(size), big.NewInt(rate))
	product.Add(product, big.NewInt(svc.RateUnit/2)).Div(product, big.NewInt(svc.RateUnit))
	if cents < 0 {
		return -product.Int64()
	}
	return product.Int64()
}
