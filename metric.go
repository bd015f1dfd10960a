package svc

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// MetricKind says what a metric's values are.
type MetricKind string

// The kinds (contract 67). The sum of a counter's values is by how much it was
// raised; a gauge's values are readings; a histogram's are observations; a
// vital's are observations of a web page.
const (
	MetricCounter   MetricKind = "counter"
	MetricGauge     MetricKind = "gauge"
	MetricHistogram MetricKind = "histogram"
	MetricVital     MetricKind = "vital"
)

// MetricKinds lists the kinds that a client may send as metrics.
func MetricKinds() []MetricKind { return []MetricKind{MetricCounter, MetricGauge, MetricHistogram} }

// Vitals lists the web vitals; each is the name of a metric of kind vital.
func Vitals() []string { return []string{"LCP", "CLS", "INP", "FCP", "TTFB"} }

// VitalUnit returns the unit of a web vital's values.
func VitalUnit(vital string) string {
	if vital == "CLS" {
		return "1"
	}
	return "ms"
}

// Limits of metric points.
const (
	// MaxMetricValues is how many observations or buckets a point may hold.
	MaxMetricValues = 1000
	MaxMetricUnit   = 63
	MaxLabelKey     = 128
	MaxLabelValue   = 512
)

// Label is one label of a series.
type Label struct{ Key, Value string }

// NormaliseLabels sorts labels by key, in place, and drops those without a value,
// those of the denylist, and all but the last of equal keys.
func NormaliseLabels(labels []Label, denylist []string) []Label {
	labels = slices.DeleteFunc(labels, func(l Label) bool { return l.Value == "" || slices.Contains(denylist, l.Key) })
	slices.SortStableFunc(labels, func(a, b Label) int { return strings.Compare(a.Key, b.Key) })
	kept := labels[:0]
	for i, label := range labels {
		if i+1 == len(labels) || labels[i+1].Key != label.Key {
			kept = append(kept, label)
		}
	}
	return kept
}

// MetricRow is one data point on its way to the store. Its strings stay valid as
// long as the row.
type MetricRow struct {
	Environment uint64
	// Series names the metric with its labels within the environment.
	Series uint64
	Name   string
	Kind   MetricKind
	Unit   string
	Labels []Label
	ID     string
	// Once says that a second point of the series at the same instant is a repetition.
	Once           bool
	Ts, ReceivedAt time.Time
	// Item is the point's place among the points of its record of the log.
	Item int
	MetricTotals
	// Values and Weights are the observations where Count is over 1: each value
	// stands for as many observations as its weight says.
	Values  []float64
	Weights []uint64
	// State is the running total of a cumulative series, opaque; empty for others.
	State         []byte
	RetentionDays uint32
}

// MetricTotals are the numbers of a set of observations; Min and Max say nothing
// where Count is 0.
type MetricTotals struct {
	Count    uint64
	Sum      float64
	Min, Max float64
}

// Add includes other observations.
func (t *MetricTotals) Add(other MetricTotals) {
	switch {
	case other.Count == 0:
	case t.Count == 0:
		*t = other
	default:
		t.Min, t.Max = min(t.Min, other.Min), max(t.Max, other.Max)
		t.Count += other.Count
		t.Sum += other.Sum
	}
}

// Avg returns the mean, nil where there is no observation.
func (t *MetricTotals) Avg() *float64 {
	if t.Count == 0 {
		return nil
	}
	return finite(t.Sum / float64(t.Count))
}

// finite returns a number for an answer, nil where JSON has none for it.
func finite(value float64) *float64 {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return nil
	}
	value += 0 // A negative zero becomes zero.
	return &value
}

// Agg is how the observations of a bucket become its value.
type Agg string

// The aggregations. p75 is how web vitals are judged.
const (
	AggSum   Agg = "sum"
	AggAvg   Agg = "avg"
	AggCount Agg = "count"
	AggP50   Agg = "p50"
	AggP75   Agg = "p75"
	AggP90   Agg = "p90"
	AggP95   Agg = "p95"
	AggP99   Agg = "p99"
	AggMax   Agg = "max"
	AggMin   Agg = "min"
)

// Aggs lists the aggregations.
func Aggs() []Agg {
	return []Agg{AggSum, AggAvg, AggCount, AggP50, AggP75, AggP90, AggP95, AggP99, AggMax, AggMin}
}

// Percentiles lists the quantiles that aggregations ask for, in the order in
// which the store answers them.
func Percentiles() []float64 { return []float64{0.5, 0.75, 0.9, 0.95, 0.99} }

// Percentile returns the place in Percentiles of what the aggregation asks for, and
// whether it asks for one.
func (a Agg) Percentile() (int, bool) {
	at := slices.Index([]Agg{AggP50, AggP75, AggP90, AggP95, AggP99}, a)
	return at, at >= 0
}

// Of returns the value of a set of observations. A quiet bucket has a sum and a
// count of 0 and no other value: the result is nil. Percentiles are not made of
// totals; they are nil too.
func (a Agg) Of(t MetricTotals) *float64 {
	switch {
	case a == AggSum:
		return finite(t.Sum)
	case a == AggCount:
		return finite(float64(t.Count))
	case t.Count == 0:
		return nil
	case a == AggAvg:
		return t.Avg()
	case a == AggMax:
		return finite(t.Max)
	case a == AggMin:
		return finite(t.Min)
	}
	return nil
}

// MetricName is one row of the list of metrics.
type MetricName struct {
	Name       string
	Kind       MetricKind
	Unit       string
	LabelKeys  []string
	Series     uint64
	LastSeenAt time.Time
}

// MetricQuery asks for one metric in buckets.
type MetricQuery struct {
	Environment Environment
	Name        string
	Agg         Agg
	Window      MetricWindow
	// Labels keep the series that have, for every key, one of the values.
	Labels []Label
	// GroupBy is a label whose values part the series; empty for one series.
	GroupBy string
	// Groups is how many groups are returned, those with the highest value.
	Groups int
}

// MetricPoint is one bucket; Value is nil where the bucket has none.
type MetricPoint struct {
	T     time.Time
	Value *float64
}

// MetricGroup is the part of a metric with one value of a label.
type MetricGroup struct {
	Label string
	// Value is that of the whole window.
	Value   *float64
	Points  []MetricPoint
	Summary MetricTotals
}

// MetricSeries is the answer to a MetricQuery.
type MetricSeries struct {
	Points  []MetricPoint
	Summary MetricTotals
	// Groups are sorted by their value, the highest first, then by label.
	Groups []MetricGroup
	// GroupCount is how many groups there are in all.
	GroupCount int
}

// CompareMetricGroups orders groups by their value, the highest first and those
// without one last, then by label.
func CompareMetricGroups(a, b MetricGroup) int {
	switch {
	case a.Value == nil && b.Value != nil:
		return 1
	case a.Value != nil && b.Value == nil:
		return -1
	case a.Value != nil && *a.Value != *b.Value:
		return cmp.Compare(*b.Value, *a.Value)
	}
	return cmp.Compare(a.Label, b.Label)
}

// CumulativeSeries is the running total of a cumulative series at its last point.
type CumulativeSeries struct {
	Environment uint64
	Name        string
	Series      uint64
	// State is that of the MetricRow.
	State  []byte
	SeenAt time.Time
}
