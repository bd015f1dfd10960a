package revenue

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"svc/domain"
)

// Totals are the figures of a window, in cents of the reporting currency. Movements are sums over the window,
// the other figures are as of its end.
type Totals struct {
	MRR, Active, Trialing              int64
	New, Expansion, Contraction, Churn int64
	Began, Ended, Customers            int64
	Payments, Refunds                  int64
}

// ARR is the MRR times twelve.
func (t *Totals) ARR() int64 { return 12 * t.MRR }

// NetNew is the change of the MRR by the movements of the window.
func (t *Totals) NetNew() int64 { return t.New + t.Expansion - t.Contraction - t.Churn }

// ARPA is the MRR per paying customer, rounded.
func (t *Totals) ARPA() int64 {
	if t.Customers == 0 {
		return 0
	}
	return (2*t.MRR + t.Customers) / (2 * t.Customers)
}

// Plan holds the sums of one plan's subscriptions.
type Plan struct {
	Plan          string
	MRR           int64
	Subscriptions int64
}

// Currency holds the amounts billed in a currency other than the reporting one, in that currency.
type Currency struct {
	Currency      string
	MRR, Payments int64
	// Converted is set if the headline includes the whole amount.
	Converted bool
}

// Overview is the headline of a window, and of the equally long one before it.
type Overview struct {
	Currency       string
	Any            bool
	Totals, Before Totals
	Series         []Point
	// Moved holds the movements in each bucket of the series; its levels are changes.
	Moved           []Totals
	Plans           []Plan
	OtherCurrencies []Currency
}

// Point is the MRR at the end of a bucket that begins at T.
type Point struct {
	T   time.Time
	MRR int64
}

// topPlans is the number of plans in a headline.
const topPlans = 10

// Overview returns the headline of a window as of an instant. Known future changes do not count.
func (l *Ledger) Overview(window domain.Window, now time.Time) Overview {
	s := survey{ledger: l, out: Overview{Currency: l.Currency, Any: l.Any}, others: map[string]*Currency{}}
	from, to := window.From.UnixMilli(), min(window.To.UnixMilli(), now.UnixMilli()+1)
	earlier := window.Previous().From.UnixMilli()
	history, before := l.between(beginning, min(earlier, to)), l.between(earlier, min(from, to))
	history.add(&before)
	s.out.Before = before.totals
	s.out.Before.levelAs(&history.totals)
	level, within := s.series(window, &history.totals, from, to)
	s.out.Totals = within.totals
	s.out.Totals.levelAs(&level)
	history.add(&within)
	for currency := range history.unknown {
		s.other(currency).Converted = false
	}
	for currency, flows := range within.others {
		other := s.other(currency)
		other.Converted = other.Converted && flows.unknown == 0
		other.Payments += flows.payments
	}
	s.rank(to)
	return s.out
}

// beginning is before all items.
const beginning = -1 << 50

// survey collects a headline.
type survey struct {
	ledger *Ledger
	out    Overview
	others map[string]*Currency
}

// series sets the series: the buckets that end until an instant, and the last one. It returns the level at that instant
// and the sums within the window.
func (s *survey) series(window domain.Window, start *Totals, from, to int64) (level Totals, within ledgerSums) {
	buckets := window.Buckets(window.Interval)
	s.out.Moved = make([]Totals, len(buckets))
	level, at := *start, from
	for n := range buckets {
		end := to
		if n+1 < len(buckets) {
			end = buckets[n+1].UnixMilli()
		}
		sums := s.ledger.between(at, min(end, to))
		at = max(at, min(end, to))
		s.out.Moved[n] = sums.totals
		level.add(&sums.totals)
		within.add(&sums)
		if end <= to && len(s.out.Series) == n {
			s.out.Series = append(s.out.Series, Point{buckets[n], level.MRR})
		}
	}
	return level, within
}

func (s *survey) other(currency string) *Currency {
	if s.others[currency] == nil {
		s.others[currency] = &Currency{Currency: currency, Converted: true}
	}
	return s.others[currency]
}

