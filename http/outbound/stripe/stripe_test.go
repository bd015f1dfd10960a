package stripe

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/revenue"
	"svc/http/outbound/stripe/stripetest"
)

// desk is a connector to an account of the test, and the received items.
type desk struct {
	t         *testing.T
	account   *stripetest.Account
	client    *Client
	connector *revenue.BillingConnector
	key       domain.Secret
	position  json.RawMessage
	rows      []revenue.BillingRow
	now       time.Time
}

func newDesk(t *testing.T, now time.Time) *desk {
	t.Helper()
	d := &desk{t: t, now: now, key: "rk_test_51Mabc", connector: &revenue.BillingConnector{Hook: "bcn_1", Number: 7, BillingSpec: revenue.BillingSpec{Provider: revenue.BillingStripe, Customers: revenue.CustomersByMetadata}}}
	d.account = stripetest.New(func() time.Time { return d.now })
	server := httptest.NewServer(d.account)
	t.Cleanup(server.Close)
	d.client = New(server.Client(), server.URL, func() time.Time { return d.now })
	return d
}

// take appends rows as the log does.
func (d *desk) take(rows []revenue.BillingRow) {
	for n := range rows {
		rows[n].ReceivedAt, rows[n].Seq = time.UnixMilli(int64(len(d.rows))), uint32(n)
	}
	d.rows = append(d.rows, rows...)
}

// read makes steps until there are no more pages. Some of them are repeated, as after a kill.
func (d *desk) read(repeat func() bool) (through time.Time) {
	d.t.Helper()
	for failures := 0; ; {
		step, err := d.client.Step(context.Background(), d.connector, d.key, d.position)
		if err != nil {
			if failures++; failures > 50 {
				d.t.Fatal(err)
			}
			continue
		}
		d.take(step.Items)
		if repeat() {
			continue
		}
		d.position, through = step.Position, step.Through
		if !step.More {
			return through
		}
	}
}

func never() bool { return false }

// TestRandomHistories reads random accounts, with webhooks that are lost, late and repeated, steps that are repeated
// and answers that fail. It compares the figures with a count that uses no code of the service.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		d := newDesk(t, begin.AddDate(0, 0, 20))
		h := newHistory(seed, d.account, begin)
		chance := rand.New(rand.NewPCG(seed, 2))
		d.account.Fail(stripetest.Fault{}, stripetest.Fault{Status: 429, RetryAfter: "2"}, stripetest.Fault{Half: true}, stripetest.Fault{}, stripetest.Fault{Status: 500}, stripetest.Fault{}, stripetest.Fault{}, stripetest.Fault{Status: 503})
		h.live(begin, d.now, 320)
		if through := d.read(func() bool { return chance.IntN(4) == 0 }); !through.Equal(d.now) {
			t.Fatalf("after the first reading everything is known until %v, want %v", through, d.now)
		}
		seen, from := len(d.account.Events()), d.now
		d.now = d.now.AddDate(0, 0, 3)
		h.live(from.Add(time.Second), d.now, 120)
		bodies := d.account.Events()[seen:]
		chance.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
		for _, body := range slices.Concat(bodies[:len(bodies)*2/3], bodies[:20]) {
			rows, err := d.client.Hook(context.Background(), d.connector, d.key, body)
			if err != nil {
				t.Fatal(err)
			}
			d.take(rows)
		}
		d.now = d.now.Add(revenue.BillingPollEvery)
		d.read(func() bool { return chance.IntN(4) == 0 })
		chance.Shuffle(len(d.rows), func(i, j int) { d.rows[i], d.rows[j] = d.rows[j], d.rows[i] })
		window := domain.Window{Location: time.UTC, From: begin.AddDate(0, 0, -1), To: d.now.AddDate(0, 0, 1), Interval: domain.Day}
		got, want := revenue.NewLedger(d.rows, "").Overview(window, d.now), h.totals()
		if got.Totals != want {
			t.Errorf("seed %d:\n got %+v\nwant %+v", seed, got.Totals, want)
		}
		sum := int64(0)
		moves, _ := revenue.NewLedger(d.rows, "").Movements(window, d.now, "", nil, 1<<20)
		for _, move := range moves {
			sum += move.Converted
		}
		if sum != want.NetNew() || len(moves) == 0 {
			t.Errorf("seed %d: %d movements sum up to %d, want %d", seed, len(moves), sum, want.NetNew())
		}
	}
}

