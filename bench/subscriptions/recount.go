package subscriptions

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// Row is a billing item as it is stored.
type Row struct {
	Kind        string  `json:"kind"`
	Subject     string  `json:"subject"`
	ID          string  `json:"id"`
	Ts          int64   `json:"ts"`
	Customer    string  `json:"customer"`
	Plan        string  `json:"plan"`
	Status      string  `json:"status"`
	Currency    string  `json:"currency"`
	Cents       int64   `json:"cents"`
	ChangeMs    []int64 `json:"change_ms"`
	ChangeCents []int64 `json:"change_cents"`
	TrialEnd    int64   `json:"trial_end"`
	Ended       int64   `json:"ended"`
	Target      string  `json:"target"`
	Rate        int64   `json:"rate"`
}

// Totals are the recounted figures of an overview, under the overview's names.
type Totals map[string]int64

// Move is a recounted movement. Cents is nil without a rate.
type Move struct {
	Ts                 int64
	Kind, Subscription string
	Customer, Plan     string
	Cents              *int64
	Currency           string
	Original           int64
}

// Book recounts revenue. At every instant at which anything may change, it compares the cost of each subscription just
// before the instant and at it. No two items have the same instant.
type Book struct {
	subscriptions map[string][]Row    // by time
	payers        map[string][]string // the subscriptions of each customer
	rates         []Row               // by day
	flows         []Row
}

// NewBook returns the book of some rows.
func NewBook(rows []Row) *Book {
	b := &Book{subscriptions: map[string][]Row{}, payers: map[string][]string{}}
	rows = slices.SortedFunc(slices.Values(rows), func(x, y Row) int { return cmp.Compare(x.Ts, y.Ts) })
	for _, row := range rows {
		switch row.Kind {
		case "subscription":
			if b.subscriptions[row.Subject] == nil {
				b.payers[row.Customer] = append(b.payers[row.Customer], row.Subject)
			}
			b.subscriptions[row.Subject] = append(b.subscriptions[row.Subject], row)
		case "rate":
			b.rates = append(b.rates, row)
		default:
			b.flows = append(b.flows, row)
		}
	}
	return b
}

// state returns the status and the cost of a subscription at an instant.
func (b *Book) state(subscription string, at int64) (status, plan, currency string, cents int64) {
	var last *Row
	for n := range b.subscriptions[subscription] {
		if row := &b.subscriptions[subscription][n]; row.Ts <= at {
			last = row
		}
	}
	if last == nil {
		return "", "", "", 0
	}
	status, cents = last.Status, last.Cents
	for n, change := range last.ChangeMs {
		if change <= at {
			cents = last.ChangeCents[n]
		}
	}
	if status == "trialing" && last.TrialEnd != 0 && last.TrialEnd <= at {
		status = "active"
	}
	if last.Ended != 0 && last.Ended <= at {
		status = "canceled"
	}
	if status != "active" && status != "past_due" {
		cents = 0
	}
	return status, last.Plan, last.Currency, cents
}

// worth returns an amount in the Reported currency by the last rate on or before its day, rounded, halves away from
// zero.
func (b *Book) worth(cents int64, currency string, at int64) (int64, bool) {
	const dayMs = 86_400_000
	switch currency {
	case Reported:
		return cents, true
	case Unrated:
		return 0, false
	}
	rate := int64(0)
	for _, row := range b.rates {
		if row.Ts/dayMs <= at/dayMs {
			rate = row.Rate
		}
	}
	if rate == 0 {
		return 0, false
	}
	value := new(big.Rat).Mul(big.NewRat(cents, 1), big.NewRat(rate, 1_000_000_000_000))
	half := big.NewRat(1, 2)
	if value.Sign() < 0 {
		half.Neg(half)
	}
	value.Add(value, half)
	return new(big.Int).Quo(value.Num(), value.Denom()).Int64(), true
}

// Count returns the figures of [from, to) and its movements, the newest first.
func (b *Book) Count(from, to int64) (Totals, []Move) {
	totals, moves, customers := Totals{}, []Move(nil), int64(0)
	for _, name := range []string{
		"mrrCents", "activeSubscriptions", "trialing", "newCents", "expansionCents", "contractionCents", "churnCents", "churnedSubscriptions", "newSubscriptions",
		"paymentsCents", "refundsCents",
	} {
		totals[name] = 0
	}
	for _, of := range b.payers {
		for _, move := range b.payer(of, to) {
			totals["mrrCents"] += move.value()
			if move.Ts >= from {
				totals.move(&move)
				moves = append(moves, move.Move)
			}
		}
		if b.levels(of, to-1, totals) {
			customers++
		}
	}
	b.flow(from, to, totals)
	totals["arrCents"] = 12 * totals["mrrCents"]
	totals["netNewMrrCents"] = totals["newCents"] + totals["expansionCents"] - totals["contractionCents"] - totals["churnCents"]
	totals["arpaCents"] = 0
	if customers > 0 {
		totals["arpaCents"] = (totals["mrrCents"] + customers/2) / customers
	}
	slices.SortFunc(moves, func(x, y Move) int {
		return cmp.Or(cmp.Compare(y.Ts, x.Ts), strings.Compare(y.Subscription, x.Subscription))
	})
	return totals, moves
}

