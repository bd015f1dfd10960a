package ingest

import (
	"github.com/prometheus/client_golang/prometheus"

	"svc"
)

// CollectMetrics counts accepted and rejected items, and refused requests.
type CollectMetrics struct {
	Accepted prometheus.Counter
	Rejected *prometheus.CounterVec
	Refused  *prometheus.CounterVec
}

// NewCollectMetrics registers the figures.
func NewCollectMetrics(registerer prometheus.Registerer) *CollectMetrics {
	m := &CollectMetrics{
		Accepted: prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_ingest_accepted_total", Help: "Items acknowledged by the log."}),
		Rejected: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_ingest_rejected_total", Help: "Items rejected, by code."}, []string{"code"}),
		Refused:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_ingest_refused_total", Help: "Ingest requests refused whole, by code."}, []string{"code"}),
	}
	registerer.MustRegister(m.Accepted, m.Rejected, m.Refused)
	for _, info := range svc.Codes() {
		m.Refused.WithLabelValues(string(info.Code))
	}
	return m
}

func (m *CollectMetrics) refused(err error) { m.Refused.WithLabelValues(string(svc.CodeOf(err))).Inc() }