// TestWhatIsOlderThanEvents reads an account with subscriptions that began long ago.
func TestWhatIsOlderThanEvents(t *testing.T) {
	t.Parallel()
	d := newDesk(t, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	a, day := d.account, func(month, day int) time.Time { return time.Date(2026, time.Month(month), day, 0, 0, 0, 0, time.UTC) }
	ada, bob := a.Customer(day(1, 1), "Ada@acme.example", stripetest.Object{}), a.Customer(day(1, 1), "", stripetest.Object{"distinct_id": "bob"})
	cheap, dear := a.Price(day(1, 1), "Pro", "usd", "1000", "month", 1, nil), a.Price(day(1, 1), "Max", "usd", "2500", "month", 1, nil)
	// Ada changed from Pro to Max in May, which only her bills show.
	s := a.Subscribe(day(3, 1), ada, "active", []stripetest.Object{a.Item(dear, 2)}, nil)
	for month := 3; month <= 6; month++ {
		price, cents := cheap, 2000
		if month >= 5 {
			price, cents = dear, 5000
		}
		lines := []stripetest.Object{a.Line(price, 2, cents, day(month, 1), false), a.Line(cheap, 2, -900, day(month, 1), true)}
		a.Invoice(day(month, 1), ada, s, "usd", "paid", lines, stripetest.Object{"amount_paid": cents, "paid_out_of_band": month == 3})
	}
	// Bob tried from April 1 to 15, paid, and left in August.
	a.Subscribe(day(4, 1), bob, "canceled", []stripetest.Object{a.Item(cheap, 1)}, stripetest.Object{"trial_start": day(4, 1).Unix(), "trial_end": day(4, 15).Unix(), "canceled_at": day(8, 2).Unix(), "ended_at": day(8, 2).Unix()})
	a.Charge(day(4, 15), bob, "usd", 1000)
	d.connector.Customers = revenue.CustomersByEmail
	d.read(never)
	ledger := revenue.NewLedger(d.rows, "")
	moves, _ := ledger.Movements(domain.Window{Location: time.UTC, From: day(1, 1), To: d.now}, d.now, "", nil, 100)
	var got []string
	for _, m := range slices.Backward(moves) {
		got = append(got, m.At.Format(time.DateOnly)+" "+string(m.Kind)+" "+m.Customer+" "+m.Plan+" "+itoa(m.Cents))
	}
	want := []string{"2026-03-01 new ada@acme.example Pro 2000", "2026-04-15 new bob Pro 1000", "2026-05-01 expansion ada@acme.example Max 3000", "2026-08-02 churn bob Pro -1000"}
	if !slices.Equal(got, want) {
		t.Errorf("the movements are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if totals := ledger.Overview(domain.Window{Location: time.UTC, From: day(1, 1), To: d.now, Interval: domain.Month}, d.now).Totals; totals.Payments != 3000 || totals.MRR != 5000 {
		t.Errorf("payments are %d and the MRR %d, want 3000 and 5000", totals.Payments, totals.MRR)
	}
}

func itoa(n int64) string { text, _ := json.Marshal(n); return string(text) }

// TestPricesOfAllKinds compares the MRR of subscriptions of every kind of price with a calculation by hand.
func TestPricesOfAllKinds(t *testing.T) {
	t.Parallel()
	type object = stripetest.Object
	five := int64(5)
	tiers := func(mode string) object {
		return object{"billing_scheme": "tiered", "unit_amount": nil, "unit_amount_decimal": nil, "tiers_mode": mode, "_tiers": []any{
			object{"up_to": five, "unit_amount": 1000, "flat_amount": 500}, object{"up_to": nil, "unit_amount": 600, "flat_amount": nil},
		}}
	}
	for _, test := range []struct {
		name, currency, amount, interval string
		count, quantity                  int
		price, subscription              object
		want                             int64
	}{
		{name: "fractions of a cent", currency: "usd", amount: "0.4", interval: "month", count: 1, quantity: 10_001, want: 4000},
		{name: "yen have no decimals", currency: "jpy", amount: "500", interval: "year", count: 1, quantity: 24, want: 1000},
		{name: "ISK have two at Stripe and none here", currency: "isk", amount: "150000", interval: "month", count: 1, quantity: 2, want: 3000},
		{name: "dinars have three", currency: "kwd", amount: "5120", interval: "month", count: 1, quantity: 1, want: 5120},
		{name: "every second week", currency: "usd", amount: "1200", interval: "week", count: 2, quantity: 1, want: 2600},
		{name: "packages round up", currency: "usd", amount: "100", interval: "month", count: 1, quantity: 11, price: object{"transform_quantity": object{"divide_by": 5, "round": "up"}}, want: 300},
		{name: "packages round down", currency: "usd", amount: "100", interval: "month", count: 1, quantity: 11, price: object{"transform_quantity": object{"divide_by": 5, "round": "down"}}, want: 200},
		{name: "what is metered has no price before", currency: "usd", amount: "100", interval: "month", count: 1, quantity: 3, price: object{"recurring": object{"interval": "month", "interval_count": 1, "usage_type": "metered"}}, want: 0},
		{name: "graduated tiers", currency: "usd", amount: "", interval: "month", count: 1, quantity: 7, price: tiers("graduated"), want: 500 + 5000 + 1200},
		{name: "tiers by volume", currency: "usd", amount: "", interval: "month", count: 1, quantity: 7, price: tiers("volume"), want: 4200},
		{name: "unpaid does not count", currency: "usd", amount: "100", interval: "month", count: 1, quantity: 1, subscription: object{"status": "unpaid"}, want: 0},
		{name: "past due counts", currency: "usd", amount: "100", interval: "month", count: 1, quantity: 1, subscription: object{"status": "past_due"}, want: 100},
		{name: "collection is paused", currency: "usd", amount: "100", interval: "month", count: 1, quantity: 1, subscription: object{"pause_collection": object{"behavior": "mark_uncollectible"}}, want: 0},
		{name: "ends with its period, later", currency: "usd", amount: "100", interval: "month", count: 1, quantity: 1, subscription: object{"cancel_at_period_end": true, "current_period_end": int64(2_000_000_000)}, want: 100},
		{name: "ended at a time", currency: "usd", amount: "100", interval: "month", count: 1, quantity: 1, subscription: object{"cancel_at": int64(1_795_000_100)}, want: 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			begun := time.Unix(1_795_000_000, 0)
			d := newDesk(t, begun.Add(time.Hour))
			who := d.account.Customer(begun, "", nil)
			price := d.account.Price(begun, "Pro", test.currency, test.amount, test.interval, test.count, test.price)
			d.account.Subscribe(begun, who, "active", []object{d.account.Item(price, test.quantity)}, test.subscription)
			d.read(never)
			ledger := revenue.NewLedger(d.rows, "")
			if got := ledger.Overview(domain.Window{Location: time.UTC, From: begun.Add(-time.Hour), To: d.now, Interval: domain.Day}, d.now).Totals.MRR; got != test.want {
				t.Errorf("the MRR is %d, want %d", got, test.want)
			}
		})
	}
}

// TestDiscountsOfItems uses discounts on single items, on the whole subscription, and a second item.
func TestDiscountsOfItems(t *testing.T) {
	t.Parallel()
	begun := time.Unix(1_795_000_000, 0)
	d := newDesk(t, begun.Add(time.Hour))
	a := d.account
	seats, support := a.Price(begun, "Seats", "eur", "1000", "month", 1, nil), a.Price(begun, "Support", "eur", "500", "month", 1, nil)
	half := a.Discount(begun.Unix(), 0, stripetest.Object{"duration": "forever", "percent_off": 50})
	off := a.Discount(begun.Unix(), begun.Add(30*time.Minute).Unix(), stripetest.Object{"duration": "repeating", "percent_off": nil, "amount_off": 300, "currency": "eur"})
	a.Subscribe(begun, a.Customer(begun, "", nil), "active", []stripetest.Object{a.Item(seats, 3, half), a.Item(support, 1)}, stripetest.Object{"discounts": []any{off}})
	d.read(never)
	ledger := revenue.NewLedger(d.rows, "")
	for after, want := range map[time.Duration]int64{20 * time.Minute: 1500 + 500 - 300, 40 * time.Minute: 1500 + 500} {
		at := begun.Add(after)
		if got := ledger.Overview(domain.Window{Location: time.UTC, From: begun.Add(-time.Hour), To: at, Interval: domain.Day}, at).Totals.MRR; got != want {
			t.Errorf("after %v the MRR is %d, want %d", after, got, want)
		}
	}
}

// TestProblems makes requests fail, and checks that no text of an answer leaves the package.
func TestProblems(t *testing.T) {
	t.Parallel()
	d := newDesk(t, time.Unix(1_795_000_000, 0))
	for name, test := range map[string]struct {
		fault stripetest.Fault
		want  revenue.BillingProblemError
	}{
		"the rate": {stripetest.Fault{Status: 429, RetryAfter: "7"}, revenue.BillingProblemError{Problem: revenue.BillingLimited, RetryAfter: 7 * time.Second}},
		"rights":   {stripetest.Fault{Status: 403}, revenue.BillingProblemError{Problem: revenue.BillingForbidden}},
		"an error": {stripetest.Fault{Status: 502}, revenue.BillingProblemError{Problem: revenue.BillingProviderAway}},
		"a half":   {stripetest.Fault{Half: true}, revenue.BillingProblemError{Problem: revenue.BillingProviderAway}},
		"refusal":  {stripetest.Fault{Status: 400}, revenue.BillingProblemError{Problem: revenue.BillingRefused}},
	} {
		d.account.Fail(test.fault)
		_, err := d.client.Step(context.Background(), d.connector, d.key, nil)
		if problem, known := errors.AsType[*revenue.BillingProblemError](err); !known || *problem != test.want {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	d.account.Refuse("rk_test_another")
	_, err := d.client.Step(context.Background(), d.connector, d.key, nil)
	if problem, known := errors.AsType[*revenue.BillingProblemError](err); !known || problem.Problem != revenue.BillingKeyRefused || strings.Contains(err.Error(), "51Mabc") {
		t.Errorf("a key that is not valid: %v", err)
	}
}

// TestALongAbsenceReadsAnew pauses for longer than Stripe's retention of events.
func TestALongAbsenceReadsAnew(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := newDesk(t, begun)
	d.read(never)
	d.account.Asked()
	d.now = begun.AddDate(0, 0, 40)
	d.read(never)
	if asked := d.account.Asked(); !slices.Contains(asked, "/v1/subscriptions") || asked[len(asked)-1] != "/v1/events" {
		t.Errorf("after 40 days the reading asks for %v", asked)
	}
}

// TestSigned checks signatures.
func TestSigned(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_795_000_000, 0)
	body := []byte(`{"id":"evt_1"}`)
	secrets := []domain.Secret{"whsec_new", "whsec_old"}
	for name, test := range map[string]struct {
		header string
		want   bool
	}{
		"signed":                   {stripetest.Sign(body, now, "whsec_new"), true},
		"by both, in rotation":     {stripetest.Sign(body, now, "whsec_other", "whsec_old"), true},
		"five minutes ago":         {stripetest.Sign(body, now.Add(-300*time.Second), "whsec_new"), true},
		"five minutes and one ago": {stripetest.Sign(body, now.Add(-301*time.Second), "whsec_new"), false},
		"in the future":            {stripetest.Sign(body, now.Add(301*time.Second), "whsec_new"), false},
		"another secret":           {stripetest.Sign(body, now, "whsec_other"), false},
		"another body":             {stripetest.Sign([]byte(`{"id":"evt_2"}`), now, "whsec_new"), false},
		"nothing":                  {"", false},
		"no time":                  {strings.Replace(stripetest.Sign(body, now, "whsec_new"), "t=", "s=", 1), false},
		"another scheme":           {strings.ReplaceAll(stripetest.Sign(body, now, "whsec_new"), "v1=", "v0="), false},
	} {
		if got := Signed(test.header, body, secrets, now); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if Signed(stripetest.Sign(body, now, ""), body, nil, now) {
		t.Error("without a secret, nothing is signed")
	}
}

// TestHooksThatAreNothing sends events of the other mode, events of other kinds, and bodies that are not events.
func TestHooksThatAreNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, time.Unix(1_795_000_000, 0))
	for body, refused := range map[string]bool{
		`{"id":"evt_1","type":"charge.succeeded","livemode":true,"created":1,"data":{"object":{"id":"ch_1","status":"succeeded"}}}`: false,
		`{"id":"evt_1","type":"payout.paid","livemode":false,"created":1,"data":{"object":{}}}`:                                     false,
		`{"id":"evt_1","type":"charge.succeeded","livemode":false,"data":{"object":[]}}`:                                            true,
		`{"type":"charge.succeeded"}`: true,
		`<xml/>`:                      true,
	} {
		rows, err := d.client.Hook(context.Background(), d.connector, d.key, []byte(body))
		if len(rows) != 0 || (domain.CodeOf(err) == domain.CodeInvalidRequest) != refused || !refused && err != nil {
			t.Errorf("%s makes %v, %v", body, rows, err)
		}
	}
}

var _ http.Handler = (*stripetest.Account)(nil)
