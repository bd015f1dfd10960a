package revenue

import (
	"cmp"
	"maps"
	"slices"
)

// MovementKind classifies a change of a subscription's MRR.
type MovementKind string

// The kinds, as ChartMogul defines them, except that a return after churn counts as new. The first paying subscription
// of a customer is new, and the end of the last one is churn. An increase besides other subscriptions is expansion, a
// decrease is contraction.
const (
	MovementNew         MovementKind = "new"
	MovementExpansion   MovementKind = "expansion"
	MovementContraction MovementKind = "contraction"
	MovementChurn       MovementKind = "churn"
)

// MovementKinds lists the kinds.
func MovementKinds() []MovementKind {
	return []MovementKind{MovementNew, MovementExpansion, MovementContraction, MovementChurn}
}

// Ledger is the history of the subscriptions and payments of an environment in a reporting currency. It is immutable;
// [LedgerBook] makes the next one, which shares the unchanged parts.
type Ledger struct {
	// Currency is the reporting currency.
	Currency string
	// Any is set if any item was ever sent.
	Any           bool
	subscriptions []*ledgerSubscription
	days          []*ledgerDay // by time; days without steps and flows are left out
	steps, flows  int
}

// ledgerSubscription is a subscription with its history. It is immutable once it is in a ledger.
type ledgerSubscription struct {
	id, customer string
	person       string       // the customer as it was sent, or empty
	steps        []ledgerStep // by time
}

// ledgerStep is a change of one subscription.
type ledgerStep struct {
	of        *ledgerSubscription
	atMs      int64
	kind      MovementKind // empty if the MRR is unchanged
	plan      string       // since the step
	currency  string
	status    SubscriptionStatus // since the step
	cents     int64              // the change of the MRR in its own currency
	converted int64              // the same in the reporting currency
	after     int64              // the MRR since the step in its own currency
	carried   int64              // the same in the reporting currency
	known     bool               // whether a rate was known for it
	switches  bool               // whether the currency changes, so that a subscription neither begins nor ends
	begins    int8               // the change of the number of paying subscriptions
	customers int8               // the change of the number of paying customers
	trials    int8               // the change of the number of trials
}

// ledgerFlow is a payment or a refund. It is immutable once it is in a ledger.
type ledgerFlow struct {
	atMs      int64
	currency  string
	cents     int64
	converted int64
	refund    bool
	known     bool
}

// NewLedger makes the ledger of billing items, which come in any order and may be repeated. If currency is empty, the
// first subscription or payment to arrive determines the reporting currency.
func NewLedger(rows []BillingRow, currency string) *Ledger {
	book := NewLedgerBook(currency)
	book.Replace(rows)
	return book.Ledger()
}

// DefaultCurrency is the reporting currency while nothing determines another one.
const DefaultCurrency = "USD"

// Approximate bytes of a ledger and its book per part, including texts and map entries.
const (
	subscriptionBytes = 420
	stepBytes         = 160
	flowBytes         = 150
	dayBytes          = 400
)

// Bytes returns the approximate memory of the ledger and its book.
func (l *Ledger) Bytes() int {
	return len(l.subscriptions)*subscriptionBytes + l.steps*stepBytes + l.flows*flowBytes + len(l.days)*dayBytes
}

// historyOf sorts the items of a subscription by time. Of items with the same id, the first to arrive holds.
func historyOf(rows []*BillingRow) []*BillingRow {
	slices.SortFunc(rows, func(a, b *BillingRow) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), compareRows(a, b, (*BillingRow).arrivedBefore))
	})
	rows = slices.CompactFunc(rows, func(a, b *BillingRow) bool { return a.ID == b.ID })
	slices.SortFunc(rows, func(a, b *BillingRow) int { return compareRows(a, b, (*BillingRow).Before) })
	return rows
}

func compareRows(a, b *BillingRow, before func(a, b *BillingRow) bool) int {
	switch {
	case before(a, b):
		return -1
	case before(b, a):
		return 1
	}
	return 0
}

// subscriptionPoint is the state of a subscription from an instant on.
type subscriptionPoint struct {
	atMs   int64
	row    *BillingRow
	status SubscriptionStatus
	cents  int64
}

