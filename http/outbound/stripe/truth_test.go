package stripe

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"svc/domain/revenue"
	"svc/http/outbound/stripe/stripetest"
)

// priced is a price of the test. One unit of its quantity is worth up/down cents a month.
type priced struct {
	id       string
	up, down int64
	// bills is the share of one bill that falls on a month, as a fraction of twelfths.
	billUp, billDown int64
}

// told is the test's own record of a subscription since an instant, without any code of the service.
type told struct {
	at                     int64
	subscription, customer string
	trial                  bool
	cents                  int64
}

// history makes random changes in an account and records their worth.
type history struct {
	*stripetest.Account
	random   *rand.Rand
	currency string
	prices   []priced
	people   []string
	begun    map[string]*begun
	notes    []told
	paid     int64
	refunded int64
}

// begun is a subscription that has not ended.
type begun struct {
	id, customer string
	last         int64
	status       string
	price        priced
	quantity     int64
	percent, off int64
	until        int64 // until is the end of the discount; 0 for none.
	paused       bool
	trialEnd     int64
}

func newHistory(seed uint64, account *stripetest.Account, at time.Time) *history {
	h := &history{Account: account, random: rand.New(rand.NewPCG(seed, 1)), currency: "usd", begun: map[string]*begun{}}
	if seed%2 == 1 {
		h.currency = "jpy"
	}
	make := func(amount, interval string, count int, up, down, billUp, billDown int64) {
		h.prices = append(h.prices, priced{account.Price(at, "Plan "+interval, h.currency, amount, interval, count, nil), up, down, billUp, billDown})
	}
	make("1000", "month", 1, 1000, 1, 1, 1)
	make("29000", "year", 1, 29000, 12, 1, 12)
	make("700", "week", 2, 700*52, 24, 52, 24)
	make("33", "day", 1, 33*365, 12, 365, 12)
	make("4999", "month", 3, 4999, 3, 1, 3)
	make("12.5", "month", 1, 125, 10, 1, 1)
	for n := range 130 {
		h.people = append(h.people, account.Customer(at, fmt.Sprintf("p%d@acme.example", n), stripetest.Object{"distinct_id": fmt.Sprint("person-", n)}))
	}
	return h
}

// worth is the MRR of a subscription, in whole cents, halves up.
func (b *begun) worth(at int64) int64 {
	if b.status != "active" && b.status != "past_due" || b.paused {
		return 0
	}
	up, down := b.price.up*b.quantity, b.price.down
	if b.until == 0 || at < b.until {
		up, down = up*(100-b.percent), down*100
		up, down = up*b.price.billDown-b.off*b.price.billUp*down, down*b.price.billDown
	}
	if up < 0 {
		return 0
	}
	return (2*up + down) / (2 * down)
}

// note records the worth of a subscription from an instant on.
func (h *history) note(b *begun, at int64) {
	h.notes = append(h.notes, told{at, b.id, b.customer, b.status == "trialing" && !b.paused, b.worth(at)})
	b.last = at
}

// live makes changes between two instants.
func (h *history) live(from, to time.Time, changes int) {
	span := to.Unix() - from.Unix()
	times := make([]int64, changes)
	for n := range times {
		times[n] = from.Unix() + h.random.Int64N(span)
	}
	slices.Sort(times)
	for n, at := range slices.Compact(times) {
		h.endings(at)
		switch {
		case len(h.begun) < 20 || n%3 == 0:
			h.subscribe(at)
		default:
			h.change(at)
		}
		if n%5 == 0 {
			h.pay(at)
		}
	}
	h.endings(to.Unix())
}

// endings makes the scheduled changes until an instant: trials and discounts end.
func (h *history) endings(until int64) {
	for _, id := range slices.Sorted(mapsKeys(h.begun)) {
		b := h.begun[id]
		if b.status == "trialing" && b.trialEnd <= until {
			b.status = "active"
			h.Change(time.Unix(b.trialEnd, 0), "customer.subscription.updated", b.id, stripetest.Object{"status": "active"})
			h.note(b, b.trialEnd)
		}
		if b.until != 0 && b.until <= until && b.until > b.last {
			h.note(b, b.until)
		}
	}
}

func mapsKeys(of map[string]*begun) func(func(string) bool) {
	return func(yield func(string) bool) {
		for id := range of {
			if !yield(id) {
				return
			}
		}
	}
}

