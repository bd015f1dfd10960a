package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/http/route"
	"svc/http/sentry"
)

// Spool stores parts that the log did not accept.
type Spool interface {
	// Append stores parts for later; they are on disk when it returns nil.
	Append(parts []event.Part) error
	// Bytes returns the number of waiting bytes.
	Bytes() int64
}

// Sentry serves the requests of Sentry's SDKs. The clients drop an error that is answered with 5xx, so an error that
// the log does not accept is stored on disk and accepted.
type Sentry struct {
	Collect *Collect
	Spool   Spool
	Metrics *SentryMetrics
	Limiter *ErrorLimiter
}

// maxEnvelopeBytes bounds an envelope, compressed and inflated.
const maxEnvelopeBytes = event.MaxInflatedBytes

// envelopeInput and envelopeAnswer are the types of the Sentry paths; the bodies follow Sentry's protocol.
type envelopeInput struct {
	Project string `path:"project" doc:"The numeric ingest id of the DSN. The key alone decides the environment; another id is refused."`
	Key     string `query:"sentry_key" doc:"The ingest key, where X-Sentry-Auth is not sent."`
}

type envelopeAnswer struct {
	ID string `json:"id,omitempty" doc:"The id of the envelope's event."`
}

// Routes returns the rows of Sentry's paths.
func (s *Sentry) Routes() []route.Route {
	row := func(path, operation, summary string, serve func(sub *submission) error) route.Route {
		return route.Route{
			Surface: route.Collect, Method: http.MethodPost, Path: "/sentry/api/{project}/" + path, Operation: operation,
			Effect: route.Write, Summary: summary, Handler: route.Shape[envelopeInput, envelopeAnswer](),
			Codes: []domain.Code{domain.CodeInvalidRequest, domain.CodeForbidden, domain.CodeTooLarge, domain.CodeUnsupportedMedia, domain.CodeRateLimited, domain.CodeUnavailable},
			Raw:   func(w *route.Response, r *http.Request) { s.serve(w, r, serve) }, //nolint:contextcheck // the request inside carries its context
		}
	}
	return []route.Route{
		row("envelope", "sentry.envelope", "Take an envelope of an SDK of Sentry.", s.envelope),
		row("store", "sentry.store", "Take one event of an older SDK of Sentry.", s.store),
		row("minidump", "sentry.minidump", "Take a minidump of a native program that crashed.", s.minidump),
		row("security", "sentry.security", "Take reports of a browser: of its content-security policy, or of its Reporting API.", s.security),
	}
}

// errorHeader gives an SDK the reason of a refusal.
const errorHeader = "X-Sentry-Error"

// serve answers one request.
func (s *Sentry) serve(w *route.Response, r *http.Request, take func(sub *submission) error) {
	sub := submissionPool.Get().(*submission)
	defer sub.release()
	sub.reset(s.Collect, w, r, w.Arrival())
	if r.Header["Origin"] != nil || r.Method == http.MethodOptions {
		w.AllowOrigin(r)
	}
	if r.Method == http.MethodOptions {
		return
	}
	sub.signal = ingest.SignalErrors
	err := s.accept(sub, take)
	if sub.account(err); err == nil {
		err = sub.answerSentry()
	}
	if err != nil {
		s.Collect.Metrics.refused(err)
		sub.hint(err)
		w.Refuse(r, err, nil)
	}
}

// accept checks the key and the items of a request, and produces the accepted ones.
func (s *Sentry) accept(sub *submission, take func(sub *submission) error) error {
	err := s.authenticate(sub, "")
	if err != nil && (!errors.Is(err, errNoSentryKey) || !strings.HasSuffix(sub.request.URL.Path, "/envelope/") && !strings.HasSuffix(sub.request.URL.Path, "/envelope")) {
		return err
	}
	if err != nil {
		if err := s.authenticateInside(sub); err != nil {
			return err
		}
	}
	if err := sub.readBody(maxEnvelopeBytes, sentryWeight); err != nil {
		return err
	}
	if err := take(sub); err != nil {
		return err
	}
	return s.keep(sub)
}

