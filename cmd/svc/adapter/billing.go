package adapter

import (
	"context"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/revenue"
	"svc/protos"
)

// Billing writes the billing items of connectors to the log, as the ingest path does with received items.
type Billing struct {
	Producer Producer
	Shape    domain.LogShape
	Now      func() time.Time
}

// AppendBilling returns once the log has acknowledged the items.
func (b Billing) AppendBilling(ctx context.Context, items []revenue.BillingRow) error {
	payloads := map[int][]byte{}
	received := b.Now().UnixMilli()
	for n := range items {
		row := &items[n]
		item := &protos.Billing{
			Environment: row.Environment, Kind: string(row.Kind), Subject: row.Subject, Id: row.ID, TsMs: row.Ts.UnixMilli(), ReceivedMs: received, Seq: uint32(n),
			Customer: row.Customer, Plan: row.Plan, Status: string(row.Status), Currency: row.Currency, Cents: row.Cents,
			TrialEndMs: row.TrialEndMs, EndMs: row.EndMs, Target: row.Target, Rate: row.Rate,
		}
		for _, change := range row.Changes {
			item.ChangeMs, item.ChangeCents = append(item.ChangeMs, uint64(change.AtMs)), append(item.ChangeCents, uint64(change.Cents))
		}
		partition := b.Shape.Of(row.Environment, protos.PartitionOfBilling(row.Environment, row.Subject, b.Shape.Partitions))
		payload, err := protos.AppendBilling(payloads[partition], item)
		if err != nil {
			return err
		}
		payloads[partition] = payload
	}
	parts := make([]event.Part, 0, len(payloads))
	for partition, payload := range payloads {
		parts = append(parts, event.Part{Partition: partition, Payload: payload})
	}
	return b.Producer.Produce(ctx, parts)
}
