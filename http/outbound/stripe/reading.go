package stripe

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/revenue"
)

// phase is a part of a reading.
type phase string

// The phases, in their order; the last one never ends.
const (
	readSubscriptions phase = "subscriptions"
	readInvoices      phase = "invoices"
	readCharges       phase = "charges"
	readRefunds       phase = "refunds"
	readEvents        phase = "events"
)

// position is the start of the next step of a reading.
type position struct {
	Phase phase `json:"phase"`
	// After is the object after which the next page begins.
	After string `json:"after,omitempty"`
	// Began is the start of the reading. From and To bound the window of events. All are in seconds.
	Began int64 `json:"began"`
	From  int64 `json:"from,omitempty"`
	To    int64 `json:"to,omitempty"`
	// Recent are the ids of the events of the last overlap, which the next window contains again.
	Recent []string `json:"recent,omitempty"`
	// Page are the ids of the events of the window that were read.
	Page []string `json:"page,omitempty"`
}

const (
	// keptEvents is Stripe's retention of events (https://docs.stripe.com/api/events/list), less a day.
	keptEvents = 29 * 24 * time.Hour
	// overlap is the overlap of two windows of events: an event may appear after later ones.
	overlap = 5 * time.Minute
	// maxRecent bounds the remembered events; others are appended to the log again, which is harmless.
	maxRecent = 2000
)

// Step reads one page after a position; the empty position means the first page.
func (c *Client) Step(ctx context.Context, connector *revenue.BillingConnector, key domain.Secret, from json.RawMessage) (revenue.BillingStep, error) {
	a := &account{client: c, connector: connector, key: key}
	at := position{Phase: readSubscriptions, Began: c.now().Unix()}
	if len(from) > 0 {
		if err := json.Unmarshal(from, &at); err != nil {
			at = position{Phase: readSubscriptions, Began: c.now().Unix()}
		}
	}
	if at.Phase == readEvents && at.After == "" && c.now().Sub(time.Unix(at.From, 0)) > keptEvents+24*time.Hour {
		at = position{Phase: readSubscriptions, Began: c.now().Unix()} // Stripe has deleted the events in between.
	}
	step, err := a.step(ctx, &at)
	if _, gone := err.(errMissing); gone && at.After != "" { //nolint:errorlint // get returns it as it is
		at.After, at.Page = "", nil // The object after which the page begins was deleted, so the phase starts again.
		step, err = a.step(ctx, &at)
	}
	if _, gone := err.(errMissing); gone { //nolint:errorlint // get returns it as it is
		err = &revenue.BillingProblemError{Problem: revenue.BillingRefused}
	}
	if err != nil {
		return revenue.BillingStep{}, err
	}
	step.Position, err = json.Marshal(at)
	return step, err
}

// step reads one page and moves the position past it.
func (a *account) step(ctx context.Context, at *position) (revenue.BillingStep, error) {
	switch at.Phase {
	case readInvoices:
		return page(ctx, a, at, "/v1/invoices", url.Values{"expand[]": {"data.customer", "data.discounts"}}, readCharges,
			func(i *invoice) string { return i.ID }, func(i *invoice, _ time.Time) ([]revenue.BillingRow, error) { return a.billed(ctx, i, at.Began) })
	case readCharges:
		return page(ctx, a, at, "/v1/charges", url.Values{"expand[]": {"data.customer"}}, readRefunds,
			func(c *charge) string { return c.ID }, func(c *charge, _ time.Time) ([]revenue.BillingRow, error) { return some(a.paid(ctx, c)) })
	case readRefunds:
		step, err := page(ctx, a, at, "/v1/refunds", url.Values{"expand[]": {"data.charge.customer"}}, readEvents,
			func(r *refund) string { return r.ID }, func(r *refund, _ time.Time) ([]revenue.BillingRow, error) { return some(a.returned(ctx, r)) })
		if at.Phase == readEvents {
			at.From = at.Began - int64(keptEvents/time.Second)
		}
		return step, err
	case readEvents:
		return a.stepEvents(ctx, at)
	case readSubscriptions:
	}
	at.Phase = readSubscriptions
	return page(ctx, a, at, "/v1/subscriptions", subscriptionQuery(), readInvoices,
		func(s *subscription) string { return s.ID }, func(s *subscription, seen time.Time) ([]revenue.BillingRow, error) {
			return a.found(ctx, s, at.Began, seen)
		})
}

