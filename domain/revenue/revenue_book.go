package revenue

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
)

// LedgerBook makes the ledgers of an environment incrementally. It recomputes the subscriptions with changed items and
// the other subscriptions of their customers, and adjusts the sums of the days by the difference. The result equals the
// ledger of all items at once, in any order. Only one goroutine may use a book at a time; its ledgers may be read
// meanwhile.
type LedgerBook struct {
	fixed     bool        // whether the reporting currency was set explicitly
	any       bool        // whether there was any item
	first     *BillingRow // the earliest arrival among the items with a currency
	rates     *RatesTo
	rateRows  map[rateName]BillingRow
	numbers   map[string]int32   // places of subscriptions by id
	customers map[string][]int32 // places of subscriptions by customer
	paid      map[flowName]*ledgerFlow
	ledger    *Ledger
	pending   pendingLedger
}

// rateName names a rate: there is one for each day.
type rateName struct {
	currency, target string
	day              int64
}

// flowName is a digest of the kind and the id of a payment or refund.
type flowName [16]byte

// pendingLedger holds the changes since the last ledger.
type pendingLedger struct {
	subscriptions map[int32]*ledgerSubscription // new states, by place
	customers     map[string]bool               // with changed subscriptions
	owned         map[int32]bool                // places with a new state that is in no ledger yet
	flows         map[flowName]*ledgerFlow
	rates         map[string]int64 // the day since which rates of a currency changed
	everything    bool             // the reporting currency has changed
}

// NewLedgerBook returns a book without items. If currency is empty, the first subscription or payment to arrive
// determines the reporting currency.
func NewLedgerBook(currency string) *LedgerBook {
	b := &LedgerBook{
		fixed: currency != "", rateRows: map[rateName]BillingRow{}, numbers: map[string]int32{}, customers: map[string][]int32{},
		paid: map[flowName]*ledgerFlow{}, ledger: &Ledger{Currency: cmp.Or(currency, DefaultCurrency)},
	}
	b.rates = NewRatesTo(b.ledger.Currency, nil)
	b.forget()
	return b
}

func (b *LedgerBook) forget() {
	b.pending = pendingLedger{
		subscriptions: map[int32]*ledgerSubscription{}, customers: map[string]bool{}, owned: map[int32]bool{}, flows: map[flowName]*ledgerFlow{}, rates: map[string]int64{},
	}
}

// Replace takes items, in any order. For each subscription, payment and refund among them, rows must contain all known
// items; they replace the earlier ones. The next [LedgerBook.Ledger] includes them.
func (b *LedgerBook) Replace(rows []BillingRow) {
	subscriptions, paid := map[string][]*BillingRow{}, map[flowName]*BillingRow{}
	for n := range rows {
		row := &rows[n]
		switch row.Kind {
		case BillingSubscription:
			subscriptions[row.Subject] = append(subscriptions[row.Subject], row)
		case BillingPayment, BillingRefund:
			name := flowOf(row)
			if first := paid[name]; first == nil || row.arrivedBefore(first) {
				paid[name] = row
			}
		case BillingRate:
			b.rate(row)
			continue
		}
		if row.Currency != "" && (b.first == nil || firstOf(row, b.first) < 0) {
			first := *row
			b.first = &first
		}
	}
	b.any = b.any || len(rows) > 0
	for id, items := range subscriptions {
		b.subscription(id, items)
	}
	for name, row := range paid {
		b.pending.flows[name] = &ledgerFlow{atMs: row.Ts.UnixMilli(), currency: strings.Clone(row.Currency), cents: row.Cents, refund: row.Kind == BillingRefund}
	}
}

// firstOf orders items by arrival, and items of the same place in a request by their contents.
func firstOf(a, b *BillingRow) int {
	return cmp.Or(a.ReceivedAt.Compare(b.ReceivedAt), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Currency, b.Currency))
}

func flowOf(row *BillingRow) (name flowName) {
	sum := sha256.Sum256([]byte(string(row.Kind) + "\x00" + row.Subject))
	copy(name[:], sum[:])
	return name
}

// rate stores a rate, unless a later one of its day is known.
func (b *LedgerBook) rate(row *BillingRow) {
	day := floorDay(row.Ts.UnixMilli())
	name := rateName{row.Subject, row.Target, day}
	known, repeated := b.rateRows[name]
	if repeated && !known.arrivedBefore(row) {
		return
	}
	b.rateRows[name] = *row
	if since, others := b.pending.rates[row.Subject]; row.Target == b.ledger.Currency && (!others || day < since) {
		b.pending.rates[row.Subject] = day
	}
}