// errNoSentryKey refuses a request without a key.
var errNoSentryKey = domain.Errorf(domain.CodeForbidden, "No key was sent; the DSN is https://<key>@<host>/sentry/<ingest id>.")

// authenticate finds the collector of the key of a request. Sentry's paths refuse with 403 if others refuse with 401. A
// known key is accepted even if the node's list of keys may be outdated: the node is disconnected from the log then,
// and the accepted items wait on disk.
func (s *Sentry) authenticate(sub *submission, dsn string) error {
	headers := append(sub.request.Header["X-Sentry-Auth"], sub.request.Header["Authorization"]...)
	found := sentry.Authenticate(sub.request.URL.Query(), headers, dsn)
	switch {
	case found.Key == "":
		return errNoSentryKey
	case found.Conflict:
		return domain.Errorf(domain.CodeForbidden, "The request carries two different keys.")
	}
	hash := domain.HashSecret(found.Key)
	sub.collector = s.Collect.Collectors.Collector(hash)
	if sub.collector == nil {
		if sub.named = s.Collect.Collectors.Former(hash); sub.named == 0 {
			sub.named = s.Collect.Collectors.Named(sub.request.PathValue("project"))
		}
		if err := s.Collect.current(); err != nil {
			return err
		}
		return domain.Errorf(domain.CodeForbidden, "The ingest key is unknown or revoked.")
	}
	sub.telemetry = s.Collect.telemetryOf(sub.collector.Environment.Number)
	if err := sub.reserved.Assign(sub.request.Context(), sub.collector.AppID); err != nil {
		return err
	}
	project := sub.request.PathValue("project")
	if project != sub.collector.Environment.IngestID() || found.Project != "" && found.Project != project {
		return domain.Errorf(domain.CodeForbidden, "The key does not belong to the ingest id %s.", project)
	}
	if origin := headerOf(sub.request, "Origin"); sub.collector.Kind == domain.KeyPublic && !domain.OriginAllowed(origin, sub.collector.Origins) {
		return domain.Errorf(domain.CodeForbidden, "The application does not allow errors from the origin %s; add it to allowedOrigins.", origin)
	}
	return nil
}

// authenticateInside finds the collector of an envelope with a key only in its first line. A request without a valid
// key costs only the beginning of the body.
func (s *Sentry) authenticateInside(sub *submission) error {
	for more := true; more && sub.raw.Len() < rawStep; {
		var err error
		if more, err = sub.readSome(maxEnvelopeBytes); err != nil {
			return err
		}
	}
	text := sub.body
	if sub.encoding() != "" {
		text, _ = sub.inflate(keyPrefix, 0, keyPrefix) // A truncated text suffices.
	}
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	header, _, err := sentry.Split(line)
	if err != nil {
		return errNoSentryKey
	}
	return s.authenticate(sub, header.DSN)
}

// envelope accepts the items of an envelope.
func (s *Sentry) envelope(sub *submission) error {
	header, items, err := sentry.Split(sub.body)
	if err != nil {
		return malformed(err)
	}
	if err := s.authenticate(sub, header.DSN); err != nil {
		return err
	}
	if !header.SentAt.IsZero() {
		sub.envelope.SentAt = header.SentAt.Format(time.RFC3339Nano)
	}
	sub.answered = header.EventID
	items, dump := withMinidump(items, header.EventID)
	// A refused item does not prevent the others.
	var refused error
	for n := range items {
		item := &items[n]
		s.Metrics.Items.WithLabelValues(sentry.Category(item.Type)).Add(float64(item.Count))
		switch item.Type {
		case "event":
			take := s.event
			if dump != nil {
				take = s.crashWith(dump)
				dump = nil
			}
			if err := take(sub, n, item.Payload); err != nil {
				sub.reject(n, firstCode(err), err.Error())
				refused = cmp.Or(refused, err)
			}
		case "raw_security":
			if err := s.reports(sub, n, item.Payload); err != nil && refused == nil {
				refused = err
			}
		case "client_report":
			s.report(sub, item.Payload)
		case "session":
			s.sessions(sub, n, item.Payload, sentry.ParseSession)
		case "sessions":
			s.sessions(sub, n, item.Payload, sentry.ParseSessions)
		}
	}
	if refused != nil && sub.accepted > 0 {
		sub.hint(refused)
		return nil
	}
	return refused
}