// subscriptionQuery selects subscriptions with all data for their prices.
func subscriptionQuery() url.Values {
	return url.Values{"status": {"all"}, "limit": {"100"}, "expand[]": {"data.customer", "data.discounts", "data.items.data.discounts"}}
}

// some returns the row if there is one.
func some(row revenue.BillingRow, ok bool, err error) ([]revenue.BillingRow, error) {
	if err != nil || !ok {
		return nil, err
	}
	return []revenue.BillingRow{row}, nil
}

// page reads one page of a list and makes items of it; after the last page, the next phase begins.
func page[T any](ctx context.Context, a *account, at *position, path string, query url.Values, next phase, id func(*T) string, items func(*T, time.Time) ([]revenue.BillingRow, error)) (step revenue.BillingStep, err error) {
	query.Set("limit", "100")
	if at.After != "" {
		query.Set("starting_after", at.After)
	}
	var found list[T]
	seen, err := a.client.get(ctx, a.key, path, query, &found)
	if err != nil {
		return step, err
	}
	for n := range found.Data {
		rows, err := items(&found.Data[n], seen)
		if err != nil {
			return step, err
		}
		step.Items = append(step.Items, rows...)
	}
	step.More = true
	if found.HasMore && len(found.Data) > 0 {
		at.After = id(&found.Data[len(found.Data)-1])
		return step, nil
	}
	at.Phase, at.After = next, ""
	return step, nil
}

// found returns the items of a subscription in a reading: its beginning, its end, and its present state. Its price was
// the present one unless invoices and events say otherwise.
func (a *account) found(ctx context.Context, s *subscription, began int64, seen time.Time) (rows []revenue.BillingRow, err error) {
	if s.Livemode != a.connector.Live {
		return nil, &revenue.BillingProblemError{Problem: revenue.BillingWrongMode}
	}
	if err := a.allItems(ctx, s); err != nil {
		return nil, err
	}
	run := strconv.FormatInt(began, 10)
	add := func(s *subscription, id string, at time.Time) {
		row, ok, failed := a.state(ctx, s, id, at)
		if failed != nil {
			err = failed
		} else if ok {
			rows = append(rows, row)
		}
	}
	if _, any := statusOf(s); any && s.Created < began-int64(keptEvents/time.Second) { // Events cover the other subscriptions.
		add(beginning(s), "begin", seconds(s.StartDate))
	}
	ended := s.EndedAt
	if ended == 0 {
		ended = s.CanceledAt
	}
	if s.Status == "canceled" && ended != 0 {
		add(s, "end", seconds(ended).Add(placeDeleted))
	} else {
		add(s, "seen:"+run, seen)
	}
	return rows, err
}

// beginning returns a subscription in its initial state.
func beginning(s *subscription) *subscription {
	first := *s
	first.Status, first.PauseCollection, first.EndedAt, first.CancelAt, first.CancelAtPeriodEnd = "active", nil, 0, 0, false
	if s.TrialStart != 0 && s.TrialStart <= s.StartDate {
		first.Status = "trialing"
	}
	first.Discounts, first.Discount = slices.Clone(subscriptionDiscounts(s)), nil
	first.Discounts = slices.DeleteFunc(first.Discounts, func(d discount) bool { return d.Start > s.StartDate })
	return &first
}

