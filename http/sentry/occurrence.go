package sentry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/occurrence"
)

// The names of events without an exception: one with a message, and one with neither message nor stack.
const (
	messageName = "Message"
	bareName    = "Event"
)

// Occurrence returns the event as an occurrence, without the values that the service determines: issue, place, session,
// times of arrival.
func (e *Event) Occurrence() *occurrence.Occurrence {
	o := &occurrence.Occurrence{
		ID: e.ID, Ts: e.Timestamp, Level: level(e.Level), Platform: e.Platform, Handled: true, Release: e.Release,
		Request: occurrence.ErrorRequest{Method: e.Request.Method, URL: e.Request.URL, Status: e.Request.Status},
		URL:     e.Request.URL, Referrer: e.Request.Referrer, Tags: e.tags(), Extra: e.extra(),
		Locale: e.contextText("culture", "locale"), AppVersion: e.contextText("app", "app_version"),
		Browser: e.contextText("browser", "name"), BrowserVersion: e.contextText("browser", "version"),
		OS: e.contextText("os", "name"), Device: e.contextText("device", "family"),
	}
	if o.URL != "" && e.Request.Query != "" && !strings.Contains(o.URL, "?") {
		o.URL += "?" + strings.TrimPrefix(e.Request.Query, "?")
	}
	if len(e.Exceptions) > 0 {
		thrown := &e.Exceptions[len(e.Exceptions)-1]
		o.Name, o.Message = thrown.name(), thrown.Value
		o.Handled, o.Mechanism = thrown.Handled, thrown.Mechanism
		o.Frames = calls(e.Platform, thrown.Frames)
		for _, cause := range slices.Backward(e.Exceptions[:len(e.Exceptions)-1]) {
			o.Causes = append(o.Causes, occurrence.Cause{Name: cause.name(), Message: cause.Value, Frames: calls(e.Platform, cause.Frames)})
		}
		o.Stack = e.stack()
	} else {
		e.plain(o)
	}
	o.Details.Query, o.Details.Headers, o.Details.Data = e.Request.Query, e.Request.Headers, e.Request.Data
	o.Details.User = e.User.Other
	e.identify(o)
	for _, field := range e.Problems {
		o.Details.Note(field, "Its form is not understood; it was left out.")
	}
	for i := range e.Breadcrumbs {
		o.Breadcrumbs = append(o.Breadcrumbs, e.Breadcrumbs[i].crumb())
	}
	return o
}

// plain completes an event without an exception: from the report of a browser, its message, the location in its stack,
// or the transaction.
func (e *Event) plain(o *occurrence.Occurrence) {
	o.Name, o.Message, o.Template = messageName, e.Message, e.Template
	o.Frames = calls(e.Platform, e.Frames)
	switch said := e.Security; {
	case said != nil:
		o.Name, o.Message, o.Culprit, o.Template, o.Mechanism = said.Kind, said.Title, said.Culprit, said.Group, "report"
		return
	case o.Message != "":
	case len(o.Frames) > 0:
		o.Name = occurrence.StackName
	default:
		o.Name, o.Message = bareName, strings.Join(slices.DeleteFunc([]string{e.Transaction, e.Logger}, func(word string) bool { return word == "" }), " ")
	}
	if len(o.Frames) == 0 {
		if o.Culprit = e.Transaction; o.Culprit == "" {
			o.Culprit = e.Logger
		}
	} else {
		o.Stack = stackText(strings.TrimSuffix(o.Name+": "+o.Message, ": "), o.Frames)
	}
}

// level returns the level for a word of Sentry; unknown words mean error.
func level(word string) occurrence.Level {
	known := occurrence.Level(strings.ToLower(word))
	switch {
	case slices.Contains(occurrence.Levels(), known):
		return known
	case known == "critical":
		return occurrence.LevelFatal
	case known == "log":
		return occurrence.LevelInfo
	}
	return occurrence.LevelError
}

// identify sets the ids of the report and of the application's user, from the most reliable fields first. It omits and
// notes a value that cannot be an id.
func (e *Event) identify(o *occurrence.Occurrence) {
	if fault := occurrence.IDFault(e.ID); fault != "" {
		o.ID = ""
		o.Details.Note("event_id", fault+"; another id was made.")
	}
	for _, member := range [...]struct{ name, value string }{{"id", e.User.ID}, {"username", e.User.Username}, {"email", e.User.Email}} {
		if member.value == "" {
			continue
		}
		if fault := occurrence.IDFault(member.value); fault != "" {
			o.Details.Note("user."+member.name, fault+" and was left out.")
			continue
		}
		if o.Details.User == nil {
			o.Details.User = map[string]string{}
		}
		o.Details.User[member.name] = member.value
		switch {
		case domain.IsPlaceholderID(member.value):
			o.Details.Note("user."+member.name, "It names nobody; the error is not assigned to a person by it.")
		case o.DistinctID == "":
			o.DistinctID = member.value
		}
	}
}