// hint sets the header that gives an SDK the reason why a part of its request was not accepted.
func (sub *submission) hint(err error) {
	if shown, ok := errors.AsType[*domain.Error](err); ok {
		sub.writer.Header().Set(errorHeader, shown.Message)
	}
}

// store accepts the body of the older endpoint: one event.
func (s *Sentry) store(sub *submission) error {
	if err := s.authenticate(sub, ""); err != nil {
		return err
	}
	s.Metrics.Items.WithLabelValues("error").Inc()
	return s.event(sub, 0, sub.body)
}

// report counts the items that a client reports as not sent.
func (s *Sentry) report(sub *submission, payload []byte) {
	discarded, err := sentry.ParseReport(payload)
	if err != nil {
		return
	}
	for _, d := range discarded {
		s.Metrics.discarded(d)
		if signal := signalOfCategory(d.Category); signal != "" {
			sub.count(signal, ingest.FateClientSide, ingest.ClientReasonCode(knownReason(d.Reason), d.Category), int64(min(d.Quantity, maxDiscarded)))
		}
	}
}

// event accepts one event. It notes an event over the limit of its key, so that the answer makes the SDK pause errors
// and nothing else.
func (s *Sentry) event(sub *submission, index int, payload []byte) error {
	if len(payload) > sentry.MaxEventBytes {
		return tooLarge("The event is over %d bytes.", sentry.MaxEventBytes)
	}
	event, err := sentry.ParseEvent(payload)
	if err != nil {
		return malformed(err)
	}
	if sub.answered == "" {
		sub.answered = event.ID
	}
	s.take(sub, index, event, payload)
	return nil
}

// take accepts a decoded event, unless it must be ignored or the key's limit is used up.
func (s *Sentry) take(sub *submission, index int, event *sentry.Event, payload []byte) {
	if event.Security != nil && event.Security.Ignored != "" {
		sub.reject(index, "filtered", event.Security.Ignored)
		return
	}
	if wait := s.Limiter.take(sub.collector.KeyID, sub.now); wait > 0 {
		sub.pause = max(sub.pause, wait)
		sub.meet(func(met *telemetry.FairnessMet) { met.RateLimited++ })
		sub.reject(index, string(domain.CodeRateLimited), "The key's limit of errors is used up.")
		return
	}
	sub.acceptEvent(index, event, payload)
}

// acceptEvent emits the occurrence of an event. It omits and notes a member that cannot be stored, because the error
// matters more. If the application accepts no errors, the answer's header reports it. The status is 200 all the same,
// because the SDK cannot change that.
func (sub *submission) acceptEvent(index int, event *sentry.Event, payload []byte) {
	if sub.switchedOff(index, ingest.SignalErrors) {
		return
	}
	if !slices.Contains(sub.collector.Modules, domain.ModuleErrors) {
		sub.reject(index, string(domain.CodeModuleDisabled), "The application has switched the module errors off.")
		sub.hint(domain.Errorf(domain.CodeModuleDisabled, "The application has switched the module errors off."))
		return
	}
	o := event.Occurrence()
	shared := item{ID: o.ID, DistinctID: o.DistinctID, Release: o.Release, URL: o.URL, Referrer: o.Referrer}
	if !event.Timestamp.IsZero() {
		shared.Ts = event.Timestamp.Format(time.RFC3339Nano)
	}
	stamped := &sub.event
	stamped.Reset()
	sub.identify(stamped, &shared)
	sub.place(stamped, &shared)
	stamped.Ip, stamped.UserAgent = sub.clientOf(event)
	if code, message := sub.stamp(stamped, &shared); code != "" && !sub.isKept(stamped.TsMs) {
		stamped.TsMs = stamped.ReceivedMs
		o.Details.Note("timestamp", strings.TrimSuffix(message, ".")+"; the time of arrival took its place.")
	}
	if stamped.Id == "" {
		stamped.Id = sub.derivedID(errorPrefix, sumJSON(payload), shared.Ts, index, true)
	}
	o.ID, o.Path, o.Extra = stamped.Id, stamped.Path, boundedExtra(o.Extra)
	sub.debugIDs = event.DebugIDs
	if err := sub.emitOccurrence(index, stamped, o, event.Fingerprint); err != nil {
		sub.reject(index, "invalid_value", "The event cannot be encoded.")
		return
	}
	if event.HasPlaceholder() {
		sub.strip(ingest.SignalErrors, domain.CodePlaceholderID)
	}
}

