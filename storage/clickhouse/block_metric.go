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

// seriesBlock holds the columns of the series of a block, one row each: at finds it.
type seriesBlock struct {
	at map[uint64]int

	environment, series     proto.ColUInt64
	name                    proto.ColStr
	lastSeen                proto.ColInt64
	kind, unit              dictionary
	labelKeys, labelValues  *proto.ColArr[string]
	expires                 proto.ColUInt16
	encoded                 proto.Buffer
	keysScratch, valScratch []string
}

func newMetricBlock() metricBlock {
	return metricBlock{
		values: proto.NewArray[float64](new(proto.ColFloat64)), weights: proto.NewArray[uint64](new(proto.ColUInt64)),
		seen: seriesBlock{
			at: map[uint64]int{}, labelKeys: proto.NewArray[string](new(proto.ColStr)), labelValues: proto.NewArray[string](new(proto.ColStr)),
		},
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

// note keeps one row of each series, with its latest time.
func (s *seriesBlock) note(row *svc.MetricRow, ts int64) {
	at, known := s.at[row.Series]
	if known {
		s.lastSeen[at] = max(s.lastSeen[at], ts)
		s.expires[at] = max(s.expires[at], expiry(ts, row.RetentionDays))
		return
	}
	s.at[row.Series] = len(s.series)
	s.environment = append(s.environment, row.Environment)
	s.series = append(s.series, row.Series)
	s.name.Append(row.Name)
	s.lastSeen = append(s.lastSeen, ts)
	s.kind.append(string(row.Kind))
	s.unit.append(row.Unit)
	s.keysScratch, s.valScratch = s.keysScratch[:0], s.valScratch[:0]
	for _, label := range row.Labels {
		s.keysScratch, s.valScratch = append(s.keysScratch, label.Key), append(s.valScratch, label.Value)
	}
	s.labelKeys.Append(s.keysScratch)
	s.labelValues.Append(s.valScratch)
	s.expires = append(s.expires, expiry(ts, row.RetentionDays))
}

func (b *metricBlock) reset() {
	b.bytes = 0
	resetColumns(b.columns())
	resetColumns(b.seen.columns())
	clear(b.seen.at)
	b.encoded.Reset()
	b.seen.encoded.Reset()
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

// columns lists the columns in the order of metrics.AppendSeries.
func (s *seriesBlock) columns() []blockColumn {
	return []blockColumn{
		{"environment", proto.ColumnTypeUInt64, &s.environment},
		{"name", kindString, &s.name},
		{"series", proto.ColumnTypeUInt64, &s.series},
		{"last_seen", kindTime, &s.lastSeen},
		{"kind", kindWord, &s.kind},
		{"unit", kindWord, &s.unit},
		{"label_keys", "Array(String)", s.labelKeys},
		{"label_values", "Array(String)", s.labelValues},
		{"expires", proto.ColumnTypeDate, &s.expires},
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

// encode returns the series as one Native block of revision 0, valid until the next call.
func (s *seriesBlock) encode() []byte { return encodeColumns(&s.encoded, s.columns(), len(s.series)) }
