package ingest

import (
	"cmp"
	stdjson "encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/revenue"
	"svc/http/route"
	"svc/protos"
)

// itemBilling is the kind of the items on the path of billing systems. Their type field gives the actual kind.
const itemBilling itemKind = "billing"

// billingItem is an item of a billing system. Unknown fields are ignored.
type billingItem struct {
	Type           string            `json:"type" doc:"subscription, payment, refund or rate." enum:"subscription,payment,refund,rate" required:"true"`
	ID             string            `json:"id" doc:"For a subscription: the sender's own id of this change; the same id is stored once. One is derived where it is missing."`
	Ts             string            `json:"ts" doc:"Since when it is so, ISO 8601; the arrival where it is missing. Items may come late and in any order."`
	SubscriptionID string            `json:"subscriptionId" doc:"Which subscription; needed for one."`
	CustomerID     string            `json:"customerId" doc:"Who pays: the distinct id of the person."`
	Plan           string            `json:"plan" doc:"The plan's name."`
	Status         string            `json:"status" doc:"The subscription's state since ts. Active and past_due ones count for MRR." enum:"trialing,active,past_due,paused,canceled"`
	Currency       string            `json:"currency" doc:"ISO 4217, for example EUR."`
	AmountCents    decimal           `json:"amountCents" doc:"The price of one, for a subscription; what was paid or refunded. In the currency's smallest unit, without taxes."`
	Quantity       *int64            `json:"quantity" doc:"1 where it is missing."`
	Interval       string            `json:"interval" doc:"The unit of the time that a bill covers; month where it is missing." enum:"day,week,month,year"`
	IntervalCount  int64             `json:"intervalCount" doc:"How many of them; 1 where it is missing."`
	Items          []billingPrice    `json:"items" doc:"Several prices of one subscription, in place of amountCents."`
	Discounts      []billingDiscount `json:"discounts" doc:"What is taken off every bill; one-time discounts are left out."`
	TrialEndsAt    string            `json:"trialEndsAt" doc:"When a trialing subscription becomes active, unless another item says otherwise until then."`
	EndsAt         string            `json:"endsAt" doc:"When the subscription ends, unless another item says otherwise until then."`
	PaymentID      string            `json:"paymentId" doc:"Which payment; needed for one. The same payment counts once."`
	RefundID       string            `json:"refundId" doc:"Which refund; needed for one. The same refund counts once."`
	To             string            `json:"to" doc:"For a rate: the currency into which it converts."`
	Rate           decimal           `json:"rate" doc:"For a rate: what one unit of currency is worth in the other one, with at most 12 decimals."`
	Day            string            `json:"day" doc:"For a rate: from which day of UTC it holds, YYYY-MM-DD."`
}

// billingPrice is one price of a subscription.
type billingPrice struct {
	AmountCents   decimal `json:"amountCents" required:"true"`
	Quantity      *int64  `json:"quantity"`
	Interval      string  `json:"interval" enum:"day,week,month,year"`
	IntervalCount int64   `json:"intervalCount"`
}

// billingDiscount is a discount; percentOff or amountOffCents is required.
type billingDiscount struct {
	PercentOff     decimal `json:"percentOff"`
	AmountOffCents decimal `json:"amountOffCents" doc:"Off each bill."`
	EndsAt         string  `json:"endsAt" doc:"Forever where it is missing."`
}

// decimal is a number as it is written in JSON.
type decimal string

// UnmarshalJSON stores the text of a number.
func (d *decimal) UnmarshalJSON(text []byte) error {
	var number stdjson.Number
	if err := stdjson.Unmarshal(text, &number); err != nil {
		return &stdjson.UnmarshalTypeError{Value: string(text), Type: reflect.TypeFor[float64]()}
	}
	*d = decimal(number)
	return nil
}

// Schema describes the number.
func (decimal) Schema() route.Schema { return route.Schema{"type": "number"} }

type billingInput struct {
	Beacon string      `query:"beacon" doc:"1 answers 204 without a body, for beacons."`
	Key    string      `query:"key" doc:"The ingest key, where no header can be set."`
	Body   billingItem `body:"json"`
}