// rank sums up plans and other currencies as of an instant.
func (s *survey) rank(to int64) {
	plans := map[string]*Plan{}
	for _, subscription := range s.ledger.subscriptions {
		step := subscription.until(to)
		if step == nil || step.after == 0 {
			continue
		}
		if step.currency != s.ledger.Currency {
			s.other(step.currency).MRR += step.after
		}
		if plans[step.plan] == nil {
			plans[step.plan] = &Plan{Plan: step.plan}
		}
		plans[step.plan].MRR += step.carried
		plans[step.plan].Subscriptions++
	}
	for _, name := range slices.Sorted(maps.Keys(s.others)) {
		s.out.OtherCurrencies = append(s.out.OtherCurrencies, *s.others[name])
	}
	for _, plan := range plans {
		s.out.Plans = append(s.out.Plans, *plan)
	}
	slices.SortFunc(s.out.Plans, func(a, b Plan) int {
		return cmp.Or(cmp.Compare(b.MRR, a.MRR), cmp.Compare(b.Subscriptions, a.Subscriptions), cmp.Compare(a.Plan, b.Plan))
	})
	s.out.Plans = s.out.Plans[:min(len(s.out.Plans), topPlans)]
}

// until returns the last step before an instant, or nil.
func (s *ledgerSubscription) until(to int64) *ledgerStep {
	for n := len(s.steps) - 1; n >= 0; n-- {
		if s.steps[n].atMs < to {
			return &s.steps[n]
		}
	}
	return nil
}

// levelAs copies the figures that are as of an instant.
func (t *Totals) levelAs(level *Totals) {
	t.MRR, t.Active, t.Trialing, t.Customers = level.MRR, level.Active, level.Trialing, level.Customers
}

// add adds the totals of another period.
func (t *Totals) add(other *Totals) {
	t.MRR += other.MRR
	t.Active += other.Active
	t.Trialing += other.Trialing
	t.New += other.New
	t.Expansion += other.Expansion
	t.Contraction += other.Contraction
	t.Churn += other.Churn
	t.Began += other.Began
	t.Ended += other.Ended
	t.Customers += other.Customers
	t.Payments += other.Payments
	t.Refunds += other.Refunds
}

// moved adds a step if sign is 1, and subtracts it if sign is -1.
func (t *Totals) moved(step *ledgerStep, sign int64) {
	switch step.kind {
	case MovementNew:
		t.New += sign * step.converted
	case MovementExpansion:
		t.Expansion += sign * step.converted
	case MovementContraction:
		t.Contraction -= sign * step.converted
	case MovementChurn:
		t.Churn -= sign * step.converted
	}
	switch step.begins {
	case 1:
		t.Began += sign
	case -1:
		t.Ended += sign
	}
}

// paid adds a payment or a refund if sign is 1, and subtracts it if sign is -1.
func (t *Totals) paid(flow *ledgerFlow, sign int64) {
	if flow.refund {
		t.Refunds += sign * flow.converted
		return
	}
	t.Payments += sign * flow.converted
}

// PersonRevenue combines the subscriptions of one person.
type PersonRevenue struct {
	// Status is one of segment.RevenueStatuses.
	Status string
	// MRRCents is in the reporting currency Currency.
	MRRCents int64
	Currency string
	// Paid is set if any of the subscriptions was ever active.
	Paid bool
}

// revenueRank orders states of subscriptions: a person has the highest one of them.
func revenueRank(status SubscriptionStatus) int {
	switch status {
	case SubscriptionActive:
		return 4
	case SubscriptionPastDue:
		return 3
	case SubscriptionTrialing:
		return 2
	case SubscriptionPaused, SubscriptionCanceled:
		return 1
	}
	return 0
}

// OfPersons adds the subscriptions of the ledger as of an instant to the revenue of their persons. The keys of the map
// are the distinct ids of persons; several keys may share a value.
func (l *Ledger) OfPersons(revenues map[string]*PersonRevenue, now time.Time) {
	ranks := map[*PersonRevenue]int{}
	for _, subscription := range l.subscriptions {
		if revenue := revenues[subscription.person]; revenue != nil && subscription.person != "" {
			ranks[revenue] = revenue.take(subscription, now.UnixMilli(), ranks[revenue])
		}
	}
}

// take adds a subscription as of an instant, and returns the rank of the highest state so far.
func (r *PersonRevenue) take(subscription *ledgerSubscription, nowMs int64, rank int) int {
	last := subscription.until(nowMs + 1)
	if last == nil {
		return rank
	}
	for n := range subscription.steps {
		step := &subscription.steps[n]
		r.Paid = r.Paid || step.atMs <= nowMs && step.status.Pays()
	}
	r.MRRCents += last.carried
	if reached := revenueRank(last.status); reached > rank {
		rank = reached
		r.Status = string(last.status)
		if last.status == SubscriptionPaused {
			r.Status = string(SubscriptionCanceled)
		}
	}
	return rank
}