// pointsOf returns the states of a subscription's items, and the changes that each item schedules before the next item.
func pointsOf(rows []*BillingRow) (points []subscriptionPoint) {
	for n, row := range rows {
		from, until := row.Ts.UnixMilli(), int64(1<<62)
		if n+1 < len(rows) {
			until = rows[n+1].Ts.UnixMilli()
		}
		times := []int64{from, row.TrialEndMs, row.EndMs}
		for _, change := range row.Changes {
			times = append(times, change.AtMs)
		}
		slices.Sort(times)
		for _, at := range slices.Compact(times) {
			if at >= from && at < until {
				status, cents := row.at(at)
				points = append(points, subscriptionPoint{at, row, status, cents})
			}
		}
	}
	return points
}

// ledgerDay holds the steps and flows of a UTC day, and their sums. It is immutable once it is in a ledger.
type ledgerDay struct {
	day   int64
	steps []*ledgerStep // by time, then by subscription
	flows []*ledgerFlow
	sums  ledgerSums
}

// ledgerSums holds the sums of a period.
type ledgerSums struct {
	// totals hold the movements, and the changes of the levels.
	totals Totals
	// unknown counts the steps without a rate by currency.
	unknown map[string]int
	// others holds payments in other currencies.
	others map[string]flowSums
}

// flowSums holds the payments and refunds in one currency.
type flowSums struct {
	flows, unknown int
	payments       int64
}

// take adds a step if sign is 1, and subtracts it if sign is -1.
func (s *ledgerSums) take(step *ledgerStep, sign int64) {
	s.totals.MRR += sign * step.converted
	s.totals.Active += sign * int64(step.begins)
	s.totals.Customers += sign * int64(step.customers)
	s.totals.Trialing += sign * int64(step.trials)
	s.totals.moved(step, sign)
	if !step.known {
		if s.unknown == nil {
			s.unknown = map[string]int{}
		}
		if s.unknown[step.currency] += int(sign); s.unknown[step.currency] == 0 {
			delete(s.unknown, step.currency)
		}
	}
}

// pay adds a payment or a refund if sign is 1, and subtracts it if sign is -1.
func (s *ledgerSums) pay(flow *ledgerFlow, sign int64, currency string) {
	s.totals.paid(flow, sign)
	if flow.currency == currency {
		return
	}
	if s.others == nil {
		s.others = map[string]flowSums{}
	}
	other := s.others[flow.currency]
	other.flows += int(sign)
	if !flow.known {
		other.unknown += int(sign)
	}
	if !flow.refund {
		other.payments += sign * flow.cents
	}
	if s.others[flow.currency] = other; other.flows == 0 {
		delete(s.others, flow.currency)
	}
}

// add adds the sums of another period.
func (s *ledgerSums) add(other *ledgerSums) {
	s.totals.add(&other.totals)
	for currency, steps := range other.unknown {
		if s.unknown == nil {
			s.unknown = map[string]int{}
		}
		s.unknown[currency] += steps
	}
	for currency, flows := range other.others {
		if s.others == nil {
			s.others = map[string]flowSums{}
		}
		sum := s.others[currency]
		s.others[currency] = flowSums{sum.flows + flows.flows, sum.unknown + flows.unknown, sum.payments + flows.payments}
	}
}

// dayChanges holds the removed and the added parts by day.
type dayChanges map[int64]*dayChange

type dayChange struct {
	goneSteps, steps []*ledgerStep
	goneFlows, flows []*ledgerFlow
}

func (c dayChanges) of(atMs int64) *dayChange {
	day := floorDay(atMs)
	if c[day] == nil {
		c[day] = &dayChange{}
	}
	return c[day]
}

// subscription replaces the steps of a subscription.
func (c dayChanges) subscription(before, after *ledgerSubscription) {
	if before != nil {
		for n := range before.steps {
			day := c.of(before.steps[n].atMs)
			day.goneSteps = append(day.goneSteps, &before.steps[n])
		}
	}
	for n := range after.steps {
		day := c.of(after.steps[n].atMs)
		day.steps = append(day.steps, &after.steps[n])
	}
}

