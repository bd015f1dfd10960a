package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	collectlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/http/route"
)

// The encodings of OTLP over HTTP; an answer has the encoding of its request.
const (
	otlpProtobuf = "application/x-protobuf"
	otlpJSON     = "application/json"
)

// MaxTelemetryBytes bounds the bodies of telemetry protocols, compressed and inflated.
const MaxTelemetryBytes = event.MaxInflatedBytes

// otlpInput and otlpAnswer describe the paths of OTLP; the bodies are OpenTelemetry's own messages.
type otlpInput struct {
	Key string `query:"key" doc:"The ingest key, where no header can be set."`
}

type otlpAnswer struct {
	PartialSuccess *struct {
		RejectedDataPoints string `json:"rejectedDataPoints,omitempty"`
		ErrorMessage       string `json:"errorMessage,omitempty"`
	} `json:"partialSuccess,omitempty" doc:"Missing where everything was accepted."`
}

// otlpRoutes returns the rows of OTLP over HTTP, under the paths that exporters append to an endpoint with and without
// /otlp. Traces and logs are answered as rejected, so that exporters of all signals do not retry them.
func (c *Collect) otlpRoutes() []route.Route {
	var routes []route.Route
	row := func(path, operation, summary string, serve func(*submission) (proto.Message, error)) {
		routes = append(routes, route.Route{
			Surface: route.Collect, Method: http.MethodPost, Path: path, Operation: operation, Effect: route.Write, Summary: summary,
			Handler: route.Shape[otlpInput, otlpAnswer](),
			Codes:   []domain.Code{domain.CodeInvalidRequest, domain.CodeUnauthorized, domain.CodeForbidden, domain.CodeTooLarge, domain.CodeUnsupportedMedia, domain.CodeUnavailable},
			Raw:     func(w *route.Response, r *http.Request) { c.serveOTLP(w, r, serve) }, //nolint:contextcheck // the request inside carries its context
		})
	}
	for _, base := range []struct{ path, operation string }{{"/v1", "otlp"}, {"/otlp/v1", "otlp.prefixed"}} {
		row(base.path+"/metrics", base.operation+".metrics", "Send metrics by OTLP over HTTP, as protobuf or JSON.", (*submission).otlpMetrics)
		row(base.path+"/traces", base.operation+".traces", "Answer OTLP traces, none of which is accepted.", (*submission).otlpTraces)
		row(base.path+"/logs", base.operation+".logs", "Answer OTLP logs, none of which is accepted.", (*submission).otlpLogs)
	}
	return routes
}

// serveOTLP handles one request: the key, the body, and an answer in its encoding.
func (c *Collect) serveOTLP(w *route.Response, r *http.Request, serve func(*submission) (proto.Message, error)) {
	sub := submissionPool.Get().(*submission)
	defer sub.release()
	sub.reset(c, w, r, w.Arrival())
	w.AllowOrigin(r)
	if r.Method == http.MethodOptions {
		return
	}
	media, _, _ := mime.ParseMediaType(headerOf(r, "Content-Type"))
	sub.signal = ingest.SignalMetrics
	answer, err := sub.runOTLP(media, serve)
	sub.account(err)
	if err != nil {
		c.Metrics.refused(err)
		sub.refuseOTLP(media, err)
		return
	}
	c.Metrics.Accepted.Add(float64(sub.accepted))
	sub.answerOTLP(media, http.StatusOK, answer)
}

func (sub *submission) runOTLP(media string, serve func(*submission) (proto.Message, error)) (proto.Message, error) {
	if media != otlpProtobuf && media != otlpJSON {
		return nil, domain.Errorf(domain.CodeUnsupportedMedia, "The content type %q is not accepted; send %s or %s.", media, otlpProtobuf, otlpJSON)
	}
	if err := sub.authenticate(""); err != nil {
		return nil, err
	}
	if err := sub.readBody(MaxTelemetryBytes, otlpWeight); err != nil {
		return nil, err
	}
	return serve(sub)
}

// decodeOTLP reads the body in the encoding of its request.
func (sub *submission) decodeOTLP(into proto.Message) error {
	var err error
	if media, _, _ := mime.ParseMediaType(headerOf(sub.request, "Content-Type")); media == otlpJSON {
		if domain.TooDeep(sub.body) {
			return tooDeep()
		}
		err = protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: domain.MaxNesting}.Unmarshal(sub.body, into)
	} else {
		err = proto.UnmarshalOptions{RecursionLimit: domain.MaxNesting}.Unmarshal(sub.body, into)
	}
	if err != nil {
		return domain.Invalid(domain.FieldError{Code: "invalid_body", Message: "The body is not the OTLP message that is expected here: " + shortError(err)})
	}
	return nil
}