// Bounds of billing items.
const (
	maxBillingCents  = 1_000_000_000_000_000
	maxBillingPrices = 100
	maxBillingCount  = 1_000_000
)

// billed completes the row of billing items.
func billed(row route.Route) route.Route {
	row.Codes = append(slices.Clone(row.Codes), domain.CodeNotAvailable)
	return row
}

// mayBill refuses public keys, and applications without the module.
func (sub *submission) mayBill() error {
	switch {
	case sub.collect.NoBilling:
		return domain.Errorf(domain.CodeNotAvailable, "This deployment was built without the module revenue.")
	case sub.collector.Kind != domain.KeySecret:
		return domain.Errorf(domain.CodeForbidden, "Billing items need a secret key.")
	case !slices.Contains(sub.collector.Modules, domain.ModuleRevenue):
		return domain.Errorf(domain.CodeModuleDisabled, "The application has switched the module revenue off.")
	}
	return nil
}

// refusal is the reason why an item is not accepted.
type refusal struct{ code, message string }

// acceptBilling checks one billing item and emits it, or rejects it.
func (sub *submission) acceptBilling(index int) {
	sub.signal = ingest.SignalEvents
	raw, err := sub.rawItem(index)
	var it billingItem
	if err == nil {
		err = stdjson.Unmarshal(raw, &it) // The decoder copies its texts.
	}
	if err != nil {
		sub.reject(index, "invalid_type", wrongType("The item", err))
		return
	}
	billing := &protos.Billing{
		Environment: sub.collector.Environment.Number, Kind: it.Type, ReceivedMs: sub.now.UnixMilli(), TsMs: sub.now.UnixMilli(), Seq: uint32(index),
		Customer: it.CustomerID, Plan: it.Plan, Currency: strings.ToUpper(it.Currency),
	}
	refused := it.stamp(billing)
	if refused == nil {
		refused = it.fill(billing)
	}
	if refused == nil && billing.Id == "" {
		if billing.Id, err = sub.billingID(index, &it); err != nil {
			refused = &refusal{"invalid_value", "The item cannot be encoded."}
		}
	}
	if refused != nil {
		sub.reject(index, refused.code, refused.message)
		return
	}
	partition := sub.collect.Shape.Of(billing.Environment, protos.PartitionOfBilling(billing.Environment, billing.Subject, sub.collect.Shape.Partitions))
	if err := sub.put(partition, billing.SizeVT(), func(payload []byte) ([]byte, error) { return protos.AppendBilling(payload, billing) }); err != nil {
		sub.reject(index, "invalid_value", "The item cannot be encoded.")
	}
}

// billingID derives the id of a subscription's change from its content. The item is not read afterwards.
func (sub *submission) billingID(index int, it *billingItem) (string, error) {
	ts := it.Ts
	it.Ts = ""
	sum, err := sub.sumOf(it)
	return sub.derivedID("bil_", sum, ts, index, false), err
}

// stamp sets the time. Billing systems may send items of past years, but not of the future.
func (it *billingItem) stamp(billing *protos.Billing) *refusal {
	if it.Ts == "" {
		return nil
	}
	at, refused := instant("ts", it.Ts)
	if refused == nil && at > billing.ReceivedMs+event.FutureTolerance.Milliseconds() {
		refused = &refusal{"invalid_value", "ts lies in the future; say endsAt or trialEndsAt for what is to come."}
	}
	billing.TsMs = at
	return refused
}

// instant reads a time.
func instant(field, word string) (int64, *refusal) {
	at, err := time.Parse(time.RFC3339Nano, word)
	if err != nil || at.Year() < 1970 || at.Year() > 2199 {
		return 0, &refusal{"invalid_value", field + mustBeTime}
	}
	return at.UnixMilli(), nil
}

