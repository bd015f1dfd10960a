//go:build !norevenue

package main

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/http/outbound/stripe/stripetest"
)

const billingPath = "/console/api/v1/apps/acme/web/billing"

// stripeServer serves an account that uses the machine's clock.
func stripeServer(t *testing.T) (*stripetest.Account, map[string]string) {
	account := stripetest.New(time.Now)
	server := httptest.NewServer(account)
	t.Cleanup(server.Close)
	env := watched()
	env["SVC_STRIPE_URL"] = server.URL
	return account, env
}

// hook sends the body of an event to the webhook of a connector, signed with a secret.
func (s *server) hook(path, secret string, body []byte) int {
	return s.call("POST", path, "", body, map[string]string{"Stripe-Signature": stripetest.Sign(body, time.Now(), secret)}).status
}

// TestRevenueFromStripe follows an account from a refused key through the first reading, which a kill interrupts, to
// webhooks and the events that webhooks did not deliver.
func TestRevenueFromStripe(t *testing.T) {
	account, env := stripeServer(t)
	account.Fail(stripetest.Fault{Status: 401}, stripetest.Fault{}, stripetest.Fault{Status: 429, RetryAfter: "1"}, stripetest.Fault{Half: true})
	begun := time.Now().AddDate(0, 0, -10).Truncate(time.Second)
	price := account.Price(begun, "Team", "usd", "1000", "month", 1, nil)
	want := 0
	var subscriptions []string
	for n := range 250 {
		who := account.Customer(begun, "", stripetest.Object{"distinct_id": fmt.Sprint("p", n)})
		subscriptions = append(subscriptions, account.Subscribe(begun.Add(time.Duration(n)*time.Second), who, "active", []stripetest.Object{account.Item(price, n%3+1)}, nil))
		want += 1000 * (n%3 + 1)
	}
	dir := t.TempDir()
	s := startChild(t, dir, env)
	session := s.seated("owner@acme.example", "owner")
	connect := func(method, body string) (answer, string) {
		got := s.call(method, billingPath+"/stripe", session, []byte(body), nil)
		return got, string(got.body)
	}
	put, text := connect("PUT", `{"provider":"stripe","environment":"staging","apiKey":"rk_test_51Mabc","signingSecret":"whsec_first"}`)
	hookPath, _ := object(t, put.body)["webhookPath"].(string)
	if put.status != 200 || hookPath == "" || strings.Contains(text, "51Mabc") || strings.Contains(text, "whsec_first") {
		t.Fatalf("connecting answers %d: %s", put.status, text)
	}
	overview := revenuePath + "/overview?env=staging&range=30d"
	eventually(t, "a refused key shows, and no zero revenue", func() error {
		got := s.get(overview)
		coverage, _ := got["coverage"].(map[string]any)
		if got["hasConnectors"] != false || coverage["complete"] != false || coverage["state"] != "failing" {
			return fmt.Errorf("the overview says hasConnectors %v and %v", got["hasConnectors"], coverage)
		}
		return nil
	})
	eventually(t, "the reading is under way", func() error {
		if asked := account.Asked(); len(asked) == 0 {
			return errors.New("nothing was asked for")
		}
		return nil
	})
	s.stopped()
	s = startChild(t, dir, env)
	mrr := func(want int) func() error {
		return func() error {
			got := s.get(overview)
			totals, _ := got["totals"].(map[string]any)
			if coverage, _ := got["coverage"].(map[string]any); totals["mrrCents"] != float64(want) || coverage["state"] != "current" || got["hasConnectors"] != true {
				return fmt.Errorf("the MRR is %v, want %d; %v", totals["mrrCents"], want, coverage)
			}
			return nil
		}
	}
	eventually(t, "everything was read once", mrr(want))
	account.Change(time.Now(), "customer.subscription.updated", subscriptions[0], stripetest.Object{"items": []stripetest.Object{account.Item(price, 50)}})
	events := account.Events()
	last := events[len(events)-1]
	if status := s.hook(hookPath, "whsec_other", last); status != 401 {
		t.Errorf("an event that another secret signs answers %d", status)
	}
	for range 2 {
		if status := s.hook(hookPath, "whsec_first", last); status != 200 {
			t.Fatalf("a signed event answers %d", status)
		}
	}
	eventually(t, "the webhook's change shows", mrr(want+49_000))
	if status := s.hook("/api/v1/revenue/stripe/bcn_nobody", "whsec_first", last); status != 404 {
		t.Errorf("the webhook of no connector answers %d", status)
	}
	account.Change(time.Now(), "customer.subscription.deleted", subscriptions[0], stripetest.Object{"status": "canceled", "canceled_at": time.Now().Unix(), "ended_at": time.Now().Unix()})
	if put, text := connect("PUT", `{"provider":"stripe","environment":"staging"}`); put.status != 200 { // the next step is due at once
		t.Fatalf("putting the connector again answers %d: %s", put.status, text)
	}
	eventually(t, "what no webhook brought is found among the events", mrr(want-1000))
	if gone, text := connect("DELETE", ""); gone.status != 200 || !strings.Contains(text, `"kept"`) {
		t.Errorf("disconnecting answers %d: %s", gone.status, text)
	}
	if totals := s.get(overview)["totals"].(map[string]any); totals["mrrCents"] != float64(want-1000) {
		t.Errorf("without its connector the MRR is %v", totals["mrrCents"])
	}
}

