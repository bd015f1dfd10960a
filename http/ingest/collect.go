package ingest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/http/admission"
	"svc/http/route"
)

// Collectors reads the live ingest keys.
type Collectors interface {
	// Collector returns the permissions of a key, by its SHA-256; nil for an unknown one.
	Collector(hash [32]byte) *domain.Collector
	// Former returns the environment of a revoked key, 0 for a key that never existed.
	Former(hash [32]byte) uint64
	// Named returns the environment of an ingest id, 0 for an unknown id.
	Named(ingestID string) uint64
}

// Log accepts events.
type Log interface {
	// Produce returns nil after the log has acknowledged every part. It bounds the wait itself.
	Produce(ctx context.Context, parts []event.Part) error
}

// Collect serves the ingest paths: it checks the key and every item, and answers 202 only after the log has
// acknowledged the accepted items.
type Collect struct {
	Collectors Collectors
	// Current reports whether the node's list of keys is current; nil means that it always is.
	Current func() bool
	Log     Log
	Shape   domain.LogShape
	Metrics *CollectMetrics
	// Admission bounds the node's resources for requests; nil bounds nothing.
	Admission *admission.Control
	// Proxies are the hosts that state the address of the sender in a header.
	Proxies Proxies
	// Symbols finds the original places of minified code; nil finds none.
	Symbols Symbols
	// Cardinality bounds the series of metrics.
	Cardinality Cardinality
	// Policies returns the telemetry policies of environments; nil means the default everywhere.
	Policies Policies
	// Tallies counts the items that are not accepted; nil counts nothing.
	Tallies Tallies
	// NoBilling is true if the program was built without the module revenue.
	NoBilling bool
	// ExclusionKey makes the hashes by which excluded addresses are identified.
	ExclusionKey []byte

	issues issueNotes
}

// defaultTelemetry is the policy of environments without a policy of their own.
//
//nolint:gochecknoglobals // it is never changed, and every request would make it again
var defaultTelemetry = &telemetry.State{Policy: telemetry.DefaultTelemetryPolicy()}

// telemetryOf returns the policy of an environment.
func (c *Collect) telemetryOf(environment uint64) *telemetry.State {
	if c.Policies == nil {
		return defaultTelemetry
	}
	return c.Policies.Telemetry(environment)
}

// current returns the reason why a key cannot be checked now, nil if it can.
func (c *Collect) current() error {
	if c.Current == nil || c.Current() {
		return nil
	}
	return domain.NotAccepted("The list of ingest keys", collectRetry)
}

// collectRetry is the Retry-After while the log does not answer.
const collectRetry = time.Second

// Routes returns the rows of the ingest surface.
func (c *Collect) Routes() []route.Route {
	row := func(path, operation, summary string, kind itemKind, shape route.Endpoint) route.Route {
		return route.Route{
			Surface: route.Collect, Method: http.MethodPost, Path: "/api/v1" + path, Operation: operation,
			Effect: route.Write, Status: http.StatusAccepted, Summary: summary, Handler: shape,
			Codes: []domain.Code{domain.CodeInvalidRequest, domain.CodeUnauthorized, domain.CodeForbidden, domain.CodeTooLarge, domain.CodeUnsupportedMedia, domain.CodeUnavailable},
			Raw:   func(w *route.Response, r *http.Request) { c.serve(w, r, kind) }, //nolint:contextcheck // the request inside carries its context
		}
	}
	return append(slices.Concat(c.otlpRoutes(), c.remoteWriteRoutes(), c.posthogRoutes()), []route.Route{
		row("/events", "collect.events", "Send one event or a list of events.", itemEvent, route.Shape[itemInput, collected]()),
		row("/identify", "collect.identify", "Say who a visitor is.", itemIdentify, route.Shape[itemInput, collected]()),
		row("/errors", "collect.errors", "Send one error or a list of errors.", itemError, route.Shape[errorInput, collected]()),
		row("/metrics", "collect.metrics", "Send one metric point or a list of points.", itemMetric, route.Shape[metricInput, collected]()),
		billed(row("/revenue", "collect.revenue", "Send what a billing system says: one item or a list, with a secret key.", itemBilling, route.Shape[billingInput, collected]())),
		row("/batch", "collect.batch", "Send up to 1000 items of mixed types.", itemAny, route.Shape[batchInput, collected]()),
	}...)
}

// itemInput, batchInput and collected are the types of the ingest path.
type itemInput struct {
	Beacon string `query:"beacon" doc:"1 answers 204 without a body, for beacons."`
	Key    string `query:"key" doc:"The ingest key, where no header can be set."`
	Body   item   `body:"json"`
}

type batchInput struct {
	Beacon string   `query:"beacon" doc:"1 answers 204 without a body, for beacons."`
	Key    string   `query:"key" doc:"The ingest key, where no header can be set."`
	Body   envelope `body:"json"`
}

type collected struct {
	Accepted  int                `json:"accepted" doc:"Items that the log has acknowledged."`
	Rejected  []ingest.Rejection `json:"rejected" doc:"Items that were not accepted, and why."`
	RequestID string             `json:"requestId"`
}

// serve handles one ingest request.
func (c *Collect) serve(w *route.Response, r *http.Request, kind itemKind) {
	sub := submissionPool.Get().(*submission)
	defer sub.release()
	sub.reset(c, w, r, w.Arrival())
	if r.Method == http.MethodOptions {
		w.AllowOrigin(r)
		return
	}
	if sub.signal = ingest.SignalEvents; kind == itemError {
		sub.signal = ingest.SignalErrors
	} else if kind == itemMetric {
		sub.signal = ingest.SignalMetrics
	}
	err := sub.run(kind)
	sub.account(err)
	if err != nil {
		c.Metrics.refused(err)
		w.AllowOrigin(r)
		sub.challenge(err)
		w.Refuse(r, err, nil)
		return
	}
	c.Metrics.Accepted.Add(float64(sub.accepted))
	sub.answer()
}

// run reads the body, checks the items and produces them. It checks a key outside the body first, so that requests
// without a valid key cost no decoding.
func (sub *submission) run(kind itemKind) error {
	outside := sub.authenticate("")
	if outside != nil && !errors.Is(outside, errNoKey) {
		return outside
	}
	if err := sub.readRaw(event.MaxRequestBytes); err != nil {
		return err
	}
	if outside != nil {
		if err := sub.authenticateInside(); err != nil {
			return err
		}
	}
	if err := sub.unpack(nativeWeight); err != nil {
		return err
	}
	if err := sub.decode(kind); err != nil {
		return err
	}
	if sub.envelope.WriteKey != "" { // A key that differs from the one outside is refused.
		if err := sub.authenticate(sub.envelope.WriteKey); err != nil {
			return err
		}
	}
	if kind == itemBilling {
		if err := sub.mayBill(); err != nil {
			return err
		}
	}
	for n := range sub.items {
		sub.accept(n, &sub.items[n], kind)
	}
	if len(sub.items) == 0 {
		return domain.Invalid(domain.FieldError{Field: "items", Code: "missing_value", Message: "The request holds no item."})
	}
	return sub.produce()
}

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
	for _, info := range domain.Codes() {
		m.Refused.WithLabelValues(string(info.Code))
	}
	return m
}

func (m *CollectMetrics) refused(err error) {
	m.Refused.WithLabelValues(string(domain.CodeOf(err))).Inc()
}