// fill sets the fields of the item's type.
func (it *billingItem) fill(billing *protos.Billing) *refusal {
	for _, word := range [...]struct {
		field, value string
		limit        int
	}{
		{"id", it.ID, event.MaxIDBytes},
		{"subscriptionId", it.SubscriptionID, event.MaxIDBytes},
		{"customerId", it.CustomerID, event.MaxIDBytes},
		{"paymentId", it.PaymentID, event.MaxIDBytes},
		{"refundId", it.RefundID, event.MaxIDBytes},
		{"plan", it.Plan, event.MaxNameBytes},
	} {
		if len(word.value) > word.limit || strings.IndexByte(word.value, 0) >= 0 {
			return &refusal{"too_long", fmt.Sprintf("%s is over %d bytes, or holds a NUL character.", word.field, word.limit)}
		}
	}
	if it.CustomerID != "" && domain.IsPlaceholderID(it.CustomerID) {
		return &refusal{domain.CodePlaceholderID, domain.PlaceholderProblem("customerId")}
	}
	if !revenue.IsCurrency(billing.Currency) {
		return &refusal{"invalid_value", "currency is not a code of three letters, as ISO 4217 has them."}
	}
	switch revenue.BillingKind(it.Type) {
	case revenue.BillingSubscription:
		return it.fillSubscription(billing)
	case revenue.BillingPayment:
		return it.fillFlow(billing, "paymentId", it.PaymentID)
	case revenue.BillingRefund:
		return it.fillFlow(billing, "refundId", it.RefundID)
	case revenue.BillingRate:
		return it.fillRate(billing)
	}
	return &refusal{"unknown_type", "Unknown type; allowed are subscription, payment, refund and rate."}
}

// fillFlow sets a payment or a refund. Its name is its only id.
func (it *billingItem) fillFlow(billing *protos.Billing, field, name string) *refusal {
	if name == "" {
		return &refusal{"missing_value", field + " is missing."}
	}
	amount, refused := centsOf("amountCents", it.AmountCents)
	if refused != nil {
		return refused
	}
	if !amount.IsInt() {
		return &refusal{"invalid_value", "amountCents must be a whole number."}
	}
	billing.Subject, billing.Id, billing.Cents = name, name, amount.Num().Int64()
	return nil
}

// fillRate sets the price of a currency.
func (it *billingItem) fillRate(billing *protos.Billing) *refusal {
	billing.Target = strings.ToUpper(it.To)
	if !revenue.IsCurrency(billing.Target) || billing.Target == billing.Currency {
		return &refusal{"invalid_value", "to is not a code of another currency."}
	}
	day, err := time.Parse(time.DateOnly, it.Day)
	if err != nil || day.Year() < 1970 || day.Year() > 2199 {
		return &refusal{"invalid_value", "day is not a date, YYYY-MM-DD."}
	}
	rate, refused := centsOf("rate", it.Rate)
	if refused != nil {
		return refused
	}
	exact, ok := revenue.RateOf(rate)
	if !ok {
		return &refusal{"invalid_value", revenue.RateProblem}
	}
	billing.Subject, billing.TsMs, billing.Rate, billing.Customer, billing.Plan = billing.Currency, day.UnixMilli(), exact, "", ""
	billing.Id = billing.Target + it.Day
	return nil
}

// fillSubscription sets the state of a subscription.
func (it *billingItem) fillSubscription(billing *protos.Billing) (refused *refusal) {
	billing.Subject, billing.Id, billing.Status = it.SubscriptionID, it.ID, it.Status
	switch {
	case billing.Subject == "":
		return &refusal{"missing_value", "subscriptionId is missing."}
	case !slices.Contains(revenue.SubscriptionStatuses(), revenue.SubscriptionStatus(it.Status)):
		return &refusal{"invalid_value", "status is unknown; allowed are trialing, active, past_due, paused and canceled."}
	}
	if it.TrialEndsAt != "" {
		if billing.TrialEndMs, refused = instant("trialEndsAt", it.TrialEndsAt); refused != nil {
			return refused
		}
	}
	if it.EndsAt != "" {
		if billing.EndMs, refused = instant("endsAt", it.EndsAt); refused != nil {
			return refused
		}
	}
	prices, refused := it.prices()
	if refused != nil {
		return refused
	}
	discounts, refused := it.discounts()
	if refused != nil {
		return refused
	}
	cents, changes := revenue.MonthlyCents(prices, discounts, time.UnixMilli(billing.TsMs))
	if cents > maxBillingCents {
		return &refusal{"invalid_value", "The subscription's amount is too large."}
	}
	billing.Cents = cents
	for _, change := range changes {
		billing.ChangeMs, billing.ChangeCents = append(billing.ChangeMs, uint64(change.AtMs)), append(billing.ChangeCents, uint64(change.Cents))
	}
	return nil
}

