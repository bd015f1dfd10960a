package ingest

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/encoding/json"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/occurrence"
	"svc/protos"
)

// itemError is the type of an item that reports an error.
const itemError itemKind = "error"

// errorItem is one error as a client sends it, without the members that it shares with an event: ids, time, page,
// release and context. Unknown fields are ignored.
type errorItem struct {
	Type           string                        `json:"type" doc:"error; needed in a batch."`
	ID             string                        `json:"id" doc:"The client's own id of the occurrence; the same id is stored once. One is derived where it is missing."`
	Ts             string                        `json:"ts" doc:"When it happened, ISO 8601; the arrival where it is missing."`
	DistinctID     string                        `json:"distinctId"`
	AnonymousID    string                        `json:"anonymousId"`
	SessionID      string                        `json:"sessionId"`
	Level          occurrence.Level              `json:"level" doc:"error where it is missing."`
	Name           string                        `json:"name" doc:"The kind of the error, for example TypeError. This, message, stack or frames is needed."`
	Message        string                        `json:"message"`
	Culprit        string                        `json:"culprit" doc:"Where it comes from; found in the frames where it is missing."`
	Handled        *bool                         `json:"handled" doc:"true where it is missing."`
	Mechanism      string                        `json:"mechanism" doc:"How it was caught, for example onerror."`
	Release        string                        `json:"release"`
	Stack          string                        `json:"stack" doc:"The text of the stack; read where no frames are sent."`
	Frames         []errorFrame                  `json:"frames" doc:"The calls, the throwing one first."`
	Causes         []errorCause                  `json:"causes" doc:"The errors that led to this one, the nearest first, at most 50. If no call of this one is the application's, the nearest cause with such a call makes title, culprit and group."`
	Breadcrumbs    []errorCrumb                  `json:"breadcrumbs" doc:"What happened before, the oldest first."`
	Tags           map[string]stdjson.RawMessage `json:"tags" doc:"Texts, numbers and booleans by name."`
	Extra          stdjson.RawMessage            `json:"extra" doc:"Any object, at most 16 KiB and 8 deep; a larger one is left out."`
	Request        errorRequest                  `json:"request"`
	URL            string                        `json:"url"`
	Path           string                        `json:"path"`
	Referrer       string                        `json:"referrer"`
	Locale         string                        `json:"locale"`
	AppVersion     string                        `json:"appVersion"`
	Browser        string                        `json:"browser" doc:"Found in the user agent where it is missing, as are browserVersion, os and device."`
	BrowserVersion string                        `json:"browserVersion"`
	OS             string                        `json:"os"`
	Device         string                        `json:"device"`
	Fingerprint    []string                      `json:"fingerprint" doc:"Groups by these words; {{ default }} stands for the computed grouping."`
	Context        itemContext                   `json:"context"`
	SentAt         string                        `json:"sentAt"`
	WriteKey       string                        `json:"writeKey"`
}

// errorFrame is one call of a stack.
type errorFrame struct {
	File     string `json:"file"`
	Function string `json:"function"`
	Module   string `json:"module" doc:"The class, package or namespace of the function."`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	InApp    *bool  `json:"inApp" doc:"Whether it is the application's own code; judged by the file where it is missing."`
}

// errorCause is an error that led to another one.
type errorCause struct {
	Name    string       `json:"name"`
	Message string       `json:"message"`
	Frames  []errorFrame `json:"frames" doc:"The calls, the throwing one first."`
}

// errorCrumb is an occurrence before an error.
type errorCrumb struct {
	Timestamp stdjson.RawMessage `json:"timestamp" doc:"ISO 8601, or seconds since the epoch."`
	Category  string             `json:"category"`
	Message   string             `json:"message"`
}

// errorRequest is the HTTP request during which an error happened.
type errorRequest struct {
	Method string `json:"method"`
	URL    string `json:"url"`
	Status int    `json:"status"`
}

