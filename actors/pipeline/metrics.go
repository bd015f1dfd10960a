package pipeline

import (
	"github.com/prometheus/client_golang/prometheus"

	"svc/domain/ingest"
)

// IntakeMetrics are the figures of the intake actors of a node.
type IntakeMetrics struct {
	Events     prometheus.Counter
	Errors     prometheus.Counter
	Points     prometheus.Counter
	Duplicates prometheus.Counter
	Broken     prometheus.Counter
}

// NewIntakeMetrics registers the figures.
func NewIntakeMetrics(registerer prometheus.Registerer) *IntakeMetrics {
	m := &IntakeMetrics{
		Events:     prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_intake_events_total", Help: "Events read from the log."}),
		Errors:     prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_intake_errors_total", Help: "Errors read from the log."}),
		Points:     prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_intake_points_total", Help: "Metric points read from the log."}),
		Duplicates: prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_intake_duplicates_total", Help: "Events, errors and metric points dropped because they were seen before."}),
		Broken:     prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_intake_broken_records_total", Help: "Records of the log that did not decode."}),
	}
	registerer.MustRegister(m.Events, m.Errors, m.Points, m.Duplicates, m.Broken)
	return m
}

// SinkMetrics are the figures of the sink of a node.
type SinkMetrics struct {
	Blocks   prometheus.Counter
	Rows     prometheus.Counter
	Failures prometheus.Counter
	Seconds  prometheus.Histogram
	// Letters counts dead letters by kind.
	Letters *prometheus.CounterVec
	// Uneven counts interrupted blocks with a different number of rows in the store than they were made of.
	Uneven prometheus.Counter
}

// NewSinkMetrics registers the figures.
func NewSinkMetrics(registerer prometheus.Registerer) *SinkMetrics {
	m := &SinkMetrics{
		Blocks:   prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_sink_blocks_total", Help: "Blocks stored."}),
		Rows:     prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_sink_rows_total", Help: "Rows stored."}),
		Failures: prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_sink_failures_total", Help: "Attempts to store a block that failed."}),
		Uneven:   prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_sink_uneven_blocks_total", Help: "Interrupted blocks that were completed and have another number of rows in the store than they were made of."}),
		Letters: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_dead_letters_total", Help: "Items that were accepted and could not be folded or stored, by kind.",
		}, []string{"kind"}),
		Seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "svc_sink_block_seconds", Help: "Time to store a block.", Buckets: prometheus.ExponentialBuckets(0.005, 2, 12)}),
	}
	registerer.MustRegister(m.Blocks, m.Rows, m.Failures, m.Seconds, m.Letters, m.Uneven)
	for _, kind := range []ingest.LetterKind{ingest.LetterEvent, ingest.LetterError, ingest.LetterPoint, ingest.LetterBilling, ingest.LetterRecord} {
		m.Letters.WithLabelValues(string(kind))
	}
	return m
}
