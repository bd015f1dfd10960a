package telemetry

import (
	"time"

	"svc/domain"
	"svc/domain/analytics"
)

// Limits of an answer about cardinality. They also limit the data that is read and held in memory.
const (
	// CardinalityMetrics is the number of metrics in the answer, CardinalityLabels the number of labels per metric.
	CardinalityMetrics = 50
	CardinalityLabels  = 5
	// CardinalitySamples is the number of values shown per label.
	CardinalitySamples = 5
	// CardinalitySeries bounds the series that a count of labels reads. If there are more, it reads one series in two
	// of each metric, or one in three, and so on. It reads all series of a metric with at most CardinalityNarrow
	// series.
	CardinalitySeries = 250_000
	CardinalityNarrow = 2_000
	// CardinalityProperties is the number of properties in the answer, CardinalityEvents the number of events that are
	// counted.
	CardinalityProperties = 100
	CardinalityEvents     = 50_000
	// CardinalityKeys is the number of distinct pairs of event and property.
	CardinalityKeys = 10_000
)

// Days over which cardinality is counted.
const (
	DefaultCardinalityDays = 7
	MaxCardinalityDays     = 30
)

// CardinalityQuery selects the widest metrics and properties of an environment, among the series with a point since an
// instant and the newest events since then.
type CardinalityQuery struct {
	Environment domain.Environment
	Since       time.Time
	// Masked says that the caller may not see personal data: events that identify a person are left out.
	Masked bool
}

// MetricCardinality is the number of series of each metric, the metric with the most first.
type MetricCardinality struct {
	// Series is the total of all metrics. Counts are exact up to some ten thousand, then within 1 %.
	Series  int64
	Metrics []MetricWidth
	// Truncated says that there are more metrics, or that not all series were read for their labels.
	Truncated bool
}

// MetricWidth is the number of series of a metric, and the labels that cause them, the widest first.
type MetricWidth struct {
	Name   string
	Series int64
	Labels []LabelWidth
}

// LabelWidth is the number of values of a metric's label, with some of them.
type LabelWidth struct {
	Key            string
	DistinctValues int64
	Samples        []string
}

// PropertyCardinality is the number of values of each property of the newest events, the widest first.
type PropertyCardinality struct {
	// Keys is the number of pairs of event and property, at most CardinalityKeys; Events is the number of events read.
	Keys, Events int64
	Properties   []PropertyWidth
	// Truncated says that there are more properties, or that not all events were read.
	Truncated bool
}

// PropertyWidth is the number of values of a property in events of one name.
type PropertyWidth struct {
	Event, Key     string
	DistinctValues int64
	// Types are the types of its values in alphabetical order.
	Types []analytics.PropertyType
}