// subscription stores all items of a subscription.
func (b *LedgerBook) subscription(id string, items []*BillingRow) {
	place, known := b.numbers[id]
	if !known {
		place = int32(len(b.numbers))
		b.numbers[strings.Clone(id)] = place
	}
	before := b.at(place)
	after := newLedgerSubscription(id, items)
	b.pending.subscriptions[place], b.pending.owned[place] = after, true
	b.pending.customers[after.customer] = true
	if before != nil {
		if before.customer == after.customer {
			return
		}
		b.pending.customers[before.customer] = true
		b.leave(before.customer, place)
	}
	b.customers[after.customer] = append(b.customers[after.customer], place)
}

// leave removes a subscription from a customer.
func (b *LedgerBook) leave(customer string, place int32) {
	rest := slices.DeleteFunc(b.customers[customer], func(other int32) bool { return other == place })
	if len(rest) == 0 {
		delete(b.customers, customer)
		return
	}
	b.customers[customer] = rest
}

// at returns the present state of a subscription, or nil.
func (b *LedgerBook) at(place int32) *ledgerSubscription {
	if pending, changed := b.pending.subscriptions[place]; changed {
		return pending
	}
	if int(place) < len(b.ledger.subscriptions) {
		return b.ledger.subscriptions[place]
	}
	return nil
}

// own returns the state of a subscription for modification.
func (b *LedgerBook) own(place int32) *ledgerSubscription {
	if !b.pending.owned[place] {
		b.pending.subscriptions[place], b.pending.owned[place] = b.at(place).clone(), true
	}
	return b.pending.subscriptions[place]
}

// Subscribed returns the ids of the subscriptions with a customer, as it was sent, for which named returns true.
func (b *LedgerBook) Subscribed(named func(customer string) bool) (ids []string) {
	for place := range int32(len(b.numbers)) {
		if s := b.at(place); s.person != "" && named(s.person) {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// Ledger returns the ledger of all items so far.
func (b *LedgerBook) Ledger() *Ledger {
	b.settleCurrency()
	for customer := range b.pending.customers {
		places := b.customers[customer]
		all := make([]*ledgerSubscription, len(places))
		for n, place := range places {
			all[n] = b.own(place)
		}
		judge(all)
	}
	b.convert()
	next := *b.ledger
	next.Any = b.any
	next.subscriptions = slices.Clone(b.ledger.subscriptions)
	next.subscriptions = append(next.subscriptions, make([]*ledgerSubscription, len(b.numbers)-len(next.subscriptions))...)
	changes := dayChanges{}
	for place, after := range b.pending.subscriptions {
		before := next.subscriptions[place]
		next.subscriptions[place] = after
		changes.subscription(before, after)
		next.steps += len(after.steps)
		if before != nil {
			next.steps -= len(before.steps)
		}
	}
	for name, after := range b.pending.flows {
		before := b.paid[name]
		b.paid[name] = after
		changes.flow(before, after)
	}
	next.flows = len(b.paid)
	next.days = changes.apply(b.ledger)
	b.ledger = &next
	b.forget()
	return b.ledger
}

// settleCurrency adopts a changed reporting currency. It changes if an item is stored before one that arrived earlier.
func (b *LedgerBook) settleCurrency() {
	if currency := b.ledger.Currency; !b.fixed && b.first != nil && b.first.Currency != currency {
		next := *b.ledger
		next.Currency = strings.Clone(b.first.Currency)
		b.ledger = &next
		b.pending.everything = true
	}
	if b.pending.everything || len(b.pending.rates) > 0 {
		rows := slices.Collect(maps.Values(b.rateRows))
		b.rates = NewRatesTo(b.ledger.Currency, rows)
	}
}

// convert converts all changed amounts, and all amounts for which there is a new rate.
func (b *LedgerBook) convert() {
	if b.pending.everything || len(b.pending.rates) > 0 {
		b.reprice()
	}
	for _, s := range b.pending.subscriptions {
		s.convert(b.rates)
	}
	for _, flow := range b.pending.flows {
		flow.converted, flow.known = b.rates.Convert(flow.cents, flow.currency, flow.atMs)
	}
}

// reprice copies everything that must be converted again.
func (b *LedgerBook) reprice() {
	since := func(currency string) (ms int64, changed bool) {
		if b.pending.everything {
			return -1 << 62, true
		}
		day, changed := b.pending.rates[currency]
		return day * dayMs, changed
	}
	for place := range int32(len(b.ledger.subscriptions)) {
		s := b.at(place)
		if slices.ContainsFunc(s.steps, func(step ledgerStep) bool {
			ms, changed := since(step.currency)
			return changed && step.atMs >= ms
		}) {
			b.own(place)
		}
	}
	for name, flow := range b.paid {
		if ms, changed := since(flow.currency); changed && flow.atMs >= ms && b.pending.flows[name] == nil {
			again := *flow
			b.pending.flows[name] = &again
		}
	}
}