func (h *history) subscribe(at int64) {
	b := &begun{customer: h.people[h.random.IntN(len(h.people))], status: "active", price: h.prices[h.random.IntN(len(h.prices))], quantity: 1 + h.random.Int64N(9)}
	more := stripetest.Object{}
	switch h.random.IntN(6) {
	case 0:
		b.status, b.trialEnd = "trialing", at+86_400*(1+h.random.Int64N(9))
		more["trial_start"], more["trial_end"] = at, b.trialEnd
	case 1:
		b.percent = 10 * (1 + h.random.Int64N(9))
		b.until = at + 3600*(1+h.random.Int64N(300))
		more["discounts"] = []any{h.Discount(at, b.until, stripetest.Object{"duration": "repeating", "percent_off": b.percent})}
	case 2:
		b.off = h.random.Int64N(3000)
		more["discounts"] = []any{h.Discount(at, 0, stripetest.Object{"duration": "forever", "percent_off": nil, "amount_off": b.off, "currency": h.currency}), h.Discount(at, 0, stripetest.Object{"duration": "once", "percent_off": 50})}
	case 3: // The first payment succeeds within the second.
		b.id = h.Subscribe(time.Unix(at, 0), b.customer, "incomplete", []stripetest.Object{h.Item(b.price.id, int(b.quantity))}, more)
		h.Change(time.Unix(at, 0), "customer.subscription.updated", b.id, stripetest.Object{"status": "active"})
	}
	if b.id == "" {
		b.id = h.Subscribe(time.Unix(at, 0), b.customer, b.status, []stripetest.Object{h.Item(b.price.id, int(b.quantity))}, more)
	}
	h.begun[b.id] = b
	h.note(b, at)
}

func (h *history) change(at int64) {
	all := slices.Sorted(mapsKeys(h.begun))
	b := h.begun[all[h.random.IntN(len(all))]]
	if b.last >= at {
		return
	}
	change, kind := stripetest.Object{}, "customer.subscription.updated"
	switch h.random.IntN(6) {
	case 0, 1:
		b.quantity = 1 + h.random.Int64N(20)
		change["items"] = []stripetest.Object{h.Item(b.price.id, int(b.quantity))}
	case 2:
		b.price = h.prices[h.random.IntN(len(h.prices))]
		change["items"] = []stripetest.Object{h.Item(b.price.id, int(b.quantity))}
	case 3:
		b.paused = !b.paused
		change["pause_collection"] = nil
		if b.paused {
			change["pause_collection"] = stripetest.Object{"behavior": "void"}
		}
	case 4:
		if b.status == "trialing" {
			return
		}
		b.status = map[string]string{"active": "past_due", "past_due": "active"}[b.status]
		change["status"] = b.status
	case 5:
		b.status, kind = "canceled", "customer.subscription.deleted"
		change["status"], change["canceled_at"], change["ended_at"] = "canceled", at, at
		delete(h.begun, b.id)
	}
	h.Change(time.Unix(at, 0), kind, b.id, change)
	h.note(b, at)
}

func (h *history) pay(at int64) {
	cents := 1 + h.random.IntN(50_000)
	charge := h.Charge(time.Unix(at, 0), h.people[h.random.IntN(len(h.people))], h.currency, cents)
	h.paid += int64(cents)
	if h.random.IntN(4) == 0 {
		h.Refund(time.Unix(at, 0), charge, cents/2)
		h.refunded += int64(cents / 2)
	}
}

// totals computes the totals of the notes by the published rules. New is the first subscription of a customer that paid
// for none, churn the last subscription that ends.
func (h *history) totals() (t revenue.Totals) {
	slices.SortStableFunc(h.notes, func(a, b told) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.customer, b.customer))
	})
	worth, trials, paying := map[string]int64{}, map[string]bool{}, map[string]int{}
	for begin := 0; begin < len(h.notes); {
		end := begin
		after := paying[h.notes[begin].customer]
		before := after
		for ; end < len(h.notes) && h.notes[end].at == h.notes[begin].at && h.notes[end].customer == h.notes[begin].customer; end++ {
			n := h.notes[end]
			after += sign(n.cents) - sign(worth[n.subscription])
		}
		for _, n := range h.notes[begin:end] {
			was := worth[n.subscription]
			switch {
			case was == 0 && n.cents > 0 && before == 0:
				t.New += n.cents
			case n.cents == 0 && was > 0 && after == 0:
				t.Churn += was
			case n.cents > was:
				t.Expansion += n.cents - was
			default:
				t.Contraction += was - n.cents
			}
			t.Began += int64(max(sign(n.cents)-sign(was), 0))
			t.Ended += int64(max(sign(was)-sign(n.cents), 0))
			worth[n.subscription], trials[n.subscription] = n.cents, n.trial
		}
		paying[h.notes[begin].customer] = after
		begin = end
	}
	for id, cents := range worth {
		t.MRR += cents
		t.Active += int64(sign(cents))
		if trials[id] {
			t.Trialing++
		}
	}
	for _, number := range paying {
		t.Customers += int64(min(number, 1))
	}
	t.Payments, t.Refunds = h.paid, h.refunded
	return t
}

func sign(cents int64) int {
	if cents > 0 {
		return 1
	}
	return 0
}
