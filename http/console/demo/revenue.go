package demo

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"svc/domain/event"
	"svc/domain/revenue"
)

// monthDays is the number of days between two bills of the product.
const monthDays = 30

// subscriptions returns the calls with subscriptions, payments, refunds and rates until an instant. Registered people
// with a paid plan try it for a week and pay from then on; some add seats, some leave.
func subscriptions(until time.Time) (calls []Call) {
	begin := until.Truncate(24*time.Hour).AddDate(0, 0, 1-days)
	items := []Item{rateOf("EUR", begin, "1.0832"), rateOf("EUR", begin.AddDate(0, 0, 45), "1.0715")}
	count := 0
	for first := range days {
		for range arrivals(first) {
			if v := visitorOf(count, first); v.known && v.plan != "free" {
				items = append(items, v.bills(begin, until)...)
			}
			count++
		}
	}
	for batch := range slices.Chunk(items, event.MaxBatchItems) {
		calls = append(calls, Call{Method: http.MethodPost, Path: "/api/v1/revenue", Body: batch, Ingest: true})
	}
	return calls
}

func rateOf(currency string, from time.Time, rate string) Item {
	return Item{"type": "rate", "currency": currency, "to": "USD", "day": from.Format(time.DateOnly), "rate": rate}
}

// bills returns the billing items of a visitor until an instant.
func (v visitor) bills(begin, until time.Time) (items []Item) {
	random := rand.New(rand.NewPCG(seed+3, uint64(v.number)))
	seats, price, currency := 1+random.IntN(6), 1200, "USD"
	if v.plan == "business" {
		price = 2900
	}
	if random.IntN(5) == 0 {
		currency = "EUR"
	}
	trial := begin.AddDate(0, 0, v.first+1).Add(time.Duration(8+random.IntN(10)) * time.Hour)
	pays := trial.AddDate(0, 0, 7)
	say := func(n int, at time.Time, status revenue.SubscriptionStatus, more Item) {
		if at.After(until) {
			return
		}
		item := Item{
			"type": "subscription", "id": fmt.Sprintf("demo-bill-%d-%d", v.number, n), "ts": at.UTC().Format(time.RFC3339), "subscriptionId": fmt.Sprintf("sub-%04d", v.number),
			"customerId": v.user(), "plan": v.plan, "status": status, "currency": currency, "amountCents": price, "quantity": seats,
		}
		for name, value := range more {
			item[name] = value
		}
		items = append(items, item)
	}
	say(1, trial, revenue.SubscriptionTrialing, Item{"trialEndsAt": pays.UTC().Format(time.RFC3339)})
	ends := time.Time{}
	switch random.IntN(10) {
	case 0: // The visitor was not convinced.
		say(2, trial.AddDate(0, 0, 5), revenue.SubscriptionCanceled, nil)
		return items
	case 1, 2:
		ends = pays.AddDate(0, 0, 20+random.IntN(30))
	}
	say(3, pays, revenue.SubscriptionActive, nil)
	for n := 0; ; n++ {
		due := pays.AddDate(0, 0, n*monthDays)
		if due.After(until) || !ends.IsZero() && due.After(ends) {
			break
		}
		if n == 1 && random.IntN(3) == 0 {
			seats += 1 + random.IntN(4)
			say(4, due, revenue.SubscriptionActive, nil)
		}
		items = append(items, Item{"type": "payment", "ts": due.UTC().Format(time.RFC3339), "paymentId": fmt.Sprintf("pay-%04d-%d", v.number, n), "customerId": v.user(), "amountCents": seats * price, "currency": currency})
		if n == 0 && random.IntN(40) == 0 {
			items = append(items, Item{"type": "refund", "ts": due.UTC().Format(time.RFC3339), "refundId": fmt.Sprintf("ref-%04d", v.number), "customerId": v.user(), "amountCents": seats * price, "currency": currency})
		}
	}
	if !ends.IsZero() {
		say(5, ends, revenue.SubscriptionCanceled, nil)
	}
	return items
}