// HasPlaceholder reports whether a user id is a placeholder that identifies no person.
func (e *Event) HasPlaceholder() bool {
	return slices.ContainsFunc([]string{e.User.ID, e.User.Username, e.User.Email}, func(id string) bool { return id != "" && domain.IsPlaceholderID(id) })
}

// tags returns the event's own tags and the fields that Sentry shows as tags.
func (e *Event) tags() map[string]string {
	tags := map[string]string{}
	for _, pair := range [][2]string{
		{"environment", e.Environment},
		{"server_name", e.ServerName},
		{"logger", e.Logger},
		{"transaction", e.Transaction},
		{"dist", e.Dist},
		{"platform", e.Platform},
		{"runtime", e.contextText("runtime", "name")},
	} {
		if pair[1] != "" {
			tags[pair[0]] = pair[1]
		}
	}
	for name, value := range e.Tags {
		tags[name] = value
	}
	return tags
}

// extra returns the event's extra object with its contexts under their name.
func (e *Event) extra() json.RawMessage {
	if len(e.Contexts) == 0 {
		return e.Extra
	}
	merged := map[string]json.RawMessage{}
	if len(e.Extra) > 0 && json.Unmarshal(e.Extra, &merged) != nil {
		return e.Extra
	}
	contexts, err := json.Marshal(e.Contexts)
	if err != nil {
		return e.Extra
	}
	if _, taken := merged["contexts"]; !taken {
		merged["contexts"] = contexts
	}
	encoded, err := json.Marshal(merged)
	if err != nil || len(encoded) > occurrence.MaxErrorExtra {
		return e.Extra
	}
	return encoded
}

// contextText reads a text of a context.
func (e *Event) contextText(context, name string) string {
	var members object
	if json.Unmarshal(e.Contexts[context], &members) != nil {
		return ""
	}
	word, _ := joined(members[name])
	return word
}

// name returns the name of the exception.
func (x *Exception) name() string {
	if x.Type != "" {
		return x.Type
	}
	return x.Module
}

// calls returns the calls of a stack, the throwing one first.
func calls(platform string, frames []Frame) []occurrence.Frame {
	out := make([]occurrence.Frame, 0, len(frames))
	for _, frame := range slices.Backward(frames) {
		file := frame.File
		if file == "" {
			file = frame.AbsPath
		}
		if file == "" {
			file = frame.Module
		}
		function := frame.Function
		if function == "?" || function == "<anonymous>" {
			function = ""
		}
		call := occurrence.Frame{File: file, Function: function, Module: frame.Module, Line: frame.Line, Column: frame.Column, Code: frame.Code, Vars: frame.Vars}
		call.Judge(occurrence.FrameOrigin{Platform: platform, AbsPath: frame.AbsPath, Package: frame.Package, InApp: frame.InApp})
		out = append(out, call)
	}
	return out
}

// stack writes the chain of errors as a text, the thrown error first, then its causes.
func (e *Event) stack() string {
	var out strings.Builder
	for i, x := range slices.Backward(e.Exceptions) {
		title := x.name()
		if x.Value != "" {
			title += ": " + x.Value
		}
		if i < len(e.Exceptions)-1 {
			title = "Caused by: " + title
		}
		out.WriteString(stackText(title, calls(e.Platform, x.Frames)))
	}
	return out.String()
}

// stackText writes a title and the calls below it.
func stackText(title string, frames []occurrence.Frame) string {
	var out strings.Builder
	out.WriteString(title + "\n")
	for i := range frames {
		frame := &frames[i]
		place := frame.File
		if frame.Line > 0 {
			place += ":" + strconv.Itoa(frame.Line)
		}
		if frame.Line > 0 && frame.Column > 0 {
			place += ":" + strconv.Itoa(frame.Column)
		}
		if frame.Function != "" {
			place = frame.Function + " (" + place + ")"
		}
		out.WriteString("    at " + place + "\n")
	}
	return out.String()
}

// crumb returns the breadcrumb. If it has only data, its message is made from the data.
func (b *Breadcrumb) crumb() occurrence.Breadcrumb {
	out := occurrence.Breadcrumb{Category: b.Category, Message: b.Message}
	if out.Category == "" {
		out.Category = b.Type
	}
	if !b.Timestamp.IsZero() {
		out.Timestamp = b.Timestamp.Format("2006-01-02T15:04:05.000Z")
	}
	if out.Message == "" && !absent(b.Data) {
		out.Message = b.summary()
	}
	return out
}

// summary writes the data of a breadcrumb: GET https://example.com/ 200 for a request, else the data as JSON.
func (b *Breadcrumb) summary() string {
	var request struct {
		Method string          `json:"method"`
		URL    string          `json:"url"`
		Status json.RawMessage `json:"status_code"`
		From   string          `json:"from"`
		To     string          `json:"to"`
	}
	if json.Unmarshal(b.Data, &request) != nil {
		return string(b.Data)
	}
	switch {
	case request.URL != "":
		status, _ := scalar(request.Status)
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", request.Method, request.URL, status))
	case request.To != "":
		return strings.TrimSpace(request.From + " → " + request.To)
	}
	return string(b.Data)
}
