package svc

import "time"

// Bounds of an answer about cardinality. They bound what is read and kept in memory as well.
const (
	// CardinalityMetrics and CardinalityLabels are how many metrics are named, and how many labels of each.
	CardinalityMetrics = 50
	CardinalityLabels  = 5
	// CardinalitySamples is how many values of a label are shown.
	CardinalitySamples = 5
	// CardinalitySeries is of how many series the labels are read. Where there are more, it is one in two of each metric, or one in
	// three, and so on, but all of a metric that has CardinalityNarrow series at most.
	CardinalitySeries = 250_000
	CardinalityNarrow = 2_000
	// CardinalityProperties is how many properties are named, CardinalityEvents in how many events they are counted.
	CardinalityProperties = 100
	CardinalityEvents     = 50_000
	// CardinalityKeys is how many pairs of event and property are told apart.
	CardinalityKeys = 10_000
)

// Days over which cardinality is counted.
const (
	DefaultCardinalityDays = 7
	MaxCardinalityDays     = 30
)

// CardinalityQuery asks what is widest in an environment: among the series with a point since an instant, and among
// the newest events since then.
type CardinalityQuery struct {
	Environment Environment
	Since       time.Time
	// Masked says that the caller may not see personal data: events that identify a person are left out.
	Masked bool
}

// MetricCardinality is how many series of each metric there are, the metric with most first.
type MetricCardinality struct {
	// Series counts those of all metrics. Counts are exact up to some ten thousand, then within 1 %.
	Series  int64
	Metrics []MetricWidth
	// Truncated says that there are more metrics, or more series than were looked at for their labels.
	Truncated bool
}

// MetricWidth is how many series a metric has, and the labels that make them, the widest first.
type MetricWidth struct {
	Name   string
	Series int64
	Labels []LabelWidth
}

// LabelWidth is how many values a label of a metric has, with some of them.
type LabelWidth struct {
	Key            string
	DistinctValues int64
	Samples        []string
}

// PropertyCardinality is how many values each property of the newest events has, the widest first.
type PropertyCardinality struct {
	// Keys counts the pairs of event and property, CardinalityKeys at most; Events those looked at.
	Keys, Events int64
	Properties   []PropertyWidth
	// Truncated says that there are more properties, or more events than were looked at.
	Truncated bool
}

// PropertyWidth is how many values a property of events of one name has.
type PropertyWidth struct {
	Event, Key     string
	DistinctValues int64
	// Types are the types of its values, ordered by their words.
	Types []PropertyType
}
