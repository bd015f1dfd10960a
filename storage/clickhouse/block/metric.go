package block

import (
	"github.com/ClickHouse/ch-go/proto"

	"svc/domain/metric"
	"svc/storage/clickhouse/columns"
)

// metricBlock holds the columns of the metric points of a block, and its series. As in Block, strings of low
// cardinality are stored by reference until the reset.
type metricBlock struct {
	bytes int

	environment, series, block proto.ColUInt64
	name                       columns.Dictionary
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

// pointBytes is the approximate size of a point without its lists, in bytes.
const pointBytes = 96

func (b *metricBlock) rows() int { return len(b.environment) }

func (b *metricBlock) append(row *metric.Row) {
	b.bytes += pointBytes + 16*len(row.Values) + len(row.State)
	b.environment = append(b.environment, row.Environment)
	b.series = append(b.series, row.Series)
	b.name.Append(row.Name)
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
	columns.Reset(b.columns())
	b.encoded.Reset()
	b.seen.reset()
}

// columns lists the columns in the order of metrics.Append.
func (b *metricBlock) columns() []columns.Column {
	return []columns.Column{
		{Name: "environment", Type: proto.ColumnTypeUInt64, Data: &b.environment},
		{Name: "name", Type: columns.Word, Data: &b.name},
		{Name: "series", Type: proto.ColumnTypeUInt64, Data: &b.series},
		{Name: "ts", Type: columns.Time, Data: &b.ts},
		{Name: "received_at", Type: columns.Time, Data: &b.receivedAt},
		{Name: "id", Type: columns.String, Data: &b.id},
		{Name: "once", Type: proto.ColumnTypeBool, Data: &b.once},
		{Name: "count", Type: proto.ColumnTypeUInt64, Data: &b.count},
		{Name: "sum", Type: proto.ColumnTypeFloat64, Data: &b.sum},
		{Name: "min", Type: proto.ColumnTypeFloat64, Data: &b.min},
		{Name: "max", Type: proto.ColumnTypeFloat64, Data: &b.max},
		{Name: "values", Type: "Array(Float64)", Data: b.values},
		{Name: "weights", Type: "Array(UInt64)", Data: b.weights},
		{Name: "state", Type: columns.String, Data: &b.state},
		{Name: "block", Type: proto.ColumnTypeUInt64, Data: &b.block},
		{Name: "expires", Type: proto.ColumnTypeDate, Data: &b.expires},
	}
}

// encode returns the points as one Native block of revision 0, valid until the next call.
func (b *metricBlock) encode(block uint64) []byte {
	b.block = b.block[:0]
	for range b.environment {
		b.block = append(b.block, block)
	}
	return columns.Encode(&b.encoded, b.columns(), b.rows())
}
