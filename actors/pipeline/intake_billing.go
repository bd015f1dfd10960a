package pipeline

import (
	"time"

	"svc"
	"svc/protos"
)

// foldBilling appends the row of one billing item. Repetitions are told apart where a ledger is made, which has the whole history,
// so the intake remembers none.
func (i *Intake) foldBilling(b *protos.Billing) {
	row := svc.BillingRow{
		Environment: b.Environment, Kind: svc.BillingKind(b.Kind), Subject: b.Subject, ID: b.Id,
		Ts: time.UnixMilli(b.TsMs), ReceivedAt: time.UnixMilli(b.ReceivedMs), Seq: b.Seq,
		Customer: b.Customer, Plan: b.Plan, Status: svc.SubscriptionStatus(b.Status), Currency: b.Currency, Cents: b.Cents,
		TrialEndMs: b.TrialEndMs, EndMs: b.EndMs, Target: b.Target, Rate: b.Rate,
	}
	for n, at := range b.ChangeMs {
		row.Changes = append(row.Changes, svc.BillingChange{AtMs: int64(at), Cents: int64(b.ChangeCents[n])})
	}
	i.Billings = append(i.Billings, row)
	i.count(svc.SignalEvents, svc.FateStored, countedBilling(b))
}
