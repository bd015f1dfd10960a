package sentry

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/occurrence"
)

// Event is an error event, in the order and with the terms of Sentry.
type Event struct {
	ID string
	// Timestamp is zero if the event has no valid one.
	Timestamp   time.Time
	Level       string
	Platform    string
	Release     string
	Dist        string
	Environment string
	ServerName  string
	Transaction string
	Logger      string
	// Message is the text of the event, formatted. Template is the text before its parameters were inserted, empty
	// without parameters.
	Message, Template string
	Fingerprint       []string
	Tags              map[string]string
	// Extra and Contexts are JSON objects as the client sent them, nil if absent.
	Extra    json.RawMessage
	Contexts map[string]json.RawMessage
	User     User
	Request  Request
	// Breadcrumbs are in the order of time.
	Breadcrumbs []Breadcrumb
	// Exceptions are in the client's order: the last one was thrown, the ones before are its causes.
	Exceptions []Exception
	// Frames are the calls of an event without an exception, in the client's order, the oldest first. They belong to
	// the thread that crashed, or to the present one.
	Frames []Frame
	// DebugIDs maps the file of the code to the id of its source map.
	DebugIDs map[string]string
	SDK      SDK
	// Security is the browser's report in the event, nil for any other event.
	Security *Security
	// Problems names the members that could not be read.
	Problems []string
}

// User is the person that used the application.
type User struct {
	ID, Email, Username, IP string
	// Other holds the other attributes of the user, by name.
	Other map[string]string
}

// Request is the HTTP request during which the error happened. Status is the status of the response, zero if unknown.
type Request struct {
	Method, URL, Query, UserAgent, Referrer string
	Status                                  int
	// Headers contains all headers, Data is the body as JSON.
	Headers map[string]string
	Data    json.RawMessage
}

// Breadcrumb is one earlier occurrence.
type Breadcrumb struct {
	Timestamp                      time.Time
	Type, Category, Level, Message string
	Data                           json.RawMessage
}

// Exception is one error of a chain.
type Exception struct {
	Type, Value, Module string
	Mechanism           string
	// Handled is false only if the SDK sends false.
	Handled bool
	// Frames are in the client's order, the oldest call first.
	Frames []Frame
}

// Frame is one call of a stack.
type Frame struct {
	File, AbsPath, Function, Module, Package string
	Line, Column                             int
	// InApp is nil if the SDK does not send it.
	InApp *bool
	// Code is the source around the call, nil if the SDK sends none; Vars is a JSON object.
	Code *occurrence.FrameCode
	Vars json.RawMessage
}

// Bounds of one event. Parts beyond them are omitted; the parts nearest to the error are retained.
const (
	maxExceptions  = 50
	maxFrames      = 250
	maxBreadcrumbs = 100
	maxImages      = 1000
)

// ParseEvent reads the payload of an item of type event, or the body of the older store endpoint. It fails with
// *Malformed if the payload is not a JSON object.
func ParseEvent(payload []byte) (*Event, error) {
	var top object
	if err := domain.DecodeJSON(payload, &top); errors.Is(err, domain.ErrTooDeep) {
		return nil, malformed("invalid event: %v", err)
	} else if err != nil || top == nil {
		return nil, malformed("invalid event: no JSON object")
	}
	r := &reader{}
	event := &Event{
		ID: strings.ToLower(strings.ReplaceAll(r.text("event_id", top["event_id"]), "-", "")), Level: r.text("level", top["level"]),
		Platform: r.text("platform", top["platform"]), Release: r.text("release", top["release"]), Dist: r.text("dist", top["dist"]),
		Environment: r.text("environment", top["environment"]), ServerName: r.text("server_name", top["server_name"]),
		Transaction: r.text("transaction", top["transaction"]), Logger: r.text("logger", top["logger"]),
		Tags: r.pairs("tags", top["tags"]),
	}
	r.message(event, top)
	if event.Level == "" {
		event.Level = "error"
	}
	if stamp := top["timestamp"]; !absent(stamp) {
		var ok bool
		if event.Timestamp, ok = parseTime(stamp); !ok {
			r.problem("timestamp")
		}
	}
	if word, ok := scalar(top["fingerprint"]); ok {
		event.Fingerprint = []string{word}
	} else {
		for _, part := range r.list("fingerprint", top["fingerprint"]) {
			event.Fingerprint = append(event.Fingerprint, r.text("fingerprint", part))
		}
	}
	if extra := r.object("extra", top["extra"]); len(extra) > 0 {
		event.Extra = top["extra"]
	}
	event.Contexts = r.object("contexts", top["contexts"])
	event.User, event.Request = r.user(top["user"]), r.request(top["request"])
	event.Request.Status = r.number("contexts.response.status_code", r.object("contexts.response", event.Contexts["response"])["status_code"])
	event.Breadcrumbs, event.Exceptions = r.breadcrumbs(top["breadcrumbs"]), r.exceptions(top)
	if len(event.Exceptions) == 0 {
		event.Frames = r.beside(top)
		r.security(event, top)
	}
	event.DebugIDs = r.images(top["debug_meta"])
	event.SDK = r.sdk(top["sdk"])
	event.Problems = r.problems
	return event, nil
}

