package route

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/julienschmidt/httprouter"
	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
)

// Config holds the parts of a Handler. Routes, Authority, Applications, Cursors and Now are required if the table has
// gated rows.
type Config struct {
	Routes []Route
	// Callers makes rows that call Routes through the handler, as an assistant does. New calls it once; the handler
	// serves only after New has returned. It may be nil.
	Callers      func(handler http.Handler, routes []Route) ([]Route, error)
	Authority    Authority
	Applications Applications
	// Reads is called before the answer of a row that reads an application's data, and every ten seconds while it is
	// streamed. lasting is the minimum time for which the caller continues to read: zero unless the row is streamed. It
	// may be nil.
	Reads func(ctx context.Context, lasting time.Duration)
	// Auditor and Replays may be nil: then there are no audit rows and no idempotency keys.
	Auditor Auditor
	Replays Replays
	// Ledger may be nil: then there are no ledger entries.
	Ledger  Ledger
	Cursors *domain.Cursors
	Now     func() time.Time
	// PublicURL is the address under which callers reach the service.
	PublicURL string
	// Origin is the scheme and host in answers if no PublicURL is configured. The Host header, which the caller
	// chooses, is used only if both are empty.
	Origin string
	// Revision is the date of the API's last addition (X-API-Revision).
	Revision string
	// QueryTimeout bounds a query; zero means 30 s.
	QueryTimeout time.Duration
	// ConcurrentQueries bounds the concurrent queries of one token; zero switches the bound off.
	ConcurrentQueries int
	// ConcurrentStreams bounds the open streams of one token in the same way.
	ConcurrentStreams int
	Logger            *slog.Logger
	Registerer        prometheus.Registerer
	// NewID makes the part of a request id after req_ from the arrival time of the request; nil means a ULID.
	NewID func(arrival time.Time) string
	// Random is the source of nonces; nil means the system's source.
	Random io.Reader
}

// DefaultQueryTimeout bounds a query (contract 10).
const DefaultQueryTimeout = 30 * time.Second

// Handler serves the rows of a table.
type Handler struct {
	config  Config
	docs    string
	log     *slog.Logger
	router  *httprouter.Router
	passes  []gate
	queries *querySlots
	streams *querySlots
	// draining is cancelled when all streams must end.
	draining context.Context //nolint:containedctx // the life of all streams
	drain    context.CancelFunc
	metrics  *metrics
	others   *routeMetrics
	streamed *routeMetrics
	records  sync.Pool
}

// New checks the table and builds its handler. It does no I/O.
func New(config Config) (*Handler, error) {
	config = withDefaults(config)
	if config.Authority == nil || config.Applications == nil || config.Cursors == nil || config.Now == nil {
		return nil, errors.New("the handler lacks an authority, applications, cursors or a clock")
	}
	measured, err := newMetrics(config.Registerer)
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	h := &Handler{
		config: config, docs: strings.TrimSuffix(config.PublicURL, "/") + "/docs", log: config.Logger, metrics: measured,
		queries: newQuerySlots(config.ConcurrentQueries), streams: newQuerySlots(config.ConcurrentStreams), others: measured.route("none"), streamed: measured.route("stream"),
	}
	h.draining, h.drain = context.WithCancel(context.Background())
	h.records.New = func() any { return new(Response) }
	h.passes = h.gates()
	if config.Callers != nil {
		rows, err := config.Callers(h, config.Routes)
		if err != nil {
			return nil, err
		}
		h.config.Routes = slices.Concat(config.Routes, rows)
	}
	if err := checkTable(h.config.Routes); err != nil {
		return nil, err
	}
	return h, h.registerAll()
}

// Routes returns every row that the handler serves.
func (h *Handler) Routes() []Route { return h.config.Routes }

func withDefaults(config Config) Config {
	if config.QueryTimeout == 0 {
		config.QueryTimeout = DefaultQueryTimeout
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Registerer == nil {
		config.Registerer = prometheus.NewRegistry()
	}
	if config.Random == nil {
		config.Random = rand.Reader
	}
	if config.Reads == nil {
		config.Reads = func(context.Context, time.Duration) {}
	}
	return config
}

// registerAll registers every row with the router. A GET row answers HEAD as well. A row of the surface collect answers
// OPTIONS, for preflights. Rows of collect and public pages accept a trailing slash, which clients of other services
// and people send.
func (h *Handler) registerAll() error {
	h.router = &httprouter.Router{HandleMethodNotAllowed: true, NotFound: http.HandlerFunc(h.notFound), MethodNotAllowed: http.HandlerFunc(h.methodNotAllowed)}
	rows := map[string][]target{}
	add := func(method, pattern string, serve serveRoute) {
		rows[method] = append(rows[method], target{segments: strings.Split(pattern[1:], "/"), serve: serve})
	}
	preflights := map[string]bool{}
	for i := range h.config.Routes {
		route := &h.config.Routes[i]
		pattern, serve := route.Pattern(), h.serve(route)
		add(route.Method, pattern, serve)
		if route.Method == http.MethodGet {
			add(http.MethodHead, pattern, serve)
		}
		if route.Surface == Share && route.Method == http.MethodGet && !h.hasRest(pattern) {
			add(http.MethodGet, pattern+"/", serve)
			add(http.MethodHead, pattern+"/", serve)
		}
		if route.Surface != Collect {
			continue
		}
		add(route.Method, pattern+"/", serve)
		if !preflights[pattern] && route.Method != http.MethodOptions {
			preflights[pattern] = true
			add(http.MethodOptions, pattern, serve)
			add(http.MethodOptions, pattern+"/", serve)
		}
	}
	document := h.serveOpenAPI()
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		add(method, Manage.Base()+"/openapi.json", document)
	}
	for method, targets := range rows {
		if err := register(h.router, method, targets); err != nil {
			return err
		}
	}
	return nil
}

// hasRest reports whether a row takes the rest of the path after a pattern ({slug...}). The row of the pattern then
// gets no trailing slash of its own.
func (h *Handler) hasRest(pattern string) bool {
	return slices.ContainsFunc(h.config.Routes, func(route Route) bool {
		other := route.Pattern()
		return strings.HasSuffix(other, "...}") && (other == pattern || strings.HasPrefix(other, pattern+"/{"))
	})
}

// serve returns the function that answers a row and updates its metrics.
func (h *Handler) serve(route *Route) serveRoute {
	measured := h.metrics.route(route.Operation)
	if route.gated() {
		answer := h.serveGated(route)
		return func(w *Response, r *http.Request, values []pathValue) {
			w.metrics = measured
			answer(w, r, values)
		}
	}
	return func(w *Response, r *http.Request, values []pathValue) {
		w.metrics = measured
		for _, value := range values {
			r.SetPathValue(value.name, value.value)
		}
		route.Raw(w, r)
	}
}

// ServeHTTP gives the request its id, answers it, and recovers from a panic. Raw handlers find the id in the
// X-Request-Id header of the answer.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	response := h.record(w, r)
	defer h.served(response, r)
	h.router.ServeHTTP(response, r)
}

// record makes the Response of a request. It is a separate function so that the stack of ServeHTTP, on which streams
// wait, stays small.
func (h *Handler) record(w http.ResponseWriter, r *http.Request) *Response {
	arrival := h.config.Now()
	response := h.records.Get().(*Response)
	*response = Response{ResponseWriter: w, handler: h, id: h.requestID(r, arrival), arrival: arrival, metrics: h.others}
	header := w.Header()
	values := []string{response.id, "nosniff"} // one allocation for both
	header["X-Request-Id"], header["X-Content-Type-Options"] = values[:1:1], values[1:]
	h.metrics.running.Inc()
	return response
}

// served ends a request: it recovers from a panic and updates the counts. It must be deferred.
func (h *Handler) served(response *Response, r *http.Request) {
	cause := recover()
	failure, _ := cause.(error)
	aborted := errors.Is(failure, http.ErrAbortHandler)
	if cause != nil && !aborted {
		h.recovered(response, r, cause)
	}
	h.metrics.running.Dec()
	response.metrics.observe(response.status, h.config.Now().Sub(response.arrival))
	*response = Response{}
	h.records.Put(response)
	if aborted {
		panic(cause)
	}
}

// recovered answers a request after its handler panicked. An answer that has begun stays incomplete.
func (h *Handler) recovered(w *Response, r *http.Request, cause any) {
	h.metrics.panics.Inc()
	h.logError(r.Context(), fmt.Errorf("panic: %v\n%s", cause, debug.Stack()), "", w.id)
	if w.status == 0 {
		writeAnswer(w, h.problemAnswer(domain.Errorf(domain.CodeInternal, shownText), w.id, nil))
	}
}

func (h *Handler) notFound(w http.ResponseWriter, r *http.Request) { w.(*Response).notFound(r) }

// methodNotAllowed answers a path that has rows, but none of the method. The router's Allow header lists OPTIONS for
// every path; only collect rows have it.
func (h *Handler) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	response := w.(*Response)
	if handle, _, _ := h.router.Lookup(http.MethodOptions, r.URL.Path); handle == nil {
		allow := strings.Split(w.Header().Get("Allow"), ", ")
		kept := allow[:0]
		for _, method := range allow {
			if method != http.MethodOptions {
				kept = append(kept, method)
			}
		}
		w.Header().Set("Allow", strings.Join(kept, ", "))
	}
	err := domain.Errorf(domain.CodeMethodNotAllowed, "The path does not answer %s.", r.Method)
	writeAnswer(w, h.problemAnswer(err, response.id, nil))
}

// Response writes the answer of one request and holds the Handler's data about the request. It is reused: a raw handler
// must not retain it.
type Response struct {
	http.ResponseWriter
	handler *Handler
	metrics *routeMetrics
	id      string
	arrival time.Time
	status  int
}

// WriteHeader sends the status once.
func (w *Response) WriteHeader(status int) {
	if w.status == 0 || w.status < http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body, with status 200 if none was sent.
func (w *Response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Flush sends the buffered bytes.
func (w *Response) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap gives http.ResponseController the writer below.
func (w *Response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
