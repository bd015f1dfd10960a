// Package stripetest serves accounts of Stripe to tests, as Stripe documents its API: keys, versions, pages, expansion,
// errors, rate limits, and webhooks.
package stripetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Object is an object of the API.
type Object map[string]any

// Account is one account. Its methods may be called from any number of goroutines at the same time.
type Account struct {
	Key, Signing string
	Live         bool
	// Now is the time of answers.
	Now func() time.Time

	mu     sync.Mutex
	lists  map[string][]Object // The key is the path; each list has the oldest object first.
	byID   map[string]Object
	events []Object
	count  int
	faults []Fault
	asked  []string
}

// Fault is an answer that replaces the right one.
type Fault struct {
	Status     int
	RetryAfter string
	// Half ends the connection in the middle of the right answer.
	Half bool
}

// New returns an empty account.
func New(now func() time.Time) *Account {
	return &Account{Key: "rk_test_51Mabc", Signing: "whsec_first", Now: now, lists: map[string][]Object{}, byID: map[string]Object{}}
}

// Fail answers the next requests with faults.
func (a *Account) Fail(faults ...Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = append(a.faults, faults...)
}

// Refuse makes key the only accepted key: a wrong one refuses all requests.
func (a *Account) Refuse(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Key = key
}

// Asked returns the paths of the requests since the last call.
func (a *Account) Asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	return asked
}

func (a *Account) id(prefix string) string {
	a.count++
	return fmt.Sprintf("%s_1Q%06d", prefix, a.count)
}

// add adds an object to the list of a path.
func (a *Account) add(path, prefix, kind string, at time.Time, o Object) Object {
	o["id"], o["object"], o["created"], o["livemode"] = a.id(prefix), kind, at.Unix(), a.Live
	a.lists[path] = append(a.lists[path], o)
	a.byID[o["id"].(string)] = o
	return o
}

// Customer makes a customer.
func (a *Account) Customer(at time.Time, email string, metadata Object) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.add("customers", "cus", "customer", at, Object{"email": email, "metadata": metadata})["id"].(string)
}

// Price makes a recurring price of a product with a name.
func (a *Account) Price(at time.Time, product, currency, amount, interval string, count int, more Object) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	made := a.add("products", "prod", "product", at, Object{"name": product})
	price := Object{
		"currency": currency, "billing_scheme": "per_unit", "product": made["id"], "nickname": nil, "type": "recurring", "transform_quantity": nil, "tiers_mode": nil,
		"unit_amount": nil, "unit_amount_decimal": amount, "recurring": Object{"interval": interval, "interval_count": count, "usage_type": "licensed"},
	}
	if whole, err := strconv.Atoi(amount); err == nil {
		price["unit_amount"] = whole
	}
	maps.Copy(price, more)
	return a.add("prices", "price", "price", at, price)["id"].(string)
}

// Discount makes a discount of a coupon and returns its id.
func (a *Account) Discount(start, end int64, coupon Object) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	coupon["id"] = a.id("co")
	d := Object{"object": "discount", "id": a.id("di"), "start": start, "end": nil, "coupon": coupon}
	if end != 0 {
		d["end"] = end
	}
	a.byID[d["id"].(string)] = d
	return d["id"].(string)
}

// Item is an item of a subscription.
func (a *Account) Item(price string, quantity int, discounts ...string) Object {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Object{"id": a.id("si"), "object": "subscription_item", "price": a.byID[price], "quantity": quantity, "discounts": ids(discounts)}
}

func ids(words []string) []any {
	all := make([]any, len(words))
	for n, word := range words {
		all[n] = word
	}
	return all
}

// Subscribe makes a subscription and its event.
func (a *Account) Subscribe(at time.Time, customer, status string, items []Object, more Object) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Object{
		"customer": customer, "status": status, "currency": items[0]["price"].(Object)["currency"], "start_date": at.Unix(), "metadata": Object{}, "discounts": []any{}, "discount": nil,
		"trial_start": nil, "trial_end": nil, "canceled_at": nil, "ended_at": nil, "cancel_at": nil, "cancel_at_period_end": false, "pause_collection": nil,
		"current_period_end": at.AddDate(0, 1, 0).Unix(),
	}
	maps.Copy(s, more)
	a.add("subscriptions", "sub", "subscription", at, s)
	s["items"] = listOf(items)
	a.emit("customer.subscription.created", s, at, nil)
	return s["id"].(string)
}

