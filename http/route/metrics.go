package route

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the package. Labels are closed sets: operations of the table and
// classes of status.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	running  prometheus.Gauge
	panics   prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_http_requests_total", Help: "Requests by route and class of status."}, []string{"route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "svc_http_request_seconds", Help: "Time from the first byte read to the last byte written, by route.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{Name: "svc_http_requests_running", Help: "Requests being answered."}),
		panics:  prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_http_panics_total", Help: "Requests whose handler panicked."}),
	}
	for _, collector := range []prometheus.Collector{m.requests, m.seconds, m.running, m.panics} {
		if err := registerer.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// routeMetrics are the metrics of one row, looked up once and zero from the start.
type routeMetrics struct {
	seconds prometheus.Observer
	classes [6]prometheus.Counter
}

func (m *metrics) route(operation string) *routeMetrics {
	route := &routeMetrics{seconds: m.seconds.WithLabelValues(operation)}
	for class := 1; class <= 5; class++ {
		route.classes[class] = m.requests.WithLabelValues(operation, string(rune('0'+class))+"xx")
	}
	return route
}

// observe counts one finished request.
func (m *routeMetrics) observe(status int, took time.Duration) {
	m.seconds.Observe(took.Seconds())
	if class := status / 100; class >= 1 && class <= 5 {
		m.classes[class].Inc()
	}
}
