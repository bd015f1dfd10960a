package ingest

import (
	"errors"
	"net/http"
	"strings"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/http/posthog"
	"svc/http/route"
)

// posthogWeight is the memory of a captured body as a multiple of its length, because it is translated into a native
// batch.
const posthogWeight weight = 12

// keyStart is the beginning of every ingest key.
const keyStart = "svc_"

// capturedInput and capturedAnswer are the types of PostHog's capture paths; the bodies follow its protocol.
type capturedInput struct {
	Compression string `query:"compression" doc:"gzip-js or base64; found in the body as well."`
	SentMs      string `query:"_" doc:"When the client sent the request, in milliseconds."`
	Beacon      string `query:"beacon" doc:"1 answers 204 without a body, for beacons."`
}

type capturedAnswer struct {
	Status int `json:"status" doc:"1: the events were taken, or are not kept and need not be sent again."`
}

// posthogRoutes returns the rows on which the SDKs of PostHog capture.
func (c *Collect) posthogRoutes() []route.Route {
	var routes []route.Route
	for _, one := range []struct{ path, operation string }{
		{"/batch", "batch"}, {"/capture", "capture"}, {"/e", "e"}, {"/i/v0/e", "ingest"}, {"/track", "track"}, {"/engage", "engage"},
	} {
		routes = append(routes, route.Route{
			Surface: route.Collect, Method: http.MethodPost, Path: one.path, Operation: "posthog." + one.operation, Effect: route.Write,
			Summary: "Take what SDKs of PostHog capture.", Handler: route.Shape[capturedInput, capturedAnswer](),
			Codes: []domain.Code{domain.CodeInvalidRequest, domain.CodeUnauthorized, domain.CodeForbidden, domain.CodeTooLarge, domain.CodeUnsupportedMedia, domain.CodeUnavailable},
			Raw:   func(w *route.Response, r *http.Request) { c.servePostHog(w, r) },
		})
	}
	return routes
}

// servePostHog answers one request. Refused items are counted, and the answer reports them as accepted, since SDKs
// would send the whole request again.
func (c *Collect) servePostHog(w *route.Response, r *http.Request) {
	sub := submissionPool.Get().(*submission)
	defer sub.release()
	sub.reset(c, w, r, w.Arrival())
	w.AllowOrigin(r)
	w.AllowCredentials(r)
	if r.Method == http.MethodOptions {
		return
	}
	sub.signal = ingest.SignalEvents
	err := sub.runPostHog() //nolint:contextcheck // the request inside carries its context
	sub.account(err)
	if err != nil {
		c.Metrics.refused(err)
		sub.challenge(err)
		w.Refuse(r, err, nil)
		return
	}
	c.Metrics.Accepted.Add(float64(sub.accepted))
	if r.URL.Query().Get("beacon") == "1" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header()["Content-Type"] = jsonType
	_, _ = w.Write([]byte("{\"status\":1}\n"))
}

// runPostHog finds the key, translates the body into a native batch and accepts its items.
func (sub *submission) runPostHog() error {
	if err := sub.readRaw(event.MaxRequestBytes); err != nil {
		return err
	}
	if media := headerOf(sub.request, "Content-Type"); strings.HasPrefix(media, "application/x-www-form-urlencoded") {
		sub.body = posthog.Unform(sub.body)
	}
	if err := sub.authenticatePostHog(); err != nil {
		return err
	}
	if err := sub.unpack(posthogWeight); err != nil {
		return err
	}
	captured, many, err := posthog.Read(sub.body, posthog.MillisecondTime(sub.request.URL.Query().Get("_")), event.MaxBatchItems/2)
	switch {
	case errors.Is(err, domain.ErrTooDeep):
		return tooDeep()
	case err != nil:
		return domain.Invalid(domain.FieldError{Code: "invalid_json", Message: "The body is not what SDKs of PostHog send: " + shortError(err)})
	case many:
		return tooLarge("The request holds more than %d events.", event.MaxBatchItems/2)
	}
	if captured.Flags > 0 {
		sub.dropped += captured.Flags
		sub.count(ingest.SignalFlags, ingest.FateDuplicate, "", int64(captured.Flags))
	}
	for _, loss := range captured.Losses {
		if loss.Part {
			sub.strip(loss.Signal, loss.Code)
			continue
		}
		sub.signal = loss.Signal
		sub.reject(0, loss.Code, "The event is not kept.")
	}
	if captured.Items == 0 {
		return nil
	}
	sub.body = captured.Batch
	if err := sub.decode(itemAny); err != nil {
		return err
	}
	for n := range sub.items {
		sub.accept(n, &sub.items[n], itemAny)
	}
	return sub.produce()
}

// authenticatePostHog finds the collector of the request's key, which is in the body, in the address or in a header.
func (sub *submission) authenticatePostHog() error {
	text, err := sub.prefix()
	if err != nil {
		return err
	}
	query := sub.request.URL.Query()
	for _, key := range []string{posthog.Key(text, keyStart), query.Get("api_key"), query.Get("token")} {
		if key != "" {
			return sub.authenticate(key)
		}
	}
	return sub.authenticate("")
}
