package pipeline

import (
	"slices"
	"time"

	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/protos"
)

// RecentMetrics is the least number of metric point names that a partition remembers: as many as a table of 2^17 slots
// holds.
const RecentMetrics = 98_000

// foldPoint appends the row of one metric point unless it is a repetition.
func (i *Intake) foldPoint(p *protos.MetricPoint) {
	if p.Id != "" && known(i.metricIDs, protos.PointKey(p.Series, p.Id), p.Letter) ||
		p.Id == "" && p.Once && known(i.metricIDs, protos.InstantKey(p.Series, p.TsMs), p.Letter) {
		i.count(ingest.SignalMetrics, ingest.FateDuplicate, countedPoint(p))
		return
	}
	row := metric.Row{
		Environment: p.Environment, Series: p.Series, Name: p.Name, Kind: metric.Kind(p.Kind), Unit: p.Unit, ID: p.Id, Once: p.Once,
		Ts: time.UnixMilli(p.TsMs), ReceivedAt: time.UnixMilli(p.ReceivedMs), RetentionDays: p.RetentionDays,
	}
	row.Labels = make([]metric.Label, 0, len(p.Labels)/2)
	for n := 0; n+1 < len(p.Labels); n += 2 {
		row.Labels = append(row.Labels, metric.Label{Key: p.Labels[n], Value: p.Labels[n+1]})
	}
	measured := measurement{count: p.Count, sum: p.Sum, histogram: histogramOf(p.Histogram)}
	if p.Cumulative {
		var late bool
		if measured, late = i.deltas.fold(p, measured); late {
			i.count(ingest.SignalMetrics, ingest.FateTooOld, countedPoint(p))
			return
		}
		row.State = i.deltas.state(p)
	}
	measured.fill(&row, p)
	i.Points = append(i.Points, row)
	i.count(ingest.SignalMetrics, ingest.FateStored, countedPoint(p))
}

// measurement is the value of a point, or its difference from the previous point. An empty one has no value.
type measurement struct {
	count     uint64
	sum       float64
	histogram *metric.Histogram
}

// fill sets the numbers of a row.
func (m measurement) fill(row *metric.Row, p *protos.MetricPoint) {
	switch {
	case len(p.Values) > 0:
		m.fillValues(row, p.Values)
	case m.histogram == nil && m.count > 0:
		row.Totals = metric.Totals{Count: m.count, Sum: m.sum, Min: m.sum, Max: m.sum}
	case m.count > 0:
		m.fillHistogram(row, p)
	}
}

// fillValues adds single observations.
func (m measurement) fillValues(row *metric.Row, values []float64) {
	for _, value := range values {
		row.Add(metric.Totals{Count: 1, Sum: value, Min: value, Max: value})
	}
	if len(values) > 1 {
		row.Values, row.Weights = slices.Clone(values), make([]uint64, len(values))
		for n := range row.Weights {
			row.Weights[n] = 1
		}
	}
}

// fillHistogram adds counted observations. The extremes of a cumulative series are bounds for its parts, but not the
// extremes of the parts.
func (m measurement) fillHistogram(row *metric.Row, p *protos.MetricPoint) {
	row.Values, row.Weights = m.histogram.Values(p.Min, p.Max)
	if len(row.Values) == 0 || !m.histogram.Exponential && len(m.histogram.Bounds) == 0 {
		row.Values, row.Weights = []float64{m.sum / float64(m.count)}, []uint64{m.count}
	}
	row.Totals = metric.Totals{Count: m.count, Sum: m.sum, Min: slices.Min(row.Values), Max: slices.Max(row.Values)}
	if !p.Cumulative && p.Min != nil {
		row.Min = *p.Min
	}
	if !p.Cumulative && p.Max != nil {
		row.Max = *p.Max
	}
}

// histogramOf reads the buckets of a point; they share its memory.
func histogramOf(h *protos.Histogram) *metric.Histogram {
	if h == nil {
		return nil
	}
	return &metric.Histogram{
		Bounds: h.Bounds, Buckets: h.Buckets, Exponential: h.Exponential, Scale: h.Scale, Zero: h.Zero,
		PositiveOffset: h.PositiveOffset, Positive: h.Positive, NegativeOffset: h.NegativeOffset, Negative: h.Negative,
	}
}