// billed returns the items of an invoice: payments outside Stripe, and the price of the subscription at that time if it
// is before the retained events.
func (a *account) billed(ctx context.Context, i *invoice, began int64) ([]revenue.BillingRow, error) {
	rows, err := some(a.settled(ctx, i))
	if err != nil || i.Subscription == "" || i.Livemode != a.connector.Live || i.Status != "paid" && i.Status != "open" {
		return rows, err
	}
	if err := a.allLines(ctx, i); err != nil {
		return nil, err
	}
	past := subscription{ID: i.Subscription, Status: "active", Customer: i.Customer, Currency: i.Currency, Discounts: i.Discounts}
	start := int64(0)
	for n := range i.Lines.Data {
		l := &i.Lines.Data[n]
		if l.Type != "subscription" || l.Proration || l.Price == nil {
			continue
		}
		if l.Amount == 0 && amount(l.Price.Decimal, l.Price.UnitAmount).Sign() > 0 {
			return rows, nil // This is the bill of a trial.
		}
		start = l.Period.Start
		past.Items.Data = append(past.Items.Data, item{ID: l.ID, Quantity: l.Quantity, Price: *l.Price})
	}
	if len(past.Items.Data) == 0 || start >= began-int64(keptEvents/time.Second) {
		return rows, nil
	}
	row, ok, err := a.state(ctx, &past, i.ID, seconds(start))
	if err == nil && ok {
		rows = append(rows, row)
	}
	return rows, err
}

// allLines reads the lines of an invoice that has more lines than one answer.
func (a *account) allLines(ctx context.Context, i *invoice) error {
	for i.Lines.HasMore && len(i.Lines.Data) > 0 {
		query := url.Values{"limit": {"100"}, "starting_after": {i.Lines.Data[len(i.Lines.Data)-1].ID}}
		var more list[line]
		if _, err := a.client.get(ctx, a.key, "/v1/invoices/"+url.PathEscape(i.ID)+"/lines", query, &more); err != nil {
			return err
		}
		i.Lines.Data, i.Lines.HasMore = append(i.Lines.Data, more.Data...), more.HasMore && len(more.Data) > 0
	}
	return nil
}

// stepEvents reads a page of the events of a time window. After its last page, all data until its end is complete.
func (a *account) stepEvents(ctx context.Context, at *position) (step revenue.BillingStep, err error) {
	if at.After == "" {
		at.To, at.Page = max(a.client.now().Unix(), at.From), nil
	}
	query := url.Values{
		"limit": {"100"}, "types[]": eventTypes(), "created[gte]": {strconv.FormatInt(at.From, 10)}, "created[lte]": {strconv.FormatInt(at.To, 10)},
	}
	if at.After != "" {
		query.Set("starting_after", at.After)
	}
	var found list[webhookEvent]
	if _, err := a.client.get(ctx, a.key, "/v1/events", query, &found); err != nil {
		return step, err
	}
	if step.Items, err = a.eventItems(ctx, found.Data, at.Recent); err != nil {
		return step, err
	}
	for n := range found.Data {
		if found.Data[n].Created >= at.To-int64(overlap/time.Second) && len(at.Page) < maxRecent {
			at.Page = append(at.Page, found.Data[n].ID)
		}
	}
	if found.HasMore && len(found.Data) > 0 {
		at.After, step.More = found.Data[len(found.Data)-1].ID, true
		return step, nil
	}
	step.Through = seconds(at.To)
	at.After, at.From = "", at.To-int64(overlap/time.Second)
	at.Recent, at.Page = at.Page, nil
	return step, nil
}

// eventItems returns the items of a page of events, which begins with the newest, except events that were read before.
// If a subscription changed several times within one second, only the list shows the order, so the last change is
// repeated.
func (a *account) eventItems(ctx context.Context, events []webhookEvent, recent []string) (rows []revenue.BillingRow, err error) {
	last := map[string]int64{} // It maps a subscription to the second of its preceding event.
	for n := len(events) - 1; n >= 0; n-- {
		e := &events[n]
		if slices.Contains(recent, e.ID) {
			continue
		}
		made, err := a.items(ctx, e)
		if err == errNoEvent { //nolint:errorlint // items returns it as it is
			continue // The event contains no revenue.
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, made...)
		if len(made) != 1 || made[0].Kind != revenue.BillingSubscription || e.Type == "customer.subscription.deleted" {
			continue
		}
		if second, before := last[made[0].Subject]; before && second == e.Created {
			again := made[0]
			again.ID, again.Ts = e.ID+":last", seconds(e.Created).Add(placeLast)
			rows = append(rows, again)
		}
		last[made[0].Subject] = e.Created
	}
	return rows, nil
}
