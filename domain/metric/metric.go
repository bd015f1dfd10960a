package metric

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// Kind is the kind of a metric's values.
type Kind string

// The kinds (contract 67). The sum of a counter's values is its total increase. A gauge's values are readings, a
// histogram's are observations, a vital's are observations of a web page.
const (
	Counter         Kind = "counter"
	Gauge           Kind = "gauge"
	MetricHistogram Kind = "histogram"
	Vital           Kind = "vital"
)

// Kinds lists the kinds that a client may send as metrics.
func Kinds() []Kind { return []Kind{Counter, Gauge, MetricHistogram} }

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
	// MaxMetricValues limits the observations or buckets of a point.
	MaxMetricValues = 1000
	MaxMetricUnit   = 63
	MaxLabelKey     = 128
	MaxLabelValue   = 512
)

// Label is one label of a series.
type Label struct{ Key, Value string }

// NormaliseLabels sorts labels by key, in place. It drops labels without a value, labels of the denylist, and all but
// the last of equal keys.
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

// Row is one data point on its way to the store. Its strings are valid as long as the row.
type Row struct {
	Environment uint64
	// Series identifies the metric with its labels within the environment.
	Series uint64
	Name   string
	Kind   Kind
	Unit   string
	Labels []Label
	ID     string
	// Once says that a second point of the series at the same instant is a repetition.
	Once           bool
	Ts, ReceivedAt time.Time
	// Item is the point's place among the points of its log record.
	Item int
	Totals
	// Values and Weights are the observations if Count is over 1: each value stands for as many observations as its
	// weight.
	Values  []float64
	Weights []uint64
	// State is the opaque running total of a cumulative series; empty for others.
	State         []byte
	RetentionDays uint32
}

// Totals are the totals of a set of observations; Min and Max are meaningless if Count is 0.
type Totals struct {
	Count    uint64
	Sum      float64
	Min, Max float64
}

// Add merges other observations.
func (t *Totals) Add(other Totals) {
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

// Avg returns the mean, nil without observations.
func (t *Totals) Avg() *float64 {
	if t.Count == 0 {
		return nil
	}
	return finite(t.Sum / float64(t.Count))
}

// finite returns a number for an answer, nil if JSON cannot represent it.
func finite(value float64) *float64 {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return nil
	}
	value += 0 // A negative zero becomes zero.
	return &value
}

// Agg is the way to aggregate the observations of a bucket.
type Agg string

// The aggregations. Web vitals are judged by p75.
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

// Percentiles lists the quantiles of the aggregations, in the order of the store's answers.
func Percentiles() []float64 { return []float64{0.5, 0.75, 0.9, 0.95, 0.99} }

// Percentile returns the index in Percentiles of the aggregation, and whether it is a percentile.
func (a Agg) Percentile() (int, bool) {
	at := slices.Index([]Agg{AggP50, AggP75, AggP90, AggP95, AggP99}, a)
	return at, at >= 0
}

// Of returns the value of a set of observations. An empty bucket has a sum and a count of 0; every other aggregation is
// nil. Percentiles cannot be computed from totals and are nil too.
func (a Agg) Of(t Totals) *float64 {
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

// Name is one row of the list of metrics.
type Name struct {
	Name       string
	Kind       Kind
	Unit       string
	LabelKeys  []string
	Series     uint64
	LastSeenAt time.Time
}

// Query selects one metric in buckets.
type Query struct {
	Environment domain.Environment
	Name        string
	Agg         Agg
	Window      Window
	// Labels select the series that have, for every key, one of the values.
	Labels []Label
	// GroupBy is the label by which the series are grouped; empty for one series.
	GroupBy string
	// Groups is the number of returned groups, the ones with the highest values.
	Groups int
}

// Point is one bucket; Value is nil if the bucket has none.
type Point struct {
	T     time.Time
	Value *float64
}

// Group is the part of a metric with one value of a label.
type Group struct {
	Label string
	// Value is the value over the whole window.
	Value   *float64
	Points  []Point
	Summary Totals
}

// Series is the answer to a Query.
type Series struct {
	Points  []Point
	Summary Totals
	// Groups are sorted by their value, the highest first, then by label.
	Groups []Group
	// GroupCount is the total number of groups.
	GroupCount int
}

// CompareMetricGroups orders groups by their value, the highest first and groups without a value last, then by label.
func CompareMetricGroups(a, b Group) int {
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
	// State is the State of the Row.
	State  []byte
	SeenAt time.Time
}
