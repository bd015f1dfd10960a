package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"time"

	"svc/bench/harness"
	"svc/http/outbound/stripe/stripetest" //nolint:depguard // an account of Stripe, no part of the service
)

// A billing connector reads the account of this file while nodes die: many pages of earlier objects, and then changes.
// Webhooks to any node deliver a part of the changes, some of them twice. At rest every node answers the contents of
// the account: nothing is lost, nothing counts twice.

const (
	// accountEnvironment has no other billing items.
	accountEnvironment = "production"
	// accountBegins is the initial number of subscriptions of the account, which fill several pages.
	accountBegins = 450
	// accountPause is the time between two changes, accountTime limits the wait for the last of them.
	accountPause, accountTime = 100 * time.Millisecond, 3 * time.Minute
	// seatCents is the monthly price of one seat; the account has no other price.
	seatCents = 1000
)

// account holds the objects of the provider and the totals that nodes must answer.
type account struct {
	*stripetest.Account
	server *httptest.Server
	price  string

	hook string // path of the webhook
	// seats are the quantities of the active subscriptions, and order their ids in turn.
	seats map[string]int
	order []string
	want  accountTotals
}

// accountTotals are the totals of revenue.overview that the account determines.
type accountTotals struct {
	MRR       int `json:"mrrCents"`
	Active    int `json:"activeSubscriptions"`
	New       int `json:"newSubscriptions"`
	Churned   int `json:"churnedSubscriptions"`
	Payments  int `json:"paymentsCents"`
	Refunds   int `json:"refundsCents"`
	Movements int `json:"netNewMrrCents"`
}

// newAccount serves an account that began to sell ten days ago.
func newAccount() *account {
	a := &account{Account: stripetest.New(time.Now), seats: map[string]int{}}
	a.Live, a.Key = true, "rk_live_51Mabc"
	a.server = httptest.NewServer(a)
	begun := time.Now().AddDate(0, 0, -10).Truncate(time.Second)
	a.price = a.Price(begun, "Seats", "usd", fmt.Sprint(seatCents), "month", 1, nil)
	for n := range accountBegins {
		a.subscribe(begun.Add(time.Duration(n)*time.Second), 1+n%5)
	}
	return a
}

// settings are the settings with which nodes read this account.
func (a *account) settings() []string { return []string{"SVC_STRIPE_URL=" + a.server.URL} }

// subscribe creates a customer that pays for the first month.
func (a *account) subscribe(at time.Time, seats int) {
	who := a.Customer(at, "", stripetest.Object{"distinct_id": fmt.Sprint("payer-", a.want.New)})
	id := a.Subscribe(at, who, "active", []stripetest.Object{a.Item(a.price, seats)}, nil)
	a.Charge(at, who, "usd", seats*seatCents)
	a.seats[id], a.order = seats, append(a.order, id)
	a.want.New, a.want.Payments = a.want.New+1, a.want.Payments+seats*seatCents
}

// change makes one change: a subscription begins, changes its seats or ends, or a charge is partly refunded.
// Subscriptions take turns, because the changes of one subscription within a second have no order.
func (a *account) change(random *rand.Rand) {
	now := time.Now()
	id := a.order[0]
	switch n := random.IntN(10); {
	case n < 3:
		a.subscribe(now, 1+random.IntN(5))
		return
	case n < 7:
		a.seats[id] = 1 + (a.seats[id]+random.IntN(4))%5
		a.Change(now, "customer.subscription.updated", id, stripetest.Object{"items": []stripetest.Object{a.Item(a.price, a.seats[id])}})
	case n < 8:
		charge := a.Charge(now, a.Customer(now, "", stripetest.Object{}), "usd", seatCents)
		a.Refund(now, charge, seatCents/4)
		a.want.Payments, a.want.Refunds = a.want.Payments+seatCents, a.want.Refunds+seatCents/4
	default:
		a.Change(now, "customer.subscription.deleted", id, stripetest.Object{"status": "canceled", "canceled_at": now.Unix(), "ended_at": now.Unix()})
		delete(a.seats, id)
		a.order = a.order[1:]
		a.want.Churned++
		return
	}
	a.order = append(a.order[1:], id)
}