type errorInput struct {
	Beacon string    `query:"beacon" doc:"1 answers 204 without a body, for beacons."`
	Key    string    `query:"key" doc:"The ingest key, where no header can be set."`
	Body   errorItem `body:"json"`
}

// rawItem returns the bytes of an item, because the decoder of events ignored its error members. The bytes are found
// once per request.
func (sub *submission) rawItem(index int) (stdjson.RawMessage, error) {
	if sub.rawItems == nil {
		body := bytes.TrimLeft(sub.body, " \t\r\n")
		var envelope struct {
			Items []stdjson.RawMessage `json:"items"`
		}
		var err error
		switch {
		case body[0] == '[':
			err = parse(body, &sub.rawItems)
		case sub.single:
			sub.rawItems = append(sub.rawItems, body)
		default:
			err = parse(body, &envelope)
			sub.rawItems = envelope.Items
		}
		if err != nil {
			return nil, err
		}
	}
	if index >= len(sub.rawItems) {
		return nil, fmt.Errorf("the request has no item %d", index)
	}
	return sub.rawItems[index], nil
}

// acceptError checks one error item and emits its occurrence, or rejects it.
func (sub *submission) acceptError(index int, shared *item) {
	if sub.switchedOff(index, ingest.SignalErrors) {
		return
	}
	raw, err := sub.rawItem(index)
	if err != nil {
		sub.reject(index, "invalid_type", wrongType("The item", err))
		return
	}
	if len(raw) > occurrence.MaxErrorBytes {
		sub.reject(index, "too_large", "The error is over "+strconv.Itoa(occurrence.MaxErrorBytes)+" bytes.")
		return
	}
	var it errorItem
	if err := parse(raw, &it); err != nil {
		sub.reject(index, "invalid_type", wrongType("The item", err))
		return
	}
	if code, message := sub.checkError(&it); code != "" {
		sub.reject(index, code, message)
		return
	}
	// The members that events and errors share: ids, time and page.
	event := &sub.event
	event.Reset()
	sub.identify(event, shared)
	sub.place(event, shared)
	sub.contextualise(event, shared)
	if code, message := sub.stamp(event, shared); code != "" {
		sub.reject(index, code, message)
		return
	}
	if event.Id == "" {
		if event.Id, err = sub.errorID(index, &it); err != nil {
			sub.reject(index, "invalid_value", "The item cannot be encoded.")
			return
		}
	}
	occurrence := it.occurrence(event)
	if err := sub.emitOccurrence(index, event, occurrence, it.Fingerprint); err != nil {
		sub.reject(index, "invalid_value", "The item cannot be encoded.")
	}
}

// checkError returns the reason why an error item is not accepted, empty if it is.
func (sub *submission) checkError(it *errorItem) (code, message string) {
	if !slices.Contains(sub.collector.Modules, domain.ModuleErrors) {
		return string(domain.CodeModuleDisabled), "The application has switched the module errors off."
	}
	if it.Name == "" && it.Message == "" && it.Stack == "" && len(it.Frames) == 0 {
		return "missing_value", "name, message, stack or frames is missing."
	}
	if it.Level != "" && !slices.Contains(occurrence.Levels(), it.Level) {
		return "invalid_value", "level is unknown; allowed are fatal, error, warning, info and debug."
	}
	for _, word := range [...]struct{ field, value string }{
		{"id", it.ID}, {"distinctId", it.DistinctID}, {"anonymousId", it.AnonymousID}, {"sessionId", it.SessionID},
	} {
		switch {
		case len(word.value) > event.MaxIDBytes:
			return "too_long", word.field + " is over " + strconv.Itoa(event.MaxIDBytes) + " bytes."
		case strings.IndexByte(word.value, 0) >= 0:
			return "invalid_value", word.field + " holds a NUL character."
		}
	}
	if code, message = checkIDs(&item{DistinctID: it.DistinctID, AnonymousID: it.AnonymousID}, itemError); code != "" {
		return code, message
	}
	if len(it.Fingerprint) > occurrence.MaxFingerprint {
		return "too_many", "fingerprint has more than " + strconv.Itoa(occurrence.MaxFingerprint) + " words."
	}
	if it.Request.Status < 0 || it.Request.Status > 999 {
		return "invalid_value", "request.status is no HTTP status."
	}
	if first := bytes.TrimSpace(it.Extra); len(first) > 0 && first[0] != '{' && string(first) != "null" {
		return "invalid_value", "extra is not an object."
	}
	return "", ""
}