// TestStripeIsLeftAloneWhileTheModuleIsOff switches the module revenue off under an active connector. Stripe is not
// called, and webhooks and the routes are refused. Changes of the meantime are found when the module is on again.
func TestStripeIsLeftAloneWhileTheModuleIsOff(t *testing.T) {
	account, env := stripeServer(t)
	begun := time.Now().AddDate(0, 0, -3).Truncate(time.Second)
	price := account.Price(begun, "Team", "usd", "1000", "month", 1, nil)
	who := account.Customer(begun, "", stripetest.Object{"distinct_id": "ada"})
	subscription := account.Subscribe(begun, who, "active", []stripetest.Object{account.Item(price, 1)}, nil)
	s := startServer(t, t.TempDir(), env)
	session := s.seated("owner@acme.example", "owner")
	connect := func() answer {
		return s.call("PUT", billingPath+"/stripe", session, []byte(`{"provider":"stripe","environment":"staging","apiKey":"rk_test_51Mabc","signingSecret":"whsec_first"}`), nil)
	}
	hookPath, _ := object(t, connect().body)["webhookPath"].(string)
	mrr := func(want float64) {
		eventually(t, fmt.Sprintf("the MRR is %v", want), func() error {
			got := s.get(revenuePath + "/overview?env=staging&range=30d")
			if totals, _ := got["totals"].(map[string]any); totals["mrrCents"] != want || got["coverage"].(map[string]any)["state"] != "current" {
				return fmt.Errorf("it is %v: %v", totals["mrrCents"], got["coverage"])
			}
			return nil
		})
	}
	mrr(1000)
	modules := func(of string) {
		if status, text, _ := s.sendFlags("PATCH", "/api/v1/apps/acme/web", s.boot.Token, `{"modules":[`+of+`]}`); status != 200 {
			t.Fatalf("changing the modules answers %d: %s", status, text)
		}
	}
	modules(`"analytics"`)
	account.Change(time.Now(), "customer.subscription.updated", subscription, stripetest.Object{"items": []stripetest.Object{account.Item(price, 5)}})
	account.Asked()
	events := account.Events()
	if got := s.call("POST", hookPath, "", events[len(events)-1], map[string]string{"Stripe-Signature": stripetest.Sign(events[len(events)-1], time.Now(), "whsec_first")}); got.status != 403 || object(t, got.body)["code"] != "module_disabled" {
		t.Errorf("the webhook answers %d: %s", got.status, got.body)
	}
	for path, token := range map[string]string{billingPath: session, revenuePath + "/overview?env=staging": s.boot.Token} {
		if got := s.call("GET", path, token, nil, nil); got.status != 403 || object(t, got.body)["code"] != "module_disabled" {
			t.Errorf("%s answers %d: %s", path, got.status, got.body)
		}
	}
	if got := connect(); got.status != 403 {
		t.Errorf("connecting answers %d: %s", got.status, got.body)
	}
	if asked := account.Asked(); len(asked) != 0 {
		t.Errorf("Stripe was asked for %v", asked)
	}
	modules(`"analytics","revenue"`)
	if got := connect(); got.status != 200 { // the next step is due at once
		t.Fatalf("connecting again answers %d: %s", got.status, got.body)
	}
	mrr(5000)
}
