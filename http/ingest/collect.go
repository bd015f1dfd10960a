package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"svc"
	"svc/http/route"
	"svc/protos"
)

// Collectors knows the live ingest keys.
type Collectors interface {
	// Collector returns what a key may do, by its SHA-256; nil for an unknown one.
	Collector(hash [32]byte) *svc.Collector
}

// Log takes accepted events.
type Log interface {
	// Produce returns nil once every part is acknowledged by the log. It bounds
	// the wait itself.
	Produce(ctx context.Context, parts []svc.Part) error
}

// Collect answers the ingest paths: it judges the key and every item, and
// answers 202 only after the log has acknowledged what was accepted.
type Collect struct {
	Collectors Collectors
	Log        Log
	Partitions int
	Metrics    *CollectMetrics
	// Door bounds what requests take of the node; nil bounds nothing.
	Door *Door
	// Symbols finds the original places of minified code; nil finds none.
	Symbols Symbols
	// Cardinality bounds the series of metrics.
	Cardinality Cardinality
}

// collectRetry is what a client is told to wait when the log does not answer.
const collectRetry = time.Second

// Routes returns the rows of the ingest surface.
func (c *Collect) Routes() []route.Route {
	row := func(path, operation, summary string, kind itemKind, shape route.Endpoint) route.Route {
		return route.Route{
			Surface: route.Collect, Method: http.MethodPost, Path: "/api/v1" + path, Operation: operation,
			Effect: route.Write, Status: http.StatusAccepted, Summary: summary, Handler: shape,
			Codes: []svc.Code{svc.CodeInvalidRequest, svc.CodeUnauthorized, svc.CodeForbidden, svc.CodeTooLarge, svc.CodeUnsupportedMedia, svc.CodeUnavailable},
			Raw:   func(w *route.Response, r *http.Request) { c.serve(w, r, kind) }, //nolint:contextcheck // the request inside carries its context
		}
	}
	return append(append(c.otlpRoutes(), c.remoteWriteRoutes()...), []route.Route{
		row("/events", "collect.events", "Send one event or a list of events.", itemEvent, route.Shape[itemInput, collected]()),
		row("/identify", "collect.identify", "Say who a visitor is.", itemIdentify, route.Shape[itemInput, collected]()),
		row("/errors", "collect.errors", "Send one error or a list of errors.", itemError, route.Shape[errorInput, collected]()),
		row("/metrics", "collect.metrics", "Send one metric point or a list of points.", itemMetric, route.Shape[metricInput, collected]()),
		row("/batch", "collect.batch", "Send up to 1000 items of mixed types.", itemAny, route.Shape[batchInput, collected]()),
	}...)
}

// itemInput, batchInput and collected are the shapes of the ingest path.
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
	Accepted  int             `json:"accepted" doc:"Items that the log has acknowledged."`
	Rejected  []svc.Rejection `json:"rejected" doc:"Items that were not accepted, and why."`
	RequestID string          `json:"requestId"`
}

// serve handles one ingest request.
func (c *Collect) serve(w *route.Response, r *http.Request, kind itemKind) {
	intake := intakePool.Get().(*intakeRequest)
	defer intake.release()
	intake.reset(c, w, r, w.Arrival())
	if r.Method == http.MethodOptions {
		w.AllowOrigin(r)
		return
	}
	if err := intake.run(kind); err != nil {
		c.Metrics.refused(err)
		w.AllowOrigin(r)
		intake.challenge(err)
		w.Refuse(r, err, nil)
		return
	}
	c.Metrics.Accepted.Add(float64(intake.accepted))
	intake.answer()
}

// run reads, judges, and produces. A key outside the body is judged first, so
// that strangers cost no decoding.
func (i *intakeRequest) run(kind itemKind) error {
	outside := i.authenticate("")
	if outside != nil && !errors.Is(outside, errNoKey) {
		return outside
	}
	if err := i.readRaw(svc.MaxRequestBytes); err != nil {
		return err
	}
	if outside != nil {
		if err := i.authenticateInside(); err != nil {
			return err
		}
	}
	if err := i.unpack(nativeWeight); err != nil {
		return err
	}
	if err := i.decode(kind); err != nil {
		return err
	}
	if i.envelope.WriteKey != "" { // another one than that outside is refused
		if err := i.authenticate(i.envelope.WriteKey); err != nil {
			return err
		}
	}
	for n := range i.items {
		i.accept(n, &i.items[n], kind)
	}
	if len(i.items) == 0 {
		return svc.Invalid(svc.FieldError{Field: "items", Code: "missing_value", Message: "The request holds no item."})
	}
	return i.produce()
}

