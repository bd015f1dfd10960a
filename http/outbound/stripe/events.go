package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"svc/domain"
	"svc/domain/revenue"
)

// eventTypes are the types of events from which items are made.
func eventTypes() []string {
	return []string{
		"customer.subscription.created", "customer.subscription.updated", "customer.subscription.deleted", "customer.subscription.paused", "customer.subscription.resumed",
		"customer.updated", "charge.succeeded", "charge.captured", "charge.refunded", "charge.refund.updated", "refund.created", "refund.updated", "invoice.paid",
	}
}

// errNoEvent refuses a body that is not an event.
var errNoEvent = errors.New("the body is no event of Stripe")

// Hook returns the items of an event from a webhook. It returns no items for an event of the other mode, or of a type
// without revenue. A body that is not an event is invalid_request; other failures are *revenue.BillingProblemError.
func (c *Client) Hook(ctx context.Context, connector *revenue.BillingConnector, key domain.Secret, body []byte) ([]revenue.BillingRow, error) {
	var one webhookEvent
	if err := domain.DecodeJSON(body, &one); err != nil || one.ID == "" || one.Type == "" {
		return nil, domain.Invalid(domain.FieldError{Code: "invalid_body", Message: "The body is no event of Stripe."})
	}
	a := &account{client: c, connector: connector, key: key}
	rows, err := a.items(ctx, &one)
	if errors.Is(err, errNoEvent) {
		return nil, domain.Invalid(domain.FieldError{Code: "invalid_body", Message: "The object of the event cannot be read."})
	}
	return rows, err
}

// items returns the items of an event.
func (a *account) items(ctx context.Context, e *webhookEvent) ([]revenue.BillingRow, error) {
	if e.Livemode != a.connector.Live {
		return nil, nil
	}
	switch e.Type {
	case "customer.subscription.created", "customer.subscription.updated", "customer.subscription.deleted", "customer.subscription.paused", "customer.subscription.resumed":
		return a.subscriptionItems(ctx, e)
	case "customer.updated":
		return a.customerItems(ctx, e)
	case "charge.succeeded", "charge.captured":
		return one(e, func(c *charge) (revenue.BillingRow, bool, error) { return a.paid(ctx, c) })
	case "charge.refunded":
		return a.refundsOf(ctx, e)
	case "charge.refund.updated", "refund.created", "refund.updated":
		return one(e, func(r *refund) (revenue.BillingRow, bool, error) { return a.returned(ctx, r) })
	case "invoice.paid":
		return one(e, func(i *invoice) (revenue.BillingRow, bool, error) { return a.settled(ctx, i) })
	}
	return nil, nil
}

// one returns the item that the object of an event makes, or none.
func one[T any](e *webhookEvent, make func(*T) (revenue.BillingRow, bool, error)) ([]revenue.BillingRow, error) {
	var object T
	if err := json.Unmarshal(e.Data.Object, &object); err != nil {
		return nil, errNoEvent
	}
	row, ok, err := make(&object)
	if err != nil || !ok {
		return nil, err
	}
	return []revenue.BillingRow{row}, nil
}

// Offsets of the events within one second: times of events are whole seconds, and a subscription is often changed in
// the second in which it is made.
const (
	placeUpdated = 1 * time.Millisecond
	placeLast    = 500 * time.Millisecond
	placeDeleted = 999 * time.Millisecond
)

// placeOf returns the time of an event including its offset within the second.
func placeOf(e *webhookEvent) time.Time {
	at := seconds(e.Created)
	switch e.Type {
	case "customer.subscription.created":
		return at
	case "customer.subscription.deleted":
		return at.Add(placeDeleted)
	}
	return at.Add(placeUpdated)
}

// subscriptionItems returns the state in an event of a subscription.
func (a *account) subscriptionItems(ctx context.Context, e *webhookEvent) ([]revenue.BillingRow, error) {
	return one(e, func(s *subscription) (revenue.BillingRow, bool, error) {
		if err := a.complete(ctx, s); err != nil {
			return revenue.BillingRow{}, false, err
		}
		return a.state(ctx, s, e.ID, placeOf(e))
	})
}

// customerItems returns the states of the subscriptions of a customer after an event that changes the customer's
// identity.
func (a *account) customerItems(ctx context.Context, e *webhookEvent) ([]revenue.BillingRow, error) {
	var who customer
	if err := json.Unmarshal(e.Data.Object, &who); err != nil {
		return nil, errNoEvent
	}
	if _, err := a.customer(ctx, who); err != nil {
		return nil, err
	}
	if e.Data.Previous["metadata"] == nil && e.Data.Previous["email"] == nil {
		return nil, nil
	}
	query := subscriptionQuery()
	query.Set("customer", who.ID)
	var found list[subscription]
	if _, err := a.client.get(ctx, a.key, "/v1/subscriptions", query, &found); err != nil {
		if _, gone := err.(errMissing); gone { //nolint:errorlint // get returns it as it is
			return nil, nil
		}
		return nil, err
	}
	var rows []revenue.BillingRow
	for n := range found.Data {
		row, ok, err := a.state(ctx, &found.Data[n], e.ID+":"+found.Data[n].ID, a.client.now())
		if err != nil {
			return nil, err
		}
		if ok && row.Status != revenue.SubscriptionCanceled {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// refundsOf returns the refunds of the charge of an event, which recent versions do not contain.
func (a *account) refundsOf(ctx context.Context, e *webhookEvent) ([]revenue.BillingRow, error) {
	var of charge
	if err := json.Unmarshal(e.Data.Object, &of); err != nil {
		return nil, errNoEvent
	}
	var found list[refund]
	if _, err := a.client.get(ctx, a.key, "/v1/refunds", url.Values{"charge": {of.ID}, "limit": {"100"}}, &found); err != nil {
		if _, gone := err.(errMissing); gone { //nolint:errorlint // get returns it as it is
			return nil, nil
		}
		return nil, err
	}
	var rows []revenue.BillingRow
	for n := range found.Data {
		found.Data[n].Charge = of
		row, ok, err := a.returned(ctx, &found.Data[n])
		if err != nil {
			return nil, err
		}
		if ok {
			rows = append(rows, row)
		}
	}
	return rows, nil
}
