package ingest

import (
	"mime"
	"net/http"
	"strconv"

	"github.com/klauspost/compress/snappy"

	"svc/domain"
	"svc/domain/ingest"
	"svc/http/route"
)

// maxRemoteBytes bounds an inflated request of Prometheus's remote write.
const maxRemoteBytes = 32 << 20

// remoteV2 is the message of remote write 2.0 in a content type; any other or missing one means the message of 1.0.
const remoteV2 = "io.prometheus.write.v2.Request"

// remoteInput describes the paths of remote write; the bodies are Prometheus's own messages in snappy's block format.
type remoteInput struct {
	Key string `query:"key" doc:"The ingest key, where no header can be set."`
}

// remoteWriteRoutes returns the rows of Prometheus's remote write.
func (c *Collect) remoteWriteRoutes() []route.Route {
	row := func(path, operation string) route.Route {
		return route.Route{
			Surface: route.Collect, Method: http.MethodPost, Path: path, Operation: operation, Effect: route.Write, Status: http.StatusNoContent,
			Summary: "Send metrics by Prometheus remote write 1.0 or 2.0.", Handler: route.Shape[remoteInput, route.Empty](),
			Codes: []domain.Code{domain.CodeInvalidRequest, domain.CodeUnauthorized, domain.CodeForbidden, domain.CodeTooLarge, domain.CodeUnsupportedMedia, domain.CodeUnavailable},
			Raw:   c.serveRemoteWrite,
		}
	}
	return []route.Route{row("/api/v1/write", "prometheus.write"), row("/api/v1/push", "prometheus.push")}
}

func (c *Collect) serveRemoteWrite(w *route.Response, r *http.Request) {
	sub := submissionPool.Get().(*submission)
	defer sub.release()
	sub.reset(c, w, r, w.Arrival())
	w.AllowOrigin(r)
	if r.Method == http.MethodOptions {
		return
	}
	sub.signal = ingest.SignalMetrics
	written, err := sub.remoteWrite() //nolint:contextcheck // the request inside carries its context
	sub.account(err)
	if written != nil {
		// Version 2.0 requires these headers; a sender takes missing ones for zero.
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", strconv.Itoa(written.samples))
		w.Header().Set("X-Prometheus-Remote-Write-Histograms-Written", strconv.Itoa(written.histograms))
		w.Header().Set("X-Prometheus-Remote-Write-Exemplars-Written", "0")
	}
	if err != nil {
		c.Metrics.refused(err)
		sub.challenge(err)
		w.Refuse(r, err, nil)
		return
	}
	c.Metrics.Accepted.Add(float64(sub.accepted))
	w.WriteHeader(http.StatusNoContent)
}

// remoteWritten counts the samples that the log has acknowledged.
type remoteWritten struct{ samples, histograms int }

// remoteWrite stores the valid samples of a request. If some points are rejected, the error is permanent, so that the
// sender does not repeat the others.
func (sub *submission) remoteWrite() (*remoteWritten, error) {
	if err := sub.authenticate(""); err != nil {
		return nil, err
	}
	version2, err := sub.unpackRemote()
	if err != nil {
		return nil, err
	}
	series, err := decodeRemote(sub.body, version2)
	if err != nil {
		return nil, domain.Invalid(domain.FieldError{Code: "invalid_body", Message: "The body is not the message of remote write that is expected here: " + shortError(err)})
	}
	written := &remoteWritten{}
	for n := range series {
		sub.acceptRemote(&series[n], written)
	}
	if err := sub.produce(); err != nil {
		return &remoteWritten{}, err
	}
	if len(sub.rejected) > 0 {
		return written, domain.Invalid(domain.FieldError{Code: sub.rejected[0].Code, Message: "Some points were rejected, the others are stored: " + sub.rejectedText()})
	}
	return written, nil
}

// unpackRemote reads the body and reports whether it is a message of 2.0.
func (sub *submission) unpackRemote() (version2 bool, err error) {
	if encoding := headerOf(sub.request, "Content-Encoding"); encoding != "" && encoding != "snappy" {
		return false, domain.Errorf(domain.CodeUnsupportedMedia, "The content encoding %q is not accepted; send snappy.", encoding)
	}
	media, parameters, err := mime.ParseMediaType(headerOf(sub.request, "Content-Type"))
	message := parameters["proto"]
	if err != nil || media != otlpProtobuf || message != "" && message != remoteV2 && message != "prometheus.WriteRequest" {
		return false, domain.Errorf(domain.CodeUnsupportedMedia, "The content type %q is not accepted; send application/x-protobuf of prometheus.WriteRequest or %s.", headerOf(sub.request, "Content-Type"), remoteV2)
	}
	if err := sub.readRaw(MaxTelemetryBytes); err != nil {
		return false, err
	}
	length, err := snappy.DecodedLen(sub.body)
	if err == nil && length > maxRemoteBytes {
		return false, tooLarge("The body unpacks to more than %d bytes.", maxRemoteBytes)
	}
	if err == nil {
		if err := sub.reserved.ForWork(sub.request.Context(), (int64(remoteWeight)+1)*int64(length), length > smallBody); err != nil {
			return false, err
		}
		sub.body, err = snappy.Decode(nil, sub.body)
	}
	if err != nil {
		return false, badEncoding("snappy")
	}
	return message == remoteV2, nil
}
