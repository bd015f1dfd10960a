package clickhouse

import (
	"github.com/ClickHouse/ch-go/proto"

	"svc"
)

// metricBlock holds the columns of the metric points of a block, and its series. As
// with events, strings of low cardinality are kept by reference until the reset.
type metricBlock struct {
	bytes int

	environment, series, block proto.ColUInt64
	name                       dictionary
	ts, receivedAt             proto.ColInt64
	id                         proto.ColStr
	once                       proto.ColBool
	count                      proto.ColUInt64
	sum, min, max              proto.ColFloat64
	values                     *proto.ColArr[float64]
	weights                    *proto.ColArr[uint64]
	state                      proto.ColStr
	expires                    proto.ColUInt16
	encoded                    proto.Buffer

	seen seriesBlock
}

func newMetricBlock(stored *seriesNotes) metricBlock {
	return metricBlock{
		values: proto.NewArray[float64](new(proto.ColFloat64)), weights: proto.NewArray[uint64](new(proto.ColUInt64)), seen: newSeriesBlock(stored),
	}
}

// pointBytes is about what a point takes without its lists.
const pointBytes = 96

func (b *metricBlock) rows() int { return len(b.environment) }

func (b *metricBlock) append(row *svc.MetricRow) {
	b.bytes += pointBytes + 16*len(row.Values) + len(row.State)
	b.environment = append(b.environment, row.Environment)
	b.series = append(b.series, row.Series)
	b.name.append(row.Name)
	ts := row.Ts.UnixMilli()
	b.ts = append(b.ts, ts)
	b.receivedAt = append(b.receivedAt, row.ReceivedAt.UnixMilli())
	b.id.Append(row.ID)
	b.once = append(b.once, row.Once)
	b.count = append(b.count, row.Count)
	b.sum = append(b.sum, row.Sum)
	b.min = append(b.min, row.Min)
	b.max = append(b.max, row.Max)
	b.values.Append(row.Values)
	b.weights.Append(row.Weights)
	b.state.AppendBytes(row.State)
	b.expires = append(b.expires, expiry(ts, row.RetentionDays))
	b.seen.note(row, ts)
}

func (b *metricBlock) reset() {
	b.bytes = 0
	resetColumns(b.columns())
	b.encoded.Reset()
	b.seen.reset()
}

// columns lists the columns in the order of metrics.Append.
func (b *metricBlock) columns() []blockColumn {
	return []blockColumn{
		{"environment", proto.ColumnTypeUInt64, &b.environment},
		{"name", kindWord, &b.name},
		{"series", proto.ColumnTypeUInt64, &b.series},
		{"ts", kindTime, &b.ts},
		{"received_at", kindTime, &b.receivedAt},
		{"id", kindString, &b.id},
		{"once", proto.ColumnTypeBool, &b.once},
		{"count", proto.ColumnTypeUInt64, &b.count},
		{"sum", proto.ColumnTypeFloat64, &b.sum},
		{"min", proto.ColumnTypeFloat64, &b.min},
		{"max", proto.ColumnTypeFloat64, &b.max},
		{"values", "Array(Float64)", b.values},
		{"weights", "Array(UInt64)", b.weights},
		{"state", kindString, &b.state},
		{"block", proto.ColumnTypeUInt64, &b.block},
		{"expires", proto.ColumnTypeDate, &b.expires},
	}
}

// encode returns the points as one Native block of revision 0, valid until the next call.
func (b *metricBlock) encode(block uint64) []byte {
	b.block = b.block[:0]
	for range b.environment {
		b.block = append(b.block, block)
	}
	return encodeColumns(&b.encoded, b.columns(), b.rows())
}