// pendingParts returns what was accepted, by partition.
func (i *intakeRequest) pendingParts() []svc.Part {
	i.parts = i.parts[:0]
	for _, partition := range i.touched {
		i.parts = append(i.parts, svc.Part{Partition: partition, Payload: i.payloads[partition]})
	}
	return i.parts
}

// produce hands the parts to the log and waits for its acknowledgement.
func (i *intakeRequest) produce() error {
	parts := i.pendingParts()
	i.stay.rest()
	if len(parts) == 0 {
		return nil
	}
	size := 0
	for _, part := range parts {
		size += len(part.Payload)
	}
	if err := i.stay.send(i.request.Context(), int64(size)); err != nil {
		return err
	}
	if err := i.collect.Log.Produce(i.request.Context(), parts); err != nil {
		if known, ok := errors.AsType[*svc.Error](err); ok {
			return known
		}
		return svc.Unsure("The log", collectRetry)
	}
	return nil
}

// answer writes 202 with what was accepted and what was not; 400 where nothing
// was; 204 to a beacon, which reads no answer.
func (i *intakeRequest) answer() {
	if i.accepted == 0 {
		i.answerRejected()
		return
	}
	if i.request.URL.RawQuery != "" && i.request.URL.Query().Get("beacon") == "1" {
		i.allowOrigin()
		i.writer.WriteHeader(http.StatusNoContent)
		return
	}
	body := append(i.out[:0], `{"accepted":`...)
	body = strconv.AppendInt(body, int64(i.accepted), 10)
	body = append(body, `,"rejected":`...)
	body = i.appendRejected(body)
	body = append(body, `,"requestId":"`...)
	body = append(body, i.writer.RequestID()...)
	body = append(body, '"', '}', '\n')
	i.out = body
	header := i.writer.Header()
	header["Content-Type"] = jsonType
	i.allowOrigin()
	i.writer.WriteHeader(http.StatusAccepted)
	_, _ = i.writer.Write(body)
}

// answerRejected writes the problem of a request of which nothing was accepted.
func (i *intakeRequest) answerRejected() {
	rejection := i.rejected[0]
	err := svc.Invalid(svc.FieldError{Field: "items", Code: rejection.Code, Message: "No item was accepted: " + rejection.Message})
	i.allowOrigin()
	i.writer.Refuse(i.request, err, map[string]any{"accepted": 0, "rejected": i.rejected})
}

// allowOrigin lets the page that sent the request read its answer.
func (i *intakeRequest) allowOrigin() {
	if i.request.Header["Origin"] != nil {
		i.writer.AllowOrigin(i.request)
	}
}

func (i *intakeRequest) appendRejected(body []byte) []byte {
	if len(i.rejected) == 0 {
		return append(body, "[]"...)
	}
	encoded, err := json.Marshal(i.rejected)
	if err != nil {
		return append(body, "[]"...)
	}
	return append(body, encoded...)
}

// reject notes that an item was not accepted.
func (i *intakeRequest) reject(index int, code, message string) {
	i.rejected = append(i.rejected, svc.Rejection{Index: index, Code: code, Message: message})
	i.collect.Metrics.Rejected.WithLabelValues(code).Inc()
}

// emit appends an accepted event to the payload of its partition.
func (i *intakeRequest) emit(event *protos.Event) error {
	partition := protos.PartitionOf(event.Environment, svc.Visitor(event.DistinctId, event.AnonymousId), i.collect.Partitions)
	return i.put(partition, event.SizeVT(), func(payload []byte) ([]byte, error) { return protos.AppendRecord(payload, event) })
}

// errItemTooLong is the refusal of an item that no record of the log can hold.
var errItemTooLong = errors.New("the item is over the limit of a record")

// itemHead bounds what stands before an item in a record.
const itemHead = 8

// put appends an accepted item of so many bytes to the payload of a partition. A payload may
// become longer than a record, and is divided between items then.
func (i *intakeRequest) put(partition, size int, appendTo func(payload []byte) ([]byte, error)) error {
	if size+itemHead > svc.MaxRecordBytes {
		return errItemTooLong
	}
	if len(i.payloads[partition]) == 0 {
		i.touched = append(i.touched, partition)
	}
	payload, err := appendTo(i.payloads[partition])
	i.payloads[partition] = payload
	if err != nil {
		return err
	}
	i.accepted++
	return nil
}

// remoteIP returns the address of the connection.
func remoteIP(r *http.Request) string {
	if port, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return port.Addr().Unmap().String()
	}
	host, _, _ := strings.Cut(r.RemoteAddr, ":")
	return host
}
