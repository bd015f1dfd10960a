package revenue_test

import (
	"maps"
	"math/big"
	"slices"
	"time"

	"svc/domain/revenue"
)

// recompute returns the figures of [from, to) by the definitions alone. It visits every instant at which something may
// change, and compares each subscription just before it and at it.
func recompute(rows []revenue.BillingRow, from, to time.Time) (totals revenue.Totals) {
	history, instants := map[string][]revenue.BillingRow{}, map[int64]bool{}
	for _, row := range rows {
		if row.Kind == revenue.BillingSubscription {
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
		if status == revenue.SubscriptionTrialing {
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
		case revenue.BillingPayment:
			totals.Payments += convertPlainly(rows, row.Cents, row.Currency, row.Ts.UnixMilli())
		case revenue.BillingRefund:
			totals.Refunds += convertPlainly(rows, row.Cents, row.Currency, row.Ts.UnixMilli())
		case revenue.BillingSubscription, revenue.BillingRate:
		}
	}
	return totals
}

// paysAt returns the state of a subscription at an instant: that of its last item until then.
func paysAt(rows []revenue.BillingRow, at int64) (revenue.SubscriptionStatus, int64, string) {
	var last *revenue.BillingRow
	for n := range rows {
		if row := &rows[n]; row.Ts.UnixMilli() <= at && (last == nil || row.Ts.After(last.Ts) || row.Ts.Equal(last.Ts) && (row.ReceivedAt.After(last.ReceivedAt) || row.ReceivedAt.Equal(last.ReceivedAt) && row.ID > last.ID)) {
			last = row
		}
	}
	if last == nil {
		return "", 0, ""
	}
	status, cents := last.Status, last.Cents
	if status == revenue.SubscriptionTrialing && last.TrialEndMs > 0 && last.TrialEndMs <= at {
		status = revenue.SubscriptionActive
	}
	if last.EndMs > 0 && last.EndMs <= at {
		status = revenue.SubscriptionCanceled
	}
	for _, change := range last.Changes {
		if change.AtMs <= at {
			cents = change.Cents
		}
	}
	if status != revenue.SubscriptionActive && status != revenue.SubscriptionPastDue {
		cents = 0
	}
	return status, cents, last.Currency
}

func customerPays(history map[string][]revenue.BillingRow, customer string, at int64) bool {
	for _, rows := range history {
		if _, cents, _ := paysAt(rows, at); rows[0].Customer == customer && cents > 0 {
			return true
		}
	}
	return false
}

// convertPlainly multiplies by the last rate on or before the day of an instant, and rounds.
func convertPlainly(rows []revenue.BillingRow, cents int64, currency string, at int64) int64 {
	if currency == "USD" {
		return cents
	}
	rate, day := int64(0), int64(-1)
	for _, row := range rows {
		if of := row.Ts.UnixMilli() / 86_400_000; row.Kind == revenue.BillingRate && of <= at/86_400_000 && of > day {
			rate, day = row.Rate, of
		}
	}
	size := cents
	if cents < 0 {
		size = -cents
	}
	product := new(big.Int).Mul(big.NewInt(size), big.NewInt(rate))
	product.Add(product, big.NewInt(revenue.RateUnit/2)).Div(product, big.NewInt(revenue.RateUnit))
	if cents < 0 {
		return -product.Int64()
	}
	return product.Int64()
}
