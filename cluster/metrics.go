package cluster

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the Prometheus metrics of the actor layer, by kind.
type Metrics struct {
	Resident  *prometheus.GaugeVec
	InFlight  *prometheus.GaugeVec
	Refused   *prometheus.CounterVec
	Retries   *prometheus.CounterVec
	Panics    *prometheus.CounterVec
	Passivate *prometheus.CounterVec
	Wakeups   prometheus.Counter
}

// NewMetrics creates and registers the metrics.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	kind := []string{"kind"}
	m := &Metrics{
		Resident:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "svc_actors_resident", Help: "Activations in memory."}, kind),
		InFlight:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "svc_actor_requests_in_flight", Help: "Requests under way."}, kind),
		Refused:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_actor_requests_refused_total", Help: "Requests refused because too many were under way."}, kind),
		Retries:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_actor_retries_total", Help: "Attempts repeated because the actor had moved."}, kind),
		Panics:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_actor_panics_total", Help: "Panics caught."}, kind),
		Passivate: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_actor_passivations_total", Help: "Activations asked to stop for idleness."}, kind),
		Wakeups:   prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_wakeups_total", Help: "Durable wake-ups delivered."}),
	}
	registerer.MustRegister(m.Resident, m.InFlight, m.Refused, m.Retries, m.Panics, m.Passivate, m.Wakeups)
	return m
}

func (m *Metrics) initialise(kinds map[string]*Kind) {
	for name := range kinds {
		m.Resident.WithLabelValues(name).Set(0)
		m.InFlight.WithLabelValues(name).Set(0)
		m.Refused.WithLabelValues(name)
		m.Retries.WithLabelValues(name)
		m.Panics.WithLabelValues(name)
		m.Passivate.WithLabelValues(name)
	}
}
