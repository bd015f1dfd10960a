package stripe

import (
	"context"
	"math/big"
	"net/url"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/revenue"
)

// personKey is the metadata key with the distinct id of the paying person.
const personKey = "distinct_id"

// person returns the distinct id of the paying person. It is the id in the metadata of the subscription or the
// customer. Else it is the e-mail address, if the connector uses addresses, or Stripe's id of the customer.
func (a *account) person(ctx context.Context, of customer, metadata map[string]string) (string, error) {
	for _, text := range []string{metadata[personKey], of.Metadata[personKey]} {
		if usable(text) {
			return text, nil
		}
	}
	known, err := a.customer(ctx, of)
	if err != nil {
		return "", err
	}
	if text := known.Metadata[personKey]; usable(text) {
		return text, nil
	}
	if email := strings.ToLower(strings.TrimSpace(known.Email)); a.connector.Customers == revenue.CustomersByEmail && usable(email) {
		return email, nil
	}
	return of.ID, nil
}

func usable(text string) bool {
	return !domain.IsPlaceholderID(text) && len(text) <= maxCustomer && !strings.Contains(text, "\x00")
}

// row returns an item with the common fields.
func (a *account) row(kind revenue.BillingKind, subject, id string, at time.Time, currency string) revenue.BillingRow {
	return revenue.BillingRow{
		Environment: a.connector.Number, Kind: kind, Subject: subject, ID: id, Ts: at, ReceivedAt: a.client.now(), Currency: strings.ToUpper(currency),
	}
}

// statusOf returns the state of a subscription; began is false if neither payments nor a trial have begun.
func statusOf(s *subscription) (status revenue.SubscriptionStatus, began bool) {
	switch s.Status {
	case "incomplete", "incomplete_expired":
		return "", false
	case "canceled":
		return revenue.SubscriptionCanceled, true
	case "trialing":
		status = revenue.SubscriptionTrialing
	case "past_due":
		status = revenue.SubscriptionPastDue
	case "active":
		status = revenue.SubscriptionActive
	default: // unpaid and paused: no payments are collected.
		return revenue.SubscriptionPaused, true
	}
	if s.PauseCollection != nil && s.PauseCollection.Behavior != "" {
		return revenue.SubscriptionPaused, true
	}
	return status, true
}

// endOf returns the time at which a subscription will end, in milliseconds; 0 if it was not cancelled.
func endOf(s *subscription) int64 {
	end := s.CancelAt
	if end == 0 && s.CancelAtPeriodEnd {
		end = s.CurrentPeriodEnd
		for n := range s.Items.Data {
			end = max(end, s.Items.Data[n].CurrentPeriodEnd)
		}
	}
	return end * 1000
}

// state returns the item with the state of a subscription from an instant on; ok is false if it has not begun.
func (a *account) state(ctx context.Context, s *subscription, id string, at time.Time) (row revenue.BillingRow, ok bool, err error) {
	status, began := statusOf(s)
	if !began || s.ID == "" {
		return row, false, nil
	}
	row = a.row(revenue.BillingSubscription, s.ID, id, at, s.Currency)
	row.Status = status
	if row.Customer, err = a.person(ctx, s.Customer, s.Metadata); err != nil {
		return row, false, err
	}
	prices := make([]revenue.Price, 0, len(s.Items.Data))
	for n := range s.Items.Data {
		one := &s.Items.Data[n]
		completed, err := a.price(ctx, one.Price)
		if err != nil {
			return row, false, err
		}
		if row.Plan == "" {
			row.Plan = planOf(&completed)
		}
		if row.Currency == "" {
			row.Currency = strings.ToUpper(completed.Currency)
		}
		if made, recurs := priceOf(&completed, one.Quantity); recurs {
			made.Discounts = discountsOf(one.Discounts, row.Currency)
			prices = append(prices, made)
		}
	}
	row.Cents, row.Changes = revenue.MonthlyCents(inMinorUnits(prices, row.Currency), discountsOf(subscriptionDiscounts(s), row.Currency), at)
	if status == revenue.SubscriptionCanceled {
		row.Cents, row.Changes = 0, nil
		return row, true, nil
	}
	if status == revenue.SubscriptionTrialing {
		row.TrialEndMs = s.TrialEnd * 1000
	}
	row.EndMs = endOf(s)
	return row, true, nil
}