// occurrence returns the item's own data, completed by the data that the service determined.
func (it *errorItem) occurrence(event *protos.Event) *occurrence.Occurrence {
	o := &occurrence.Occurrence{
		ID: event.Id, Level: it.Level, Name: it.Name, Message: it.Message, Culprit: it.Culprit,
		Handled: it.Handled == nil || *it.Handled, Mechanism: it.Mechanism, Release: event.Release, Stack: it.Stack,
		Extra:   boundedExtra(it.Extra),
		Request: occurrence.ErrorRequest{Method: it.Request.Method, URL: it.Request.URL, Status: it.Request.Status},
		URL:     event.Url, Path: event.Path, Referrer: event.Referrer,
		DistinctID: event.DistinctId, AnonymousID: event.AnonymousId, SessionID: event.SessionId,
		Locale: cmp.Or(it.Locale, event.Locale), AppVersion: it.AppVersion,
		Browser: it.Browser, BrowserVersion: it.BrowserVersion, OS: it.OS, Device: it.Device,
	}
	o.Frames = calls(it.Frames)
	for _, cause := range it.Causes[:min(len(it.Causes), occurrence.MaxCauses)] {
		o.Causes = append(o.Causes, occurrence.Cause{Name: cause.Name, Message: cause.Message, Frames: calls(cause.Frames)})
	}
	for _, crumb := range it.Breadcrumbs {
		o.Breadcrumbs = append(o.Breadcrumbs, occurrence.Breadcrumb{Timestamp: crumbTime(crumb.Timestamp), Category: crumb.Category, Message: crumb.Message})
	}
	if len(it.Tags) > 0 {
		o.Tags = make(map[string]string, len(it.Tags))
		for name, raw := range it.Tags {
			if value, ok := tagText(raw); ok {
				o.Tags[name] = value
			}
		}
	}
	return o
}

// calls returns the calls of a stack.
func calls(frames []errorFrame) []occurrence.Frame {
	var out []occurrence.Frame
	for _, frame := range frames {
		called := occurrence.Frame{File: frame.File, Function: frame.Function, Module: frame.Module, Line: frame.Line, Column: frame.Column}
		called.Judge(occurrence.FrameOrigin{InApp: frame.InApp})
		out = append(out, called)
	}
	return out
}

// boundedExtra returns an object that is within its limits. It replaces another one by the reason, because the error
// matters more than its context.
func boundedExtra(raw stdjson.RawMessage) stdjson.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if len(raw) > occurrence.MaxErrorExtra {
		return stdjson.RawMessage(`{"_dropped":"too_large"}`)
	}
	switch shape := measureJSON(raw); {
	case shape.depth > occurrence.MaxErrorExtraDepth:
		return stdjson.RawMessage(`{"_dropped":"too_deep"}`)
	case shape.nul:
		return stdjson.RawMessage(`{"_dropped":"nul_character"}`)
	}
	return raw
}

// crumbTime reads the time of a breadcrumb. A text stays unchanged. A number means seconds since the epoch, or
// milliseconds if it is too large for seconds.
func crumbTime(raw stdjson.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	if raw[0] == '"' {
		return textOf(raw)
	}
	const lastSecond = 1e11 // This is the year 5138.
	number, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(number > 0 && number < lastSecond*1000) {
		return ""
	}
	if number < lastSecond {
		number *= 1000
	}
	return time.UnixMilli(int64(number)).UTC().Format("2006-01-02T15:04:05.000Z")
}

// tagText reads the value of a tag.
func tagText(raw stdjson.RawMessage) (string, bool) {
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '"':
		return textOf(raw), true
	case '{', '[', 'n':
		return "", false
	}
	return string(raw), true
}

// emitOccurrence completes and groups an occurrence and appends it to the payload of its issue's partition. The event
// contains the sender and the time.
func (sub *submission) emitOccurrence(index int, e *protos.Event, o *occurrence.Occurrence, explicit []string) error {
	sub.complete(o)
	fingerprint := occurrence.Fingerprint(o, explicit)
	if o.Name == occurrence.StackName && o.Message == "" {
		o.Message = o.Culprit
	}
	former := occurrence.FormerFingerprint(o, explicit)
	o.Scrub()
	message := &protos.Occurrence{
		Environment: e.Environment, Id: o.ID, TsMs: e.TsMs, ReceivedMs: e.ReceivedMs,
		Issue: occurrence.IssueNumber(e.Environment, fingerprint), Fingerprint: fingerprint,
		Former: occurrence.IssueNumber(e.Environment, former),
		Level:  string(o.Level), Name: o.Name, Message: o.Message, Culprit: o.Culprit, Handled: o.Handled, Mechanism: o.Mechanism,
		Release: o.Release, Stack: o.Stack, Extra: o.Extra,
		RequestMethod: o.Request.Method, RequestUrl: o.Request.URL, RequestStatus: int32(o.Request.Status),
		Url: o.URL, Path: o.Path, Referrer: o.Referrer,
		DistinctId: o.DistinctID, AnonymousId: o.AnonymousID, SessionId: o.SessionID,
		Locale: o.Locale, AppVersion: o.AppVersion, Ip: e.Ip, UserAgent: e.UserAgent, RetentionDays: e.RetentionDays,
		Browser: o.Browser, BrowserVersion: o.BrowserVersion, Os: o.OS, Device: o.Device,
	}
	var err error
	if message.Frames, err = listJSON(o.Frames); err != nil {
		return err
	}
	if message.Breadcrumbs, err = listJSON(o.Breadcrumbs); err != nil {
		return err
	}
	if len(o.Tags) > 0 {
		if message.Tags, err = json.Append(nil, o.Tags, json.SortMapKeys); err != nil {
			return err
		}
	}
	if message.Details, err = o.Details.JSON(); err != nil {
		return err
	}
	if fate := sub.admitError(message); fate == ingest.FateRateLimited {
		sub.reject(index, string(domain.CodeRateLimited), "The issue has more errors than its environment takes of one in a minute.")
		return nil
	} else if sub.turnAway(index, ingest.SignalErrors, fate) {
		return nil
	}
	partition := sub.collect.Shape.Of(message.Environment, protos.PartitionOfIssue(message.Issue, sub.collect.Shape.Partitions))
	size := message.SizeVT()
	if size+itemHead > event.MaxRecordBytes { // Texts of control characters grow in JSON.
		message.Breadcrumbs, size = nil, size-len(message.Breadcrumbs)
	}
	return sub.put(partition, size, func(payload []byte) ([]byte, error) { return protos.AppendOccurrence(payload, message) })
}

// complete normalises an occurrence and finds the original locations of its calls. These may show that a cause is at
// fault; then complete also finds the locations of the cause.
func (sub *submission) complete(o *occurrence.Occurrence) {
	given := o.Culprit
	o.Normalise()
	for sub.symbolicate(o) {
		o.Culprit = given
		if !o.Normalise() {
			return
		}
	}
}

// listJSON encodes a list; an empty list has no text.
func listJSON[T any](list []T) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return json.Append(nil, list, 0)
}