// message reads the text of an event: message or logentry, each a text or an object
// with the formatted text, the template and its parameters.
func (r *reader) message(event *Event, top object) {
	for _, name := range []string{"logentry", "message"} {
		raw := top[name]
		if absent(raw) {
			continue
		}
		if raw[0] != '{' {
			event.Message = anyText(raw)
			return
		}
		entry := r.object(name, raw)
		formatted, template := anyText(entry["formatted"]), anyText(entry["message"])
		if formatted == "" && template == "" {
			continue
		}
		if !absent(entry["params"]) && template != "" && template != formatted {
			event.Template = template
		}
		if event.Message = formatted; formatted == "" {
			event.Message = fill(template, entry["params"])
		}
		return
	}
}

// sdk reads the name and version of a library.
func (r *reader) sdk(raw json.RawMessage) SDK {
	members := r.object("sdk", raw)
	return SDK{r.text("sdk.name", members["name"]), r.text("sdk.version", members["version"])}
}

func (r *reader) user(raw json.RawMessage) User {
	user := r.object("user", raw)
	var other map[string]string
	for name, value := range user {
		if word, ok := joined(value); ok && word != "" {
			switch name {
			case "id", "email", "username", "ip_address":
			default:
				if other == nil {
					other = map[string]string{}
				}
				other[name] = word
			}
		}
	}
	return User{
		Other: other, ID: r.text("user.id", user["id"]), Email: r.text("user.email", user["email"]),
		Username: r.text("user.username", user["username"]), IP: r.text("user.ip_address", user["ip_address"]),
	}
}

func (r *reader) request(raw json.RawMessage) Request {
	request := r.object("request", raw)
	out := Request{Method: r.text("request.method", request["method"]), URL: r.text("request.url", request["url"])}
	out.Query = r.query("request.query_string", request["query_string"])
	if data := request["data"]; !absent(data) {
		out.Data = data
	}
	headers := r.pairs("request.headers", request["headers"])
	for name, value := range headers {
		switch strings.ToLower(name) {
		case "user-agent":
			out.UserAgent = value
		case "referer":
			out.Referrer = value
		case "x-forwarded-for", "x-real-ip", "forwarded", "cf-connecting-ip", "true-client-ip", "x-client-ip", "remote-addr":
			delete(headers, name) // Network addresses are not stored.
		}
	}
	if len(headers) > 0 {
		out.Headers = headers
	}
	return out
}

func (r *reader) breadcrumbs(raw json.RawMessage) []Breadcrumb {
	entries := last(r.list("breadcrumbs", raw), maxBreadcrumbs)
	out := make([]Breadcrumb, 0, len(entries))
	for _, entry := range entries {
		crumb := r.object("breadcrumbs", entry)
		at, _ := parseTime(crumb["timestamp"])
		out = append(out, Breadcrumb{
			Timestamp: at, Type: r.text("breadcrumbs.type", crumb["type"]), Category: r.text("breadcrumbs.category", crumb["category"]),
			Level: r.text("breadcrumbs.level", crumb["level"]), Message: anyText(crumb["message"]), Data: crumb["data"],
		})
	}
	return out
}

