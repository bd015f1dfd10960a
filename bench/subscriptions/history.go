// Package subscriptions makes a history of subscriptions, payments and rates for benchmarks that inject faults, and
// recounts the revenue of the stored items in plain loops. Every item has a unique instant, so no rule for ties is
// needed.
package subscriptions

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"svc/bench/harness"
)

const (
	// Spread is a prime number of instants: the n-th item has a unique one, far from those of its neighbours. It also
	// limits the number of items.
	Spread = 100_003
	step   = 280 * time.Second // about 324 days in all
	// Days is the number of days between the base and now.
	Days = 380
	// subscriptions is the number of subscriptions; half as many customers have them.
	subscriptions = 80
	// Reported is the currency of the figures.
	Reported = "USD"
	// Rated is a currency with rates.
	Rated = "EUR"
	// Unrated is a currency without rates.
	Unrated = "GBP"
)

// History is the sequence of a billing system's items.
type History struct {
	prefix string
	// base is before all items; all changes that they announce have happened by now.
	base time.Time
}

// NewHistory returns the history of a seed.
func NewHistory(seed uint64) *History {
	return &History{prefix: "bill-" + strconv.FormatUint(seed, 36) + "-", base: time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -Days)}
}

// Item is one billing item as it is sent.
type Item struct {
	Type           string      `json:"type"`
	ID             string      `json:"id,omitempty"`
	Ts             string      `json:"ts,omitempty"`
	SubscriptionID string      `json:"subscriptionId,omitempty"`
	CustomerID     string      `json:"customerId,omitempty"`
	Plan           string      `json:"plan,omitempty"`
	Status         string      `json:"status,omitempty"`
	Currency       string      `json:"currency"`
	AmountCents    int64       `json:"amountCents,omitempty"`
	Quantity       int64       `json:"quantity,omitempty"`
	Interval       string      `json:"interval,omitempty"`
	Discounts      []discount  `json:"discounts,omitempty"`
	TrialEndsAt    string      `json:"trialEndsAt,omitempty"`
	EndsAt         string      `json:"endsAt,omitempty"`
	PaymentID      string      `json:"paymentId,omitempty"`
	RefundID       string      `json:"refundId,omitempty"`
	To             string      `json:"to,omitempty"`
	Rate           json.Number `json:"rate,omitempty"`
	Day            string      `json:"day,omitempty"`
}

type discount struct {
	PercentOff int    `json:"percentOff"`
	EndsAt     string `json:"endsAt"`
}

// Item returns the n-th item, always the same, and its row. The first item determines the reporting currency, the
// second one the rate before all others.
func (h *History) Item(n int) (item Item, row Row) {
	random := rand.New(rand.NewPCG(uint64(n), 77))
	at := h.base.Add(24*time.Hour + time.Duration(n*7919%Spread)*step)
	id := h.prefix + strconv.Itoa(n)
	item = Item{ID: id, Ts: stamp(at), Currency: currencyOf(random.IntN(subscriptions))}
	row = Row{ID: id, Subject: id, Ts: at.UnixMilli()}
	kind := random.IntN(100)
	switch n {
	case 0:
		item.Currency, kind = Reported, 75
	case 1:
		kind = 99
	}
	switch {
	case kind < 70:
		h.subscription(random, at, &item, &row)
	case kind < 90:
		item.Type, item.PaymentID, item.AmountCents = "payment", id, 1+random.Int64N(100_000)
		row.Cents = item.AmountCents
	case kind < 95:
		item.Type, item.RefundID, item.AmountCents = "refund", id, 1+random.Int64N(5_000)
		row.Cents = item.AmountCents
	default:
		h.rate(n, &item, &row)
	}
	row.Kind, row.Currency = item.Type, item.Currency
	return item, row
}

// rate makes the only rate of a day.
func (h *History) rate(n int, item *Item, row *Row) {
	day := h.base
	if n > 1 {
		day = h.base.AddDate(0, 0, 1+n%(Days-2))
	}
	rate := 10_000 + int64(day.YearDay())*13
	*item = Item{Type: "rate", Currency: Rated, To: Reported, Day: day.Format(time.DateOnly), Rate: json.Number(fmt.Sprintf("%d.%04d", rate/10_000, rate%10_000))}
	*row = Row{ID: Reported + item.Day, Subject: Rated, Ts: day.UnixMilli(), Target: Reported, Rate: rate * 100_000_000}
}

// subscription makes a change of a subscription. Its announced changes have unique instants, too.
func (h *History) subscription(random *rand.Rand, at time.Time, item *Item, row *Row) {
	number := random.IntN(subscriptions)
	item.Type, item.SubscriptionID, item.CustomerID = "subscription", fmt.Sprint(h.prefix, "sub-", number), fmt.Sprint("payer-", number/2)
	item.Plan, item.Currency = []string{"Solo", "Team", "Whole"}[random.IntN(3)], currencyOf(number)
	item.AmountCents, item.Quantity, item.Interval = 24*(1+random.Int64N(500)), 1+random.Int64N(3), "month"
	row.Subject, row.Customer, row.Plan, row.Cents = item.SubscriptionID, item.CustomerID, item.Plan, item.AmountCents*item.Quantity
	if random.IntN(3) == 0 {
		item.Interval = "year"
		row.Cents /= 12
	}
	switch state := random.IntN(100); {
	case state < 60:
		item.Status = "active"
	case state < 67:
		item.Status = "past_due"
	case state < 79:
		item.Status = "trialing"
		ends := at.Add(7*24*time.Hour + time.Millisecond)
		item.TrialEndsAt, row.TrialEnd = stamp(ends), ends.UnixMilli()
	case state < 86:
		item.Status = "paused"
	default:
		item.Status = "canceled"
	}
	if random.IntN(8) == 0 {
		ends := at.Add(9*24*time.Hour + 2*time.Millisecond)
		item.EndsAt, row.Ended = stamp(ends), ends.UnixMilli()
	}
	if random.IntN(8) == 0 {
		ends := at.Add(5*24*time.Hour + 3*time.Millisecond)
		item.Discounts = []discount{{50, stamp(ends)}}
		row.ChangeMs, row.ChangeCents = []int64{ends.UnixMilli()}, []int64{row.Cents}
		row.Cents /= 2
	}
	row.Status = item.Status
}

func stamp(at time.Time) string { return at.Format(harness.TimeFormat) }

// currencyOf spreads currencies over subscriptions.
func currencyOf(number int) string {
	return []string{Reported, Reported, Reported, Rated, Unrated, Rated}[number%6]
}