// isKept reports whether a time is within the application's retention. SDKs of phones send unsent errors days later, so
// an error may be that old.
func (sub *submission) isKept(tsMs int64) bool {
	return tsMs >= sub.now.AddDate(0, 0, -sub.collector.RetentionDays).UnixMilli()
}

// clientOf returns the address and the user agent of the person: the ones in the event, or the ones of the connection
// if a browser sent it.
func (sub *submission) clientOf(e *sentry.Event) (ip, userAgent string) {
	ip, userAgent = e.User.IP, e.Request.UserAgent
	if e.Platform == "javascript" {
		userAgent = cmp.Or(userAgent, domain.VisitorAgent(headerOf(sub.request, "User-Agent")))
		ip = cmp.Or(ip, sub.collect.Proxies.of(sub.request))
	}
	if ip == "{{auto}}" {
		ip = sub.collect.Proxies.of(sub.request)
	}
	return ip, userAgent[:min(len(userAgent), event.MaxTextBytes)]
}

// malformed refuses an unreadable request.
func malformed(err error) error {
	return domain.Invalid(domain.FieldError{Code: "malformed", Message: err.Error()})
}

// keep appends the accepted errors to the log. They go to the spool if the log does not answer, or if earlier errors
// wait there.
func (s *Sentry) keep(sub *submission) error {
	sub.reserved.ReleaseProcessor()
	err := errSpooling
	if s.Spool.Bytes() == 0 {
		err = sub.produce()
	}
	if code := domain.CodeOf(err); err != nil && (errors.Is(err, errSpooling) || code == domain.CodeUnavailable) {
		if err = s.Spool.Append(sub.pendingParts()); err != nil {
			return domain.Unsure("The log", collectRetry)
		}
		s.Metrics.Spooled.Add(float64(sub.accepted))
	}
	if err != nil {
		return err
	}
	s.Collect.Metrics.Accepted.Add(float64(sub.accepted))
	return nil
}

// errSpooling replaces the log's error while the spool is not empty, because the log is not called then.
var errSpooling = fmt.Errorf("something waits in the spool")

// answerSentry answers 200, or 429 for the category of errors if the key's limit is used up.
func (sub *submission) answerSentry() error {
	if sub.pause > 0 {
		seconds := strconv.Itoa(int((sub.pause + time.Second - 1) / time.Second))
		sub.writer.Header().Set("X-Sentry-Rate-Limits", seconds+":error:key:rate_limited")
		return &domain.Error{Code: domain.CodeRateLimited, Message: "The key's limit of errors is used up.", RetryAfter: sub.pause}
	}
	body, err := json.Marshal(envelopeAnswer{ID: sub.answered})
	if err != nil {
		return err
	}
	sub.writer.Header()["Content-Type"] = jsonType
	_, _ = sub.writer.Write(append(body, '\n')) // If this write fails, there is no client to notify.
	return nil
}