// subscriptionDiscounts returns the discounts of a subscription in either form.
func subscriptionDiscounts(s *subscription) []discount {
	if len(s.Discounts) == 0 && s.Discount != nil {
		return []discount{*s.Discount}
	}
	return s.Discounts
}

// planOf returns the readable name of a plan.
func planOf(p *price) string {
	name := p.Nickname
	if p.Product.Name != "" {
		name = p.Product.Name
	}
	if name == "" {
		name = p.ID
	}
	return strings.ToValidUTF8(name[:min(len(name), event.MaxNameBytes)], "")
}

// priceOf returns the recurring price of a quantity. Metered usage has no price in advance.
func priceOf(p *price, quantity *int64) (made revenue.Price, recurs bool) {
	if p.Recurring == nil || p.Recurring.UsageType == "metered" {
		return made, false
	}
	made = revenue.Price{Quantity: 1, Interval: revenue.BillingInterval(p.Recurring.Interval), Count: max(p.Recurring.Count, 1)}
	if quantity != nil {
		made.Quantity = *quantity
	}
	if t := p.Transform; t != nil && t.DivideBy > 1 {
		rest := made.Quantity % t.DivideBy
		made.Quantity /= t.DivideBy
		if rest > 0 && t.Round == "up" {
			made.Quantity++
		}
	}
	if p.Scheme == "tiered" {
		made.Cents, made.Quantity = tiered(p, made.Quantity), 1
		return made, true
	}
	made.Cents = amount(p.Decimal, p.UnitAmount)
	return made, true
}

// amount reads an amount; the decimal form has fractions of the smallest unit.
func amount(decimal string, whole *int64) *big.Rat {
	if value, ok := new(big.Rat).SetString(decimal); ok && len(decimal) < 40 && !strings.ContainsAny(decimal, "eE/") {
		return value
	}
	if whole != nil {
		return new(big.Rat).SetInt64(*whole)
	}
	return new(big.Rat)
}

// tiered returns the price of a quantity by tiers: each part by its own tier, or all by the tier of the whole quantity.
func tiered(p *price, quantity int64) *big.Rat {
	sum, from := new(big.Rat), int64(0)
	for n := range p.Tiers {
		t := &p.Tiers[n]
		last := t.UpTo == nil || quantity <= *t.UpTo
		if p.TiersMode == "volume" {
			if !last {
				continue
			}
			sum.Mul(amount(t.UnitDecimal, t.UnitAmount), new(big.Rat).SetInt64(quantity))
			return sum.Add(sum, amount(t.FlatDecimal, t.FlatAmount))
		}
		until := quantity
		if !last {
			until = *t.UpTo
		}
		part := new(big.Rat).Mul(amount(t.UnitDecimal, t.UnitAmount), new(big.Rat).SetInt64(until-from))
		sum.Add(sum, part)
		if until > from || quantity == 0 && n == 0 {
			sum.Add(sum, amount(t.FlatDecimal, t.FlatAmount))
		}
		if last {
			break
		}
		from = until
	}
	return sum
}

// discountsOf returns the recurring discounts; discounts of a single bill do not change the MRR.
func discountsOf(all []discount, currency string) (made []revenue.Discount) {
	for n := range all {
		terms, known := all[n].terms()
		if !known || terms.Duration == "once" {
			continue
		}
		one := revenue.Discount{EndMs: all[n].End * 1000}
		if percent, ok := new(big.Rat).SetString(terms.PercentOff.String()); ok && percent.Sign() > 0 {
			one.Percent = percent
		} else if terms.AmountOff != nil && strings.EqualFold(terms.Currency, currency) {
			one.Cents = minor(new(big.Rat).SetInt64(*terms.AmountOff), currency)
		} else {
			continue
		}
		made = append(made, one)
	}
	return made
}

// minor returns an amount of Stripe in the smallest unit of its currency. Stripe uses two decimals for ISK and UGX,
// which have none (https://docs.stripe.com/currencies#special-cases).
func minor(value *big.Rat, currency string) *big.Rat {
	if currency == "ISK" || currency == "UGX" {
		return value.Quo(value, big.NewRat(100, 1))
	}
	return value
}

func inMinorUnits(prices []revenue.Price, currency string) []revenue.Price {
	for n := range prices {
		prices[n].Cents = minor(prices[n].Cents, currency)
	}
	return prices
}

// minorCents returns a whole amount of Stripe in the smallest unit of its currency.
func minorCents(cents int64, currency string) int64 {
	return revenue.RoundCents(minor(new(big.Rat).SetInt64(cents), strings.ToUpper(currency)))
}