// exceptions reads the chain of errors. If no exception has frames, it uses a bare stacktrace or the thread that
// crashed.
func (r *reader) exceptions(top object) []Exception {
	entries := last(r.list("exception", top["exception"]), maxExceptions)
	out := make([]Exception, 0, len(entries))
	for _, raw := range entries {
		entry := r.object("exception", raw)
		if entry == nil {
			continue
		}
		mechanism := r.object("exception.mechanism", entry["mechanism"])
		handled := r.truth("exception.mechanism.handled", mechanism["handled"])
		out = append(out, Exception{
			Type: r.text("exception.type", entry["type"]), Value: anyText(entry["value"]), Module: r.text("exception.module", entry["module"]),
			Mechanism: r.text("exception.mechanism.type", mechanism["type"]), Handled: handled == nil || *handled,
			Frames: r.frames(entry["stacktrace"]),
		})
	}
	if len(out) > 0 && len(out[len(out)-1].Frames) == 0 {
		out[len(out)-1].Frames = r.beside(top)
	}
	return out
}

// The frames of an event if its exceptions have none: the first non-empty ones of the thread that crashed, the present
// thread, the bare stack, any thread, the location in a template.
func (r *reader) beside(top object) []Frame {
	threads := r.list("threads", top["threads"])
	stacks := make([]object, 0, len(threads))
	for _, raw := range threads {
		stacks = append(stacks, r.object("threads", raw))
	}
	for _, mark := range []string{"crashed", "current"} {
		for _, thread := range stacks {
			marked := r.truth("threads."+mark, thread[mark])
			if marked == nil || !*marked || absent(thread["stacktrace"]) {
				continue
			}
			if frames := r.frames(thread["stacktrace"]); len(frames) > 0 {
				return frames
			}
		}
	}
	if frames := r.frames(top["stacktrace"]); len(frames) > 0 {
		return frames
	}
	for _, thread := range stacks {
		if frames := r.frames(thread["stacktrace"]); len(frames) > 0 {
			return frames
		}
	}
	template := r.object("template", top["template"])
	if file := r.text("template.filename", template["filename"]); file != "" {
		own := true
		return []Frame{{File: file, AbsPath: r.text("template.abs_path", template["abs_path"]), Line: r.number("template.lineno", template["lineno"]), InApp: &own}}
	}
	return nil
}

func (r *reader) frames(raw json.RawMessage) []Frame {
	if !absent(raw) && raw[0] == '{' {
		raw = r.object("stacktrace", raw)["frames"]
	}
	entries := last(r.list("frames", raw), maxFrames)
	out := make([]Frame, 0, len(entries))
	for _, raw := range entries {
		frame := r.object("frames", raw)
		out = append(out, Frame{
			File: r.text("frames.filename", frame["filename"]), AbsPath: r.text("frames.abs_path", frame["abs_path"]),
			Function: r.text("frames.function", frame["function"]), Module: r.text("frames.module", frame["module"]),
			Package: r.text("frames.package", frame["package"]),
			Line:    r.number("frames.lineno", frame["lineno"]), Column: r.number("frames.colno", frame["colno"]),
			InApp: r.truth("frames.in_app", frame["in_app"]), Code: r.code(frame), Vars: frame["vars"],
		})
	}
	return out
}

// code reads the source around a call.
func (r *reader) code(frame object) *occurrence.FrameCode {
	if absent(frame["context_line"]) {
		return nil
	}
	code := &occurrence.FrameCode{Line: r.text("frames.context_line", frame["context_line"])}
	for _, side := range []struct {
		name string
		into *[]string
	}{{"pre_context", &code.Before}, {"post_context", &code.After}} {
		for _, line := range r.list("frames."+side.name, frame[side.name]) {
			*side.into = append(*side.into, r.text("frames."+side.name, line))
		}
	}
	return code
}

// images reads the map from files to source maps.
func (r *reader) images(raw json.RawMessage) map[string]string {
	out := map[string]string{}
	for _, raw := range last(r.list("debug_meta.images", r.object("debug_meta", raw)["images"]), maxImages) {
		image := r.object("debug_meta.images", raw)
		file, id := r.text("debug_meta.images.code_file", image["code_file"]), r.text("debug_meta.images.debug_id", image["debug_id"])
		if r.text("debug_meta.images.type", image["type"]) == "sourcemap" && file != "" && id != "" {
			out[file] = strings.ToLower(id)
		}
	}
	return out
}

// last returns at most n elements from the end.
func last[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }
