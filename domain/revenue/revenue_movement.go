package revenue

import (
	"cmp"
	"slices"
	"time"

	"svc/domain"
)

// Movement is a change of the MRR of a subscription.
type Movement struct {
	At                     time.Time
	Kind                   MovementKind
	Subscription, Customer string
	Plan, Currency         string
	// Cents is the change in the subscription's currency, negative if the MRR shrinks. Converted is the same in the
	// reporting currency; it is meaningless if Known is false.
	Cents, Converted int64
	Known            bool
}

// order orders movements of one subscription at the same instant: if the currency changes, the old MRR leaves before
// the new one arrives.
func (k MovementKind) order() int {
	if k == MovementContraction || k == MovementChurn {
		return 0
	}
	return 1
}

// follows reports whether a step comes after a movement in a list with the newest first.
func (m *Movement) follows(step *ledgerStep) bool {
	return cmp.Or(cmp.Compare(step.atMs, m.At.UnixMilli()), cmp.Compare(step.of.id, m.Subscription), cmp.Compare(step.kind.order(), m.Kind.order())) < 0
}

// Movements returns up to limit movements of a window as of an instant, the newest first, of one kind or of all. They
// begin after a movement; nil is the beginning of the list.
func (l *Ledger) Movements(window domain.Window, now time.Time, kind MovementKind, after *Movement, limit int) (page []Movement, more bool) {
	from, to := window.From.UnixMilli(), min(window.To.UnixMilli(), now.UnixMilli()+1)
	if after != nil {
		to = min(to, after.At.UnixMilli()+1)
	}
	for _, day := range slices.Backward(l.days) {
		if day.day > floorDay(to) {
			continue
		}
		if day.day < floorDay(from) {
			break
		}
		for _, step := range slices.Backward(day.stepsBetween(from, to)) {
			if step.kind == "" || kind != "" && step.kind != kind || after != nil && !after.follows(step) {
				continue
			}
			if len(page) == limit {
				return page, true
			}
			page = append(page, step.movement())
		}
	}
	return page, false
}

func (step *ledgerStep) movement() Movement {
	return Movement{
		At: time.UnixMilli(step.atMs).UTC(), Kind: step.kind, Subscription: step.of.id, Customer: step.of.person, Plan: step.plan,
		Currency: step.currency, Cents: step.cents, Converted: step.converted, Known: step.known,
	}
}

// newLedgerSubscription builds a subscription from its items. The steps are in its own currency. Their kinds depend on
// the customer's other subscriptions: [judge] and [ledgerSubscription.convert] complete them.
func newLedgerSubscription(id string, rows []*BillingRow) *ledgerSubscription {
	rows = historyOf(rows)
	s := &ledgerSubscription{id: id}
	for _, row := range rows {
		if row.Customer != "" {
			s.customer, s.person = row.Customer, row.Customer
		}
	}
	if s.customer == "" {
		s.customer = "\x00" + id // unique to this subscription
	}
	points := pointsOf(rows)
	s.steps = make([]ledgerStep, 0, len(points))
	var t tracked
	for n := range points {
		s.follow(&t, &points[n])
	}
	return s
}

// tracked is the state of a subscription after its latest step.
type tracked struct {
	status   SubscriptionStatus
	plan     string
	currency string
	cents    int64 // its MRR
}

// follow adds the steps to the next state of the subscription.
func (s *ledgerSubscription) follow(t *tracked, p *subscriptionPoint) {
	step := ledgerStep{of: s, atMs: p.atMs, plan: p.row.Plan, currency: p.row.Currency, status: p.status, cents: p.cents - t.cents, after: p.cents}
	switch {
	case t.cents > 0 && p.cents > 0 && t.currency != p.row.Currency:
		// The MRR leaves in the old currency and arrives in the new one.
		s.steps = append(s.steps, ledgerStep{of: s, atMs: p.atMs, plan: t.plan, currency: t.currency, status: t.status, cents: -t.cents, switches: true})
		step.cents, step.switches = p.cents, true
	case t.cents == p.cents && t.status == p.status && t.plan == p.row.Plan:
		return
	case p.cents == 0 && t.cents > 0:
		step.currency = t.currency // an end is in the currency of the MRR that ends
	}
	if !step.switches {
		step.count(t)
	}
	s.steps = append(s.steps, step)
	*t = tracked{p.status, p.row.Plan, step.currency, p.cents}
}

// count records whether a trial or a paying subscription begins or ends.
func (step *ledgerStep) count(t *tracked) {
	switch {
	case t.status != SubscriptionTrialing && step.status == SubscriptionTrialing:
		step.trials = 1
	case t.status == SubscriptionTrialing && step.status != SubscriptionTrialing:
		step.trials = -1
	}
	switch {
	case t.cents == 0 && step.after > 0:
		step.begins = 1
	case t.cents > 0 && step.after == 0:
		step.begins = -1
	}
}

// judge sets the kinds of the steps of all subscriptions of one customer. Steps of the same instant are judged by
// whether the customer pays before and after that instant. So a customer that switches subscriptions neither churns nor
// is new.
func judge(subscriptions []*ledgerSubscription) {
	var steps []*ledgerStep
	for _, s := range subscriptions {
		for n := range s.steps {
			steps = append(steps, &s.steps[n])
		}
	}
	slices.SortStableFunc(steps, func(a, b *ledgerStep) int {
		return cmp.Or(cmp.Compare(a.atMs, b.atMs), cmp.Compare(a.of.id, b.of.id))
	})
	paying := 0
	for begin := 0; begin < len(steps); {
		end, after := begin, paying
		for ; end < len(steps) && steps[end].atMs == steps[begin].atMs; end++ {
			after += int(steps[end].begins)
		}
		for _, step := range steps[begin:end] {
			step.kind = step.kindAmong(paying > 0, after > 0)
		}
		for _, step := range steps[begin:end] {
			before := paying
			paying += int(step.begins)
			step.customers = int8(min(paying, 1) - min(before, 1))
		}
		begin = end
	}
}

// kindAmong returns the kind of the step for a customer; paid and pays say whether the customer pays before and after
// it.
func (step *ledgerStep) kindAmong(paid, pays bool) MovementKind {
	switch {
	case step.cents == 0:
		return ""
	case step.begins > 0 && !paid:
		return MovementNew
	case step.begins < 0 && !pays:
		return MovementChurn
	case step.cents > 0:
		return MovementExpansion
	}
	return MovementContraction
}

// convert converts the steps into the reporting currency with the rates of their days. The end of a subscription
// removes the amount that it brought, and no decrease removes more than that. So exchange rates alone never leave MRR
// behind.
func (s *ledgerSubscription) convert(rates *RatesTo) {
	var carried int64
	unknown := false // a part of the carried amount had no rate
	for n := range s.steps {
		step := &s.steps[n]
		step.converted, step.known = 0, true
		switch {
		case step.cents == 0:
		case step.after == 0:
			step.converted, step.known = -carried, !unknown
			unknown = false
		default:
			step.converted, step.known = rates.Convert(step.cents, step.currency, step.atMs)
			step.converted = max(step.converted, -carried)
			unknown = unknown || !step.known
		}
		carried += step.converted
		step.carried = carried
	}
}

// clone returns a copy of the subscription with its own steps.
func (s *ledgerSubscription) clone() *ledgerSubscription {
	out := *s
	out.steps = slices.Clone(s.steps)
	for n := range out.steps {
		out.steps[n].of = &out
	}
	return &out
}