// paid returns the payment of a charge; ok is false if no amount was paid.
func (a *account) paid(ctx context.Context, c *charge) (row revenue.BillingRow, ok bool, err error) {
	if c.Status != "succeeded" || !c.Captured || c.AmountCaptured <= 0 || c.Livemode != a.connector.Live {
		return row, false, nil
	}
	row = a.row(revenue.BillingPayment, c.ID, c.ID, seconds(c.Created), c.Currency)
	row.Cents = minorCents(c.AmountCaptured, c.Currency)
	row.Customer, err = a.person(ctx, c.Customer, nil)
	return row, err == nil, err
}

// settled returns the payment of an invoice that was paid outside Stripe, which has no charge.
func (a *account) settled(ctx context.Context, i *invoice) (row revenue.BillingRow, ok bool, err error) {
	if i.Status != "paid" || !i.PaidOutOfBand || i.AmountPaid <= 0 || i.Livemode != a.connector.Live {
		return row, false, nil
	}
	at := i.Transitions.PaidAt
	if at == 0 {
		at = i.Created
	}
	row = a.row(revenue.BillingPayment, i.ID, i.ID, seconds(at), i.Currency)
	row.Cents = minorCents(i.AmountPaid, i.Currency)
	row.Customer, err = a.person(ctx, i.Customer, nil)
	return row, err == nil, err
}

// returned returns the refund; ok is false if it has not succeeded.
func (a *account) returned(ctx context.Context, r *refund) (row revenue.BillingRow, ok bool, err error) {
	if r.Status != "succeeded" || r.Amount <= 0 {
		return row, false, nil
	}
	row = a.row(revenue.BillingRefund, r.ID, r.ID, seconds(r.Created), r.Currency)
	row.Cents = minorCents(r.Amount, r.Currency)
	row.Customer, err = a.person(ctx, r.Charge.Customer, nil)
	return row, err == nil, err
}

func seconds(at int64) time.Time { return time.Unix(at, 0).UTC() }

// complete reads a subscription's discounts and items if an event has only their ids or a part of them. Data that
// Stripe has deleted is omitted.
func (a *account) complete(ctx context.Context, s *subscription) error {
	if s.Status == "canceled" || s.allTerms() && !s.Items.HasMore {
		return nil
	}
	var now subscription
	query := url.Values{"expand[]": {"discounts", "items.data.discounts"}}
	if _, err := a.client.get(ctx, a.key, "/v1/subscriptions/"+url.PathEscape(s.ID), query, &now); err != nil {
		if _, gone := err.(errMissing); gone { //nolint:errorlint // get returns it as it is
			return nil
		}
		return err
	}
	if s.Items.HasMore {
		s.Items = now.Items
		if err := a.allItems(ctx, s); err != nil {
			return err
		}
	}
	known := map[string]discount{}
	for _, all := range now.discountLists() {
		for _, one := range all {
			known[one.ID] = one
		}
	}
	for _, all := range s.discountLists() {
		for n := range all {
			if _, there := all[n].terms(); !there {
				all[n] = known[all[n].ID]
			}
		}
	}
	return nil
}

// discountLists returns the discounts of a subscription and of its items.
func (s *subscription) discountLists() [][]discount {
	lists := [][]discount{subscriptionDiscounts(s)}
	for n := range s.Items.Data {
		lists = append(lists, s.Items.Data[n].Discounts)
	}
	return lists
}

// allTerms reports whether the coupons of all discounts are known.
func (s *subscription) allTerms() bool {
	for _, all := range s.discountLists() {
		for n := range all {
			if _, there := all[n].terms(); !there {
				return false
			}
		}
	}
	return true
}

// allItems reads the items of a subscription that has more items than one answer.
func (a *account) allItems(ctx context.Context, s *subscription) error {
	for s.Items.HasMore && len(s.Items.Data) > 0 {
		query := url.Values{"subscription": {s.ID}, "limit": {"100"}, "expand[]": {"data.discounts"}, "starting_after": {s.Items.Data[len(s.Items.Data)-1].ID}}
		var more list[item]
		if _, err := a.client.get(ctx, a.key, "/v1/subscription_items", query, &more); err != nil {
			return err
		}
		s.Items.Data, s.Items.HasMore = append(s.Items.Data, more.Data...), more.HasMore && len(more.Data) > 0
	}
	return nil
}
