package ingest

import (
	"math"
	"slices"
	"strings"
	"time"

	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/protos"
)

// Types of metrics in the metadata of remote write 2.0.
const (
	remoteUnknown = iota
	remoteCounter
	remoteGauge
	remoteHistogramType
	remoteGaugeHistogram
	remoteSummary
)

// staleMarker is the NaN with which Prometheus ends a series.
const staleMarker = 0x7ff0000000000002

// acceptRemote emits the points of a series. A sample that is not a number has no value: it marks the end of a series,
// or a summary without observations.
func (sub *submission) acceptRemote(s *remoteSeries, written *remoteWritten) {
	name := ""
	labels := slices.DeleteFunc(slices.Clone(s.labels), func(l metric.Label) bool {
		if l.Key == "__name__" {
			name = l.Value
		}
		return l.Key == "__name__"
	})
	if s.exemplars > 0 {
		sub.count(ingest.SignalMetrics, ingest.FateInvalid, "exemplar_not_stored", int64(s.exemplars))
	}
	if s.repeated() {
		for range max(len(s.samples)+len(s.histograms), 1) {
			sub.reject(0, "duplicate_label", "A series has two labels of the same name.")
		}
		return
	}
	kind := s.metricKind(name)
	for _, sample := range s.samples {
		if math.IsNaN(sample.value) {
			written.samples++
			continue
		}
		point := sub.numberPoint(sample.value, kind)
		if sub.acceptRemotePoint(s, point, name, kind, sample.tsMs, labels) {
			written.samples++
		}
	}
	for _, h := range s.histograms {
		switch {
		case math.Float64bits(h.point.Sum) == staleMarker:
			written.histograms++
		case !h.good || h.gauge:
			sub.reject(0, "invalid_value", "Of native histograms, those with exponential buckets and whole counts that only rise are read.")
		case sub.acceptRemotePoint(s, h.point, name, metric.MetricHistogram, h.tsMs, labels):
			written.histograms++
		}
	}
}

// repeated reports whether a label name occurs twice.
func (s *remoteSeries) repeated() bool {
	const few = 32 // With more labels the names are sorted.
	if len(s.labels) > few {
		names := make([]string, 0, len(s.labels))
		for _, label := range s.labels {
			names = append(names, label.Key)
		}
		slices.Sort(names)
		return len(slices.Compact(names)) < len(s.labels)
	}
	for n := range s.labels {
		if slices.ContainsFunc(s.labels[:n], func(l metric.Label) bool { return l.Key == s.labels[n].Key }) {
			return true
		}
	}
	return false
}

// metricKind returns the kind of a series' samples: the kind in its metadata, or else the kind that its name has by the
// conventions of Prometheus.
func (s *remoteSeries) metricKind(name string) metric.Kind {
	counts := slices.ContainsFunc([]string{"_total", "_count", "_bucket", "_sum"}, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
	switch s.kind {
	case remoteCounter:
		counts = true
	case remoteGauge, remoteGaugeHistogram:
		counts = false
	case remoteHistogramType, remoteSummary, remoteUnknown:
	}
	if counts {
		return metric.Counter
	}
	return metric.Gauge
}

// acceptRemotePoint completes a point and emits it, or rejects it.
func (sub *submission) acceptRemotePoint(s *remoteSeries, point *protos.MetricPoint, name string, kind metric.Kind, tsMs int64, labels []metric.Label) bool {
	point.Name, point.Kind, point.Unit = name, string(kind), s.unit
	code, message := sub.stampMillis(point, tsMs)
	if code == "" {
		if kind == metric.Gauge {
			point.Once = true
		} else {
			point.Cumulative, point.StartNs = true, uint64(max(s.createdMs, 0))*uint64(time.Millisecond)
		}
		sub.labels = append(sub.labels[:0], labels...)
		code, message = sub.emitPoint(point, sub.labels)
	}
	if code != "" {
		sub.reject(0, code, message)
	}
	return code == ""
}