// prices reads the prices; a canceled or paused subscription needs none.
func (it *billingItem) prices() ([]revenue.Price, *refusal) {
	items := it.Items
	if len(items) == 0 && it.AmountCents != "" {
		items = []billingPrice{{it.AmountCents, it.Quantity, it.Interval, it.IntervalCount}}
	}
	ends := it.Status == string(revenue.SubscriptionCanceled) || it.Status == string(revenue.SubscriptionPaused)
	if len(items) == 0 && !ends || len(items) > maxBillingPrices {
		return nil, &refusal{"missing_value", fmt.Sprintf("amountCents or items is missing, or there are more than %d items.", maxBillingPrices)}
	}
	prices := make([]revenue.Price, len(items))
	for n := range items {
		cents, refused := centsOf("amountCents", items[n].AmountCents)
		if refused != nil {
			return nil, refused
		}
		price := revenue.Price{Cents: cents, Quantity: 1, Interval: revenue.BillingInterval(cmp.Or(items[n].Interval, string(revenue.PerMonth))), Count: cmp.Or(items[n].IntervalCount, 1)}
		if items[n].Quantity != nil {
			price.Quantity = *items[n].Quantity
		}
		switch {
		case !slices.Contains(revenue.BillingIntervals(), price.Interval):
			return nil, &refusal{"invalid_value", "interval is unknown; allowed are day, week, month and year."}
		case price.Quantity < 0 || price.Quantity > maxBillingCount || price.Count < 1 || price.Count > maxBillingCount:
			return nil, &refusal{"invalid_value", fmt.Sprintf("quantity must be from 0 and intervalCount from 1 to %d.", maxBillingCount)}
		}
		prices[n] = price
	}
	return prices, nil
}

// discounts reads the discounts.
func (it *billingItem) discounts() ([]revenue.Discount, *refusal) {
	var discounts []revenue.Discount
	for n := range it.Discounts {
		said := &it.Discounts[n]
		var discount revenue.Discount
		var refused *refusal
		switch {
		case said.PercentOff != "" && said.AmountOffCents == "":
			discount.Percent, refused = centsOf("percentOff", said.PercentOff)
			if refused == nil && discount.Percent.Cmp(big.NewRat(100, 1)) > 0 {
				refused = &refusal{"invalid_value", "percentOff is over 100."}
			}
		case said.AmountOffCents != "" && said.PercentOff == "":
			discount.Cents, refused = centsOf("amountOffCents", said.AmountOffCents)
		default:
			refused = &refusal{"missing_value", "A discount needs percentOff or amountOffCents."}
		}
		if refused == nil && said.EndsAt != "" {
			discount.EndMs, refused = instant("endsAt", said.EndsAt)
		}
		if refused != nil || len(it.Discounts) > maxBillingPrices {
			return nil, cmp.Or(refused, &refusal{"invalid_value", "There are too many discounts."})
		}
		discounts = append(discounts, discount)
	}
	return discounts, nil
}

// maxNumberBytes bounds the text of a number, because its exponent could make it take all memory.
const maxNumberBytes = 40

// centsOf reads a non-negative number exactly.
func centsOf(field string, number decimal) (*big.Rat, *refusal) {
	text := string(number)
	if text == "" {
		return nil, &refusal{"missing_value", field + " is missing."}
	}
	value, ok := new(big.Rat), len(text) <= maxNumberBytes && !strings.ContainsAny(text, "eE")
	if ok {
		value, ok = value.SetString(text)
	}
	if !ok || value.Sign() < 0 || value.Cmp(new(big.Rat).SetInt64(maxBillingCents)) > 0 {
		return nil, &refusal{"invalid_value", fmt.Sprintf("%s must be a number from 0 to %d.", field, int64(maxBillingCents))}
	}
	return value, nil
}