// totals returns the expected answer now.
func (a *account) totals() accountTotals {
	want := a.want
	want.Active = len(a.seats)
	for _, seats := range a.seats {
		want.MRR += seats * seatCents
	}
	want.Movements = want.MRR // all of it moved within the range
	return want
}

// startAccount connects the account and begins to change it.
func (l *load) startAccount(ctx context.Context, random *rand.Rand) error {
	if err := l.connectAccount(ctx, l.nodes.all[0]); err != nil {
		return err
	}
	own := rand.New(rand.NewPCG(random.Uint64(), 10))
	l.wg.Go(func() {
		for sent := len(l.account.Events()); ctx.Err() == nil; time.Sleep(accountPause) {
			l.account.change(own)
			bodies := l.account.Events()
			for _, body := range bodies[sent:] {
				for range own.IntN(3) { // delivered never, once, or twice
					l.tellAccount(ctx, l.any(own), body)
				}
			}
			sent = len(bodies)
		}
	})
	return nil
}

// connectAccount stores the connector, after which its next step is due at once.
func (l *load) connectAccount(ctx context.Context, at *node) error {
	session, err := at.Login(ctx, "owner@acme.example")
	if err != nil {
		return err
	}
	body := fmt.Sprintf(`{"provider":"stripe","environment":%q,"apiKey":%q,"signingSecret":%q}`, accountEnvironment, l.account.Key, l.account.Signing)
	answer, err := at.Console(ctx, session, http.MethodPut, "/apps/acme/web/billing/stripe", []byte(body), http.StatusOK)
	if err != nil {
		return fmt.Errorf("connecting an account: %w", err)
	}
	var made struct {
		WebhookPath string `json:"webhookPath"`
	}
	if err := json.Unmarshal(answer, &made); err != nil || made.WebhookPath == "" {
		return errors.Join(err, fmt.Errorf("connecting an account: it is answered %.300s", answer))
	}
	l.account.hook = made.WebhookPath
	return nil
}

// tellAccount sends a webhook once. The provider would repeat it, and changes without a webhook are found among the
// events.
func (l *load) tellAccount(ctx context.Context, at *node, body []byte) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at.Address+l.account.hook, bytes.NewReader(body))
	if err != nil {
		l.problem("making a request: %v", err)
		return
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Stripe-Signature", stripetest.Sign(body, time.Now(), l.account.Signing))
	response, err := l.client.Do(request)
	if err != nil {
		return
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusServiceUnavailable {
		l.problem("a webhook through %s is answered %d", at.name, response.StatusCode)
	}
}

// checkAccount compares the answers of every node with the contents of the account.
func (l *load) checkAccount(ctx context.Context) {
	if err := l.connectAccount(ctx, l.nodes.all[0]); err != nil {
		l.problem("%v", err)
	}
	want := l.account.totals()
	for _, n := range l.nodes.all {
		err := harness.Poll(ctx, "what the account holds through "+n.name, accountTime, 200*time.Millisecond, func(ctx context.Context) (bool, string) {
			status, answer := l.call(ctx, n, http.MethodGet, "/apps/acme/web/revenue/overview?env="+accountEnvironment+"&range=30d", n.Token, nil)
			var got struct {
				Totals   accountTotals `json:"totals"`
				Coverage struct {
					State string `json:"state"`
				} `json:"coverage"`
			}
			if status != http.StatusOK || json.Unmarshal(answer, &got) != nil {
				return false, fmt.Sprintf("it is answered %d: %.200s", status, answer)
			}
			return got.Totals == want && got.Coverage.State == "current", fmt.Sprintf("%+v (%s), not %+v", got.Totals, got.Coverage.State, want)
		})
		if err != nil {
			l.problem("%v", err)
			continue
		}
		fmt.Printf("an account of %d subscriptions, %d of which ended, is answered through %s\n", want.New, want.Churned, n.name)
	}
}