func (sub *submission) otlpMetrics() (proto.Message, error) {
	var request collectmetrics.ExportMetricsServiceRequest
	if err := sub.decodeOTLP(&request); err != nil {
		return nil, err
	}
	sub.acceptOTLP(&request)
	if err := sub.produce(); err != nil {
		return nil, err
	}
	answer := &collectmetrics.ExportMetricsServiceResponse{}
	if len(sub.rejected) > 0 {
		answer.PartialSuccess = &collectmetrics.ExportMetricsPartialSuccess{RejectedDataPoints: int64(len(sub.rejected)), ErrorMessage: sub.rejectedText()}
	}
	return answer, nil
}

// rejectedText describes why points were rejected, by the first point of each reason.
func (sub *submission) rejectedText() string {
	var text string
	counts := map[string]int{}
	for _, rejection := range sub.rejected {
		counts[rejection.Code]++
	}
	for _, rejection := range sub.rejected {
		if n := counts[rejection.Code]; n > 0 {
			text += fmt.Sprintf("%d × %s: %s ", n, rejection.Code, rejection.Message)
			delete(counts, rejection.Code)
		}
	}
	return text[:len(text)-1]
}

// refusedSignal is the answer for a signal that is not stored.
const refusedSignal = "This service keeps metrics, not "

func (sub *submission) otlpTraces() (proto.Message, error) {
	var request collecttraces.ExportTraceServiceRequest
	if err := sub.decodeOTLP(&request); err != nil {
		return nil, err
	}
	var spans int64
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			spans += int64(len(scope.GetSpans()))
		}
	}
	answer := &collecttraces.ExportTraceServiceResponse{}
	if spans > 0 {
		answer.PartialSuccess = &collecttraces.ExportTracePartialSuccess{RejectedSpans: spans, ErrorMessage: refusedSignal + "traces."}
	}
	return answer, nil
}

func (sub *submission) otlpLogs() (proto.Message, error) {
	var request collectlogs.ExportLogsServiceRequest
	if err := sub.decodeOTLP(&request); err != nil {
		return nil, err
	}
	var records int64
	for _, resource := range request.GetResourceLogs() {
		for _, scope := range resource.GetScopeLogs() {
			records += int64(len(scope.GetLogRecords()))
		}
	}
	answer := &collectlogs.ExportLogsServiceResponse{}
	if records > 0 {
		answer.PartialSuccess = &collectlogs.ExportLogsPartialSuccess{RejectedLogRecords: records, ErrorMessage: refusedSignal + "logs."}
	}
	return answer, nil
}

// answerOTLP writes a message in the encoding of the request.
func (sub *submission) answerOTLP(media string, status int, message proto.Message) {
	var body []byte
	var err error
	if media == otlpJSON {
		body, err = protojson.Marshal(message)
	} else {
		body, err = proto.Marshal(message)
	}
	if err != nil {
		status = http.StatusInternalServerError
	}
	sub.writeOTLP(media, status, body)
}

func (sub *submission) writeOTLP(media string, status int, body []byte) {
	sub.writer.Header().Set("Content-Type", media)
	sub.writer.Header().Set("Content-Length", strconv.Itoa(len(body)))
	sub.writer.WriteHeader(status)
	_, _ = sub.writer.Write(body)
}

// refuseOTLP writes the Status message that OTLP requires. Exporters retry only after 429, 502, 503 and 504.
func (sub *submission) refuseOTLP(media string, err error) {
	sub.challenge(err)
	known, ok := errors.AsType[*domain.Error](err)
	if !ok || media != otlpProtobuf && media != otlpJSON {
		sub.writer.Refuse(sub.request, err, nil)
		return
	}
	if wait := route.RetryAfter(known); wait > 0 {
		sub.writer.Header().Set("Retry-After", strconv.Itoa(wait))
	}
	message := known.Message
	var body []byte
	if media == otlpJSON {
		body, _ = json.Marshal(map[string]string{"message": message}) // Marshalling texts never fails.
	} else { // google.rpc.Status: the message is field 2
		body = protowire.AppendTag(nil, 2, protowire.BytesType)
		body = protowire.AppendString(body, message)
	}
	sub.writeOTLP(media, domain.InfoOf(known.Code).Status, body)
}