// flow replaces a payment or refund.
func (c dayChanges) flow(before, after *ledgerFlow) {
	if before != nil {
		day := c.of(before.atMs)
		day.goneFlows = append(day.goneFlows, before)
	}
	day := c.of(after.atMs)
	day.flows = append(day.flows, after)
}

// apply returns the days of a ledger with the changes applied.
func (c dayChanges) apply(from *Ledger) []*ledgerDay {
	days := make([]*ledgerDay, 0, len(from.days)+len(c))
	rest := slices.Sorted(maps.Keys(c))
	keep := func(day *ledgerDay) {
		if len(day.steps) > 0 || len(day.flows) > 0 {
			days = append(days, day)
		}
	}
	for _, day := range from.days {
		for ; len(rest) > 0 && rest[0] < day.day; rest = rest[1:] {
			keep((&ledgerDay{day: rest[0]}).with(c[rest[0]], from.Currency))
		}
		if len(rest) > 0 && rest[0] == day.day {
			day, rest = day.with(c[rest[0]], from.Currency), rest[1:]
		}
		keep(day)
	}
	for _, day := range rest {
		keep((&ledgerDay{day: day}).with(c[day], from.Currency))
	}
	return days
}

// with returns the day after a change, with its sums adjusted by the difference. If the reporting currency changed,
// everything is replaced.
func (d *ledgerDay) with(change *dayChange, currency string) *ledgerDay {
	next := &ledgerDay{day: d.day, sums: ledgerSums{totals: d.sums.totals, unknown: maps.Clone(d.sums.unknown), others: maps.Clone(d.sums.others)}}
	next.steps = replaced(d.steps, change.goneSteps, change.steps)
	next.flows = replaced(d.flows, change.goneFlows, change.flows)
	slices.SortFunc(next.steps, compareSteps)
	if len(change.goneFlows) == len(d.flows) && len(change.goneSteps) == len(d.steps) {
		next.sums = ledgerSums{}
	} else {
		for _, step := range change.goneSteps {
			next.sums.take(step, -1)
		}
		for _, flow := range change.goneFlows {
			next.sums.pay(flow, -1, currency)
		}
	}
	for _, step := range change.steps {
		next.sums.take(step, 1)
	}
	for _, flow := range change.flows {
		next.sums.pay(flow, 1, currency)
	}
	return next
}

// replaced returns a list with some elements removed and others added.
func replaced[T any](all, gone, come []*T) []*T {
	leaves := make(map[*T]bool, len(gone))
	for _, one := range gone {
		leaves[one] = true
	}
	out := make([]*T, 0, len(all)-len(gone)+len(come))
	for _, one := range all {
		if !leaves[one] {
			out = append(out, one)
		}
	}
	return append(out, come...)
}

func compareSteps(a, b *ledgerStep) int {
	return cmp.Or(cmp.Compare(a.atMs, b.atMs), cmp.Compare(a.of.id, b.of.id), cmp.Compare(a.kind.order(), b.kind.order()))
}

// between returns the sums of [from, to).
func (l *Ledger) between(from, to int64) (sums ledgerSums) {
	first, _ := slices.BinarySearchFunc(l.days, floorDay(from), func(day *ledgerDay, of int64) int { return cmp.Compare(day.day, of) })
	for _, day := range l.days[first:] {
		begin, end := day.day*dayMs, (day.day+1)*dayMs
		if begin >= to {
			break
		}
		if begin >= from && end <= to {
			sums.add(&day.sums)
			continue
		}
		for _, step := range day.stepsBetween(from, to) {
			sums.take(step, 1)
		}
		for _, flow := range day.flows {
			if flow.atMs >= from && flow.atMs < to {
				sums.pay(flow, 1, l.Currency)
			}
		}
	}
	return sums
}

// stepsBetween returns the steps of the day in [from, to).
func (d *ledgerDay) stepsBetween(from, to int64) []*ledgerStep {
	at := func(ms int64) int {
		n, _ := slices.BinarySearchFunc(d.steps, ms, func(step *ledgerStep, ms int64) int { return cmp.Compare(step.atMs, ms) })
		return n
	}
	begin := at(from)
	return d.steps[begin:max(begin, at(to))]
}