func listOf(items []Object) Object {
	all := make([]any, len(items))
	for n := range items {
		all[n] = items[n]
	}
	return Object{"object": "list", "data": all, "has_more": false}
}

// Change changes an object and emits an event of a type; an empty type emits none.
func (a *Account) Change(at time.Time, kind, id string, change Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o, previous := a.byID[id], Object{}
	for name, value := range change {
		previous[name] = o[name]
		if items, ok := value.([]Object); ok {
			value = listOf(items)
		}
		o[name] = value
	}
	if kind != "" {
		a.emit(kind, o, at, previous)
	}
}

// Charge makes a succeeded charge, its event, and returns its id.
func (a *Account) Charge(at time.Time, customer, currency string, cents int) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.add("charges", "ch", "charge", at, Object{"customer": customer, "currency": currency, "amount": cents, "amount_captured": cents, "captured": true, "paid": true, "status": "succeeded"})
	a.emit("charge.succeeded", c, at, nil)
	return c["id"].(string)
}

// Refund refunds a part of a charge.
func (a *Account) Refund(at time.Time, charge string, cents int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.byID[charge]
	a.add("refunds", "re", "refund", at, Object{"charge": charge, "currency": c["currency"], "amount": cents, "status": "succeeded"})
	a.emit("charge.refunded", c, at, nil)
}

// Invoice adds an invoice; its lines are added as they are.
func (a *Account) Invoice(at time.Time, customer, subscription, currency, status string, lines []Object, more Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := Object{
		"customer": customer, "subscription": subscription, "currency": currency, "status": status, "amount_paid": 0, "paid_out_of_band": false, "discounts": []any{},
		"status_transitions": Object{"paid_at": at.Unix()}, "lines": listOf(lines),
	}
	maps.Copy(i, more)
	a.add("invoices", "in", "invoice", at, i)
}

// Line is a line of an invoice for a price.
func (a *Account) Line(price string, quantity, amount int, start time.Time, proration bool) Object {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Object{"id": a.id("il"), "type": "subscription", "amount": amount, "quantity": quantity, "proration": proration, "price": a.byID[price], "period": Object{"start": start.Unix()}}
}

// emit stores an event with the present state of the object.
func (a *Account) emit(kind string, o Object, at time.Time, previous Object) {
	a.events = append(a.events, Object{
		"id": a.id("evt"), "object": "event", "type": kind, "created": at.Unix(), "livemode": a.Live, "api_version": "2025-02-24.acacia",
		"data": Object{"object": clone(o), "previous_attributes": previous},
	})
}

// clone returns an object as it is sent, without its expansions.
func clone(o Object) Object {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	var copied Object
	if err := json.Unmarshal(text, &copied); err != nil {
		panic(err)
	}
	return copied
}

// Events returns the bodies of the webhooks of all events, the oldest first.
func (a *Account) Events() (bodies [][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.events {
		text, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		bodies = append(bodies, text)
	}
	return bodies
}

// Sign returns the header Stripe-Signature of a body, by one signature for each secret.
func Sign(body []byte, at time.Time, secrets ...string) string {
	header := "t=" + strconv.FormatInt(at.Unix(), 10)
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
		header += ",v1=" + hex.EncodeToString(mac.Sum(nil))
	}
	return header + ",v0=00"
}

// newestFirst returns a list with the newest first.
func newestFirst(all []Object) []Object {
	sorted := slices.Clone(all)
	slices.Reverse(sorted)
	slices.SortStableFunc(sorted, func(x, y Object) int { return int(created(y) - created(x)) })
	return sorted
}

func created(o Object) int64 {
	switch at := o["created"].(type) {
	case int64:
		return at
	case float64:
		return int64(at)
	}
	return 0
}