// levels adds the states of one customer's subscriptions at an instant, and reports whether the customer pays.
func (b *Book) levels(subscriptions []string, at int64, totals Totals) (pays bool) {
	for _, subscription := range subscriptions {
		status, _, currency, cents := b.state(subscription, at)
		if cents > 0 {
			pays = true
			totals["activeSubscriptions"]++
			totals["mrr "+currency] += cents
		}
		if status == "trialing" {
			totals["trialing"]++
		}
	}
	return pays
}

// flow adds the payments and refunds of [from, to).
func (b *Book) flow(from, to int64, totals Totals) {
	for _, flow := range b.flows {
		if flow.Ts < from || flow.Ts >= to {
			continue
		}
		value, _ := b.worth(flow.Cents, flow.Currency, flow.Ts)
		totals[flow.Kind+"sCents"] += value
		if flow.Kind == "payment" {
			totals["payments "+flow.Currency] += flow.Cents
		}
	}
}

// countedMove is a movement with its additional counts.
type countedMove struct {
	Move
	begins, ends bool
}

// value returns the movement's amount in the headline: 0 if nothing of it is known.
func (m *countedMove) value() int64 {
	if m.Cents == nil {
		return 0
	}
	return *m.Cents
}

// move adds a movement within the window.
func (t Totals) move(m *countedMove) {
	switch m.Kind {
	case "new", "expansion":
		t[m.Kind+"Cents"] += m.value()
	default:
		t[m.Kind+"Cents"] -= m.value()
	}
	if m.begins {
		t["newSubscriptions"]++
	}
	if m.ends {
		t["churnedSubscriptions"]++
	}
}

// payer returns the movements of the subscriptions of one customer before an instant, by time.
func (b *Book) payer(subscriptions []string, to int64) (moves []countedMove) {
	carried := map[string]int64{}
	for _, at := range b.instants(subscriptions) {
		if at == 0 || at >= to {
			continue
		}
		paid, pays := b.pays(subscriptions, at-1), b.pays(subscriptions, at)
		for _, subscription := range subscriptions {
			move := b.moved(subscription, at, paid, pays)
			if move.Original == 0 {
				continue
			}
			if value, known := b.worth(move.Original, move.Currency, at); known {
				if move.ends || value < -carried[subscription] {
					value = -carried[subscription]
				}
				carried[subscription] += value
				move.Cents = &value
			}
			moves = append(moves, move)
		}
	}
	return moves
}

// instants returns the instants at which anything may change, in order.
func (b *Book) instants(subscriptions []string) []int64 {
	instants := map[int64]bool{}
	for _, subscription := range subscriptions {
		for _, row := range b.subscriptions[subscription] {
			instants[row.Ts], instants[row.TrialEnd], instants[row.Ended] = true, true, true
			for _, change := range row.ChangeMs {
				instants[change] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(instants))
}

// moved returns the change of a subscription at an instant; paid and pays say whether its customer paid for anything
// before and after. The change is not converted yet.
func (b *Book) moved(subscription string, at int64, paid, pays bool) countedMove {
	_, _, was, before := b.state(subscription, at-1)
	_, plan, currency, after := b.state(subscription, at)
	move := countedMove{Move: Move{
		Ts: at, Subscription: subscription, Customer: b.subscriptions[subscription][0].Customer, Plan: plan, Currency: cmp.Or(was, currency), Original: after - before,
	}, begins: before == 0, ends: after == 0}
	switch {
	case move.begins && !paid:
		move.Kind = "new"
	case move.ends && !pays:
		move.Kind = "churn"
	case after > before:
		move.Kind = "expansion"
	default:
		move.Kind = "contraction"
	}
	return move
}

// pays reports whether one of the subscriptions costs anything at an instant.
func (b *Book) pays(subscriptions []string, at int64) bool {
	return slices.ContainsFunc(subscriptions, func(subscription string) bool {
		_, _, _, cents := b.state(subscription, at)
		return cents > 0
	})
}
