package block

import (
	"github.com/ClickHouse/ch-go/proto"

	"svc/domain/revenue"
	"svc/storage/clickhouse/columns"
)

// billingBlock holds the columns of the billing items of a block.
type billingBlock struct {
	environment, rank, block     proto.ColUInt64
	kind, plan, status           columns.Dictionary
	currency, target             columns.Dictionary
	subject, id, customer        proto.ColStr
	ts, receivedAt               proto.ColInt64
	cents, trialEnd, ended, rate proto.ColInt64
	seq                          proto.ColUInt32
	changeMs, changeCents        *proto.ColArr[uint64]
	encoded                      proto.Buffer
}

func newBillingBlock() billingBlock {
	return billingBlock{changeMs: proto.NewArray[uint64](new(proto.ColUInt64)), changeCents: proto.NewArray[uint64](new(proto.ColUInt64))}
}

func (b *billingBlock) rows() int { return len(b.environment) }

func (b *billingBlock) append(row *revenue.BillingRow) {
	b.environment = append(b.environment, row.Environment)
	b.kind.Append(string(row.Kind))
	b.subject.Append(row.Subject)
	b.id.Append(row.ID)
	b.ts = append(b.ts, row.Ts.UnixMilli())
	b.receivedAt = append(b.receivedAt, row.ReceivedAt.UnixMilli())
	b.seq = append(b.seq, row.Seq)
	b.customer.Append(row.Customer)
	b.plan.Append(row.Plan)
	b.status.Append(string(row.Status))
	b.currency.Append(row.Currency)
	b.cents = append(b.cents, row.Cents)
	times, cents := make([]uint64, len(row.Changes)), make([]uint64, len(row.Changes))
	for n, change := range row.Changes {
		times[n], cents[n] = uint64(change.AtMs), uint64(change.Cents)
	}
	b.changeMs.Append(times)
	b.changeCents.Append(cents)
	b.trialEnd = append(b.trialEnd, row.TrialEndMs)
	b.ended = append(b.ended, row.EndMs)
	b.target.Append(row.Target)
	b.rate = append(b.rate, row.Rate)
	b.rank = append(b.rank, row.Rank())
}

func (b *billingBlock) reset() {
	columns.Reset(b.columns())
	b.encoded.Reset()
}

// columns lists the columns in the order of billing.Append.
func (b *billingBlock) columns() []columns.Column {
	return []columns.Column{
		{Name: "environment", Type: proto.ColumnTypeUInt64, Data: &b.environment},
		{Name: "kind", Type: columns.Word, Data: &b.kind},
		{Name: "subject", Type: columns.String, Data: &b.subject},
		{Name: "id", Type: columns.String, Data: &b.id},
		{Name: "ts", Type: columns.Time, Data: &b.ts},
		{Name: "received_at", Type: columns.Time, Data: &b.receivedAt},
		{Name: "seq", Type: proto.ColumnTypeUInt32, Data: &b.seq},
		{Name: "customer", Type: columns.String, Data: &b.customer},
		{Name: "plan", Type: columns.Word, Data: &b.plan},
		{Name: "status", Type: columns.Word, Data: &b.status},
		{Name: "currency", Type: columns.Word, Data: &b.currency},
		{Name: "cents", Type: proto.ColumnTypeInt64, Data: &b.cents},
		{Name: "change_ms", Type: "Array(UInt64)", Data: b.changeMs},
		{Name: "change_cents", Type: "Array(UInt64)", Data: b.changeCents},
		{Name: "trial_end", Type: proto.ColumnTypeInt64, Data: &b.trialEnd},
		{Name: "ended", Type: proto.ColumnTypeInt64, Data: &b.ended},
		{Name: "target", Type: columns.Word, Data: &b.target},
		{Name: "rate", Type: proto.ColumnTypeInt64, Data: &b.rate},
		{Name: "rank", Type: proto.ColumnTypeUInt64, Data: &b.rank},
		{Name: "block", Type: proto.ColumnTypeUInt64, Data: &b.block},
	}
}

// encode returns the items as one Native block of revision 0, valid until the next call.
func (b *billingBlock) encode(block uint64) []byte {
	b.block = b.block[:0]
	for range b.environment {
		b.block = append(b.block, block)
	}
	return columns.Encode(&b.encoded, b.columns(), b.rows())
}
