package pipeline

import (
	"time"

	"svc/domain/ingest"
	"svc/domain/revenue"
	"svc/protos"
)

// RecentBillings is the least number of billing item names that a partition remembers.
const RecentBillings = 50_000

// said remembers the last value of each of the newest names: at least limit of them, and at most twice as many. An item
// without a value that changes has the value 0.
type said struct {
	limit            int
	newest, previous map[[2]uint64]int64
}

func newSaid(limit int) *said { return &said{limit: limit, newest: map[[2]uint64]int64{}} }

// repeats remembers the value of a name and reports whether it was already the last one.
func (s *said) repeats(name [2]uint64, value int64) bool {
	last, newest := s.newest[name]
	known := newest
	if !newest {
		last, known = s.previous[name]
	}
	if known && last == value {
		return true
	}
	if !newest && len(s.newest) >= s.limit {
		s.newest, s.previous = map[[2]uint64]int64{}, s.newest
	}
	s.newest[name] = value
	return false
}

// foldBilling appends the row of one billing item unless it is a repetition. A changed rate is not a repetition: the last
// rate is valid.
func (i *Intake) foldBilling(b *protos.Billing) {
	name := protos.BillingKey(b.Environment, b.Kind, b.Subject, b.Id)
	if b.Letter != "" {
		name = letterKey(b.Letter)
	}
	if i.billings.repeats(name, b.Rate) {
		i.count(ingest.SignalEvents, ingest.FateDuplicate, countedBilling(b))
		return
	}
	row := revenue.BillingRow{
		Environment: b.Environment, Kind: revenue.BillingKind(b.Kind), Subject: b.Subject, ID: b.Id,
		Ts: time.UnixMilli(b.TsMs), ReceivedAt: time.UnixMilli(b.ReceivedMs), Seq: b.Seq,
		Customer: b.Customer, Plan: b.Plan, Status: revenue.SubscriptionStatus(b.Status), Currency: b.Currency, Cents: b.Cents,
		TrialEndMs: b.TrialEndMs, EndMs: b.EndMs, Target: b.Target, Rate: b.Rate,
	}
	for n, at := range b.ChangeMs {
		row.Changes = append(row.Changes, revenue.BillingChange{AtMs: int64(at), Cents: int64(b.ChangeCents[n])})
	}
	i.Billings = append(i.Billings, row)
	i.count(ingest.SignalEvents, ingest.FateStored, countedBilling(b))
}
