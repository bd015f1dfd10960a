package block

import (
	"fmt"
	"slices"

	"github.com/ClickHouse/ch-go/proto"

	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/domain/occurrence"
	"svc/domain/revenue"
	"svc/storage/clickhouse/columns"
)

// appendRows appends rows of some columns to other columns of the same names.
func appendRows(to, from []columns.Column, rows []int) {
	for n := range to {
		switch target := to[n].Data.(type) {
		case *proto.ColUInt64:
			appendNumbers(target, from[n].Data.(*proto.ColUInt64), rows)
		case *proto.ColInt64:
			appendNumbers(target, from[n].Data.(*proto.ColInt64), rows)
		case *proto.ColUInt8:
			appendNumbers(target, from[n].Data.(*proto.ColUInt8), rows)
		case *proto.ColUInt32:
			appendNumbers(target, from[n].Data.(*proto.ColUInt32), rows)
		case *proto.ColInt8:
			appendNumbers(target, from[n].Data.(*proto.ColInt8), rows)
		case *proto.ColUInt16:
			appendNumbers(target, from[n].Data.(*proto.ColUInt16), rows)
		case *proto.ColBool:
			appendNumbers(target, from[n].Data.(*proto.ColBool), rows)
		case *proto.ColFloat64:
			appendNumbers(target, from[n].Data.(*proto.ColFloat64), rows)
		case *columns.Dictionary:
			source := from[n].Data.(*columns.Dictionary)
			for _, row := range rows {
				target.Append(source.Row(row))
			}
		case *proto.ColStr:
			appendValues(target, from[n].Data.(*proto.ColStr), rows)
		case *proto.ColNullable[float64]:
			appendValues(target, from[n].Data.(*proto.ColNullable[float64]), rows)
		case *proto.ColArr[float64]:
			appendValues(target, from[n].Data.(*proto.ColArr[float64]), rows)
		case *proto.ColArr[uint64]:
			appendValues(target, from[n].Data.(*proto.ColArr[uint64]), rows)
		default:
			panic(fmt.Sprintf("column %s has a type that nobody copies: %T", to[n].Name, target))
		}
	}
}

// appendNumbers appends rows of a column to another. A column that is filled during encoding has no rows.
func appendNumbers[S ~[]E, E any](to, from *S, rows []int) {
	for _, row := range rows {
		if row < len(*from) {
			*to = append(*to, (*from)[row])
		}
	}
}

func appendValues[T any](to interface{ Append(value T) }, from interface{ Row(n int) T }, rows []int) {
	for _, row := range rows {
		to.Append(from.Row(row))
	}
}

// kindRows are the rows of one kind of a block.
type kindRows struct {
	kind ingest.LetterKind
	// query inserts the rows, size counts them, columns lists their columns in a block.
	query   string
	size    func(b *Block) int
	columns func(b *Block) []columns.Column
	encode  func(b *Block, number uint64) []byte
	// plain appends a row that every healthy store accepts.
	plain func(b *Block)
}

// rowKinds lists the kinds of rows in the order of their insertion.
func rowKinds() []kindRows {
	return []kindRows{
		{
			ingest.LetterEvent, "events.Append", func(b *Block) int { return len(b.environment) }, (*Block).columns, (*Block).encode,
			func(b *Block) { b.Append(&event.Row{Event: event.Event{Name: event.PageView}}) },
		},
		{
			ingest.LetterError, "occurrences.Append", func(b *Block) int { return b.errors.rows() }, func(b *Block) []columns.Column { return b.errors.columns() },
			func(b *Block, number uint64) []byte { return b.errors.encode(number) },
			func(b *Block) { b.AppendOccurrence(&occurrence.Row{Occurrence: occurrence.Occurrence{Name: "Error"}}) },
		},
		{
			ingest.LetterPoint, "metrics.Append", func(b *Block) int { return b.metrics.rows() }, func(b *Block) []columns.Column { return b.metrics.columns() },
			func(b *Block, number uint64) []byte { return b.metrics.encode(number) },
			func(b *Block) { b.AppendMetric(&metric.Row{Name: "metric", Kind: metric.Counter}) },
		},
		{
			ingest.LetterBilling, "billing.Append", func(b *Block) int { return b.billing.rows() }, func(b *Block) []columns.Column { return b.billing.columns() },
			func(b *Block, number uint64) []byte { return b.billing.encode(number) },
			func(b *Block) { b.AppendBilling(&revenue.BillingRow{Kind: revenue.BillingSubscription}) },
		},
	}
}

// Without removes rows from the block, by their indexes among the rows of a kind, in any order.
func (b *Block) Without(kind ingest.LetterKind, rows []int) {
	if b.rest != nil {
		b.rest.without(b, kind, rows)
		return
	}
	b.remove(kind, rows)
}

// remove removes rows of one shard.
func (b *Block) remove(kind ingest.LetterKind, rows []int) {
	for _, k := range rowKinds() {
		if k.kind != kind {
			continue
		}
		rest := make([]int, 0, k.size(b))
		for row := range k.size(b) {
			if !slices.Contains(rows, row) {
				rest = append(rest, row)
			}
		}
		b.usage.refuse(kind, b, rows)
		kept := newPlainBlock()
		appendRows(k.columns(kept), k.columns(b), rest)
		columns.Reset(k.columns(b))
		all := make([]int, len(rest))
		for row := range all {
			all[row] = row
		}
		appendRows(k.columns(b), k.columns(kept), all)
	}
}

// newPlainBlock returns a block that shares no notes of series.
func newPlainBlock() *Block { return newBlock(&seriesNotes{}) }
