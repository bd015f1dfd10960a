package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"

	"svc"
	"svc/http"
)

// maxAnswer bounds how much of an answer is kept. What a model reads is cut far below.
const maxAnswer = 1 << 20

// Execute calls a tool about an application with a token: the request passes the
// gates of the handler like that of any caller. The error is not_found for an unknown
// tool and invalid_request for an input that makes no request; whatever the route
// answers is an outcome.
func (r *Registry) Execute(ctx context.Context, secret svc.Secret, ref svc.AppRef, name string, input json.RawMessage) (svc.ToolOutcome, error) {
	called := r.byName[name]
	if called == nil {
		return svc.ToolOutcome{}, svc.NotFound("tool")
	}
	request, err := called.request(ctx, ref, input)
	if err != nil {
		return svc.ToolOutcome{}, err
	}
	return r.send(request, secret), nil
}

// Before reads the state of what a call would change: the answer of the same path, or
// the row of the list above it that has the id. It is nil where there is none.
func (r *Registry) Before(ctx context.Context, secret svc.Secret, ref svc.AppRef, name string, input json.RawMessage) (json.RawMessage, error) {
	called := r.byName[name]
	if called == nil || called.before == nil {
		return nil, nil
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(orEmpty(input), &members); err != nil {
		return nil, svc.Invalid(svc.FieldError{Code: "invalid_type", Message: "The input must be an object."})
	}
	path, err := fillPath(called.before.path, ref, members)
	if err != nil {
		return nil, err
	}
	if called.before.id == "" {
		return r.read(ctx, secret, path), nil
	}
	return r.findRow(ctx, secret, path, textOf(members[called.before.id]))
}

// reading is where the state of a target can be read.
type reading struct {
	path string
	// id is the parameter that names the row of a list; empty reads the path itself.
	id string
}

// readingOf finds where the state of a route's target is read: GET of the same path; else
// of the path that ends with the target's id, or the list above it. A route whose path
// has no id makes something new, which has no state before, unless the path itself is
// read.
func readingOf(route *http.Route, routes []http.Route) *reading {
	if route.Effect == svc.EffectRead {
		return nil
	}
	has := func(path string) bool {
		return slices.ContainsFunc(routes, func(other http.Route) bool {
			return other.Surface == route.Surface && other.Method == nethttp.MethodGet && other.Path == path
		})
	}
	if route.Method != nethttp.MethodPost && has(route.Path) {
		return &reading{path: route.Pattern()}
	}
	at := strings.LastIndexByte(route.Path, '{')
	id, _, _ := strings.Cut(route.Path[at+1:], "}")
	if at < 0 || id == "org" || id == "app" {
		return nil
	}
	if one := route.Path[:at] + "{" + id + "}"; has(one) {
		return &reading{path: route.Surface.Base() + one}
	}
	// The list may stand above a word, as in /destinations/test/{id}.
	for above := route.Path[:at-1]; above != "" && !strings.HasSuffix(above, "}"); above = above[:strings.LastIndexByte(above, '/')] {
		if has(above) {
			return &reading{path: route.Surface.Base() + above, id: id}
		}
	}
	return nil
}

// listPages bounds how many pages of a list are searched for a row.
const listPages = 20

// findRow returns the row of a list whose id or key is the one named.
func (r *Registry) findRow(ctx context.Context, secret svc.Secret, path, id string) (json.RawMessage, error) {
	query := url.Values{"limit": {"200"}}
	for range listPages {
		var page struct {
			Data       []json.RawMessage `json:"data"`
			NextCursor *string           `json:"nextCursor"`
		}
		if err := json.Unmarshal(orEmpty(r.read(ctx, secret, path+"?"+query.Encode())), &page); err != nil {
			return nil, fmt.Errorf("reading the state before: %w", err)
		}
		for _, row := range page.Data {
			var named map[string]json.RawMessage
			if json.Unmarshal(row, &named) == nil && (textOf(named["id"]) == id || textOf(named["key"]) == id) {
				return row, nil
			}
		}
		if page.NextCursor == nil {
			break
		}
		query.Set("cursor", *page.NextCursor)
	}
	return nil, nil
}

// read returns the body of a GET, nil where it does not succeed.
func (r *Registry) read(ctx context.Context, secret svc.Secret, path string) json.RawMessage {
	request, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodGet, path, nil)
	if err != nil {
		return nil
	}
	if outcome := r.send(request, secret); outcome.OK() {
		return outcome.Body
	}
	return nil
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// request makes the request of a call.
func (e *entry) request(ctx context.Context, ref svc.AppRef, input json.RawMessage) (*nethttp.Request, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(orEmpty(input), &members); err != nil || members == nil {
		return nil, svc.Invalid(svc.FieldError{Code: "invalid_type", Message: "The input must be an object."})
	}
	path, err := fillPath(e.path, ref, members)
	if err != nil {
		return nil, err
	}
	query, body, err := e.sort(members)
	if err != nil {
		return nil, err
	}
	if encoded := query.Encode(); encoded != "" {
		path += "?" + encoded
	}
	var content []byte
	if e.body {
		if content, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("encoding the body: %w", err)
		}
	}
	request, err := nethttp.NewRequestWithContext(ctx, e.method, path, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	if e.body {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// sort tells the members of an input that are parameters from those of the body.
func (e *entry) sort(members map[string]json.RawMessage) (query url.Values, body map[string]json.RawMessage, err error) {
	query, body = url.Values{}, map[string]json.RawMessage{}
	for name, value := range members {
		prefix, open := e.open[name]
		switch {
		case open:
			err = addPairs(query, name, prefix, textsOf(value))
		case e.place[name] == inPath:
		case e.place[name] == inQuery, e.opened(name):
			query[name] = textsOf(value)
		case e.place[name] == inBody:
			body[name] = value
		default:
			err = svc.Invalid(svc.FieldError{Field: name, Code: "unknown_value", Message: fmt.Sprintf("The tool takes no %q.", name)})
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return query, body, nil
}

// opened says whether a name is one that an open parameter stands for, as the query of the
// route has it: label.plan beside label.
func (e *entry) opened(name string) bool {
	for _, prefix := range e.open {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// addPairs adds what an open parameter lists as key=value.
func addPairs(query url.Values, name, prefix string, pairs []string) error {
	for _, pair := range pairs {
		key, value, whole := strings.Cut(pair, "=")
		if !whole {
			return svc.Invalid(svc.FieldError{Field: name, Code: "invalid_value", Message: fmt.Sprintf("%q is not key=value.", pair)})
		}
		query.Add(prefix+key, value)
	}
	return nil
}

// docsPath begins the one path whose parameter takes all of the rest.
const docsPath = "/api/v1/docs/"

// fillPath puts the address and the input into a path.
func fillPath(pattern string, ref svc.AppRef, members map[string]json.RawMessage) (string, error) {
	segments := strings.Split(pattern, "/")
	for i, segment := range segments {
		if !strings.HasPrefix(segment, "{") {
			continue
		}
		name := strings.Trim(segment, "{}.")
		value := textOf(members[name])
		switch name {
		case "org":
			value = ref.Org
		case "app":
			value = ref.App
		}
		if value == "" {
			return "", svc.Invalid(svc.FieldError{Field: name, Code: "missing_value", Message: fmt.Sprintf("The tool needs %q.", name)})
		}
		// A parameter must stay within its segment, or it could name another route.
		parts := []string{value}
		if strings.HasPrefix(pattern, docsPath) {
			parts = strings.Split(value, "/")
		}
		for j, part := range parts {
			if part == "" || part == "." || part == ".." || strings.Contains(part, "/") {
				return "", svc.Invalid(svc.FieldError{Field: name, Code: "invalid_value", Message: fmt.Sprintf("%q is no name of one thing.", name)})
			}
			parts[j] = url.PathEscape(part)
		}
		segments[i] = strings.Join(parts, "/")
	}
	return strings.Join(segments, "/"), nil
}

// textOf returns a scalar as text: the content of a string, else the JSON itself.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if len(raw) == 0 || string(raw) == "null" || raw[0] == '{' || raw[0] == '[' {
		return ""
	}
	return string(raw)
}

// textsOf returns the values of a query parameter.
func textsOf(raw json.RawMessage) []string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		if string(raw) == "null" {
			return nil
		}
		return []string{textOf(raw)}
	}
	out := []string{}
	for _, one := range list {
		out = append(out, textOf(one))
	}
	return out
}

// send has the handler answer a request in the name of a token.
func (r *Registry) send(request *nethttp.Request, secret svc.Secret) svc.ToolOutcome {
	handler := r.handler.Load()
	if handler == nil {
		return svc.ToolOutcome{Status: nethttp.StatusServiceUnavailable}
	}
	request.Header.Set("Authorization", "Bearer "+secret.Reveal())
	request.Header.Set("Accept", "application/json")
	request.RequestURI = request.URL.RequestURI()
	answer := &answer{header: nethttp.Header{}}
	(*handler).ServeHTTP(answer, request)
	return svc.ToolOutcome{Status: answer.status, Body: answer.body.Bytes(), RequestID: answer.header.Get("X-Request-Id")}
}

// answer keeps what the handler answers.
type answer struct {
	header nethttp.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() nethttp.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(nethttp.StatusOK)
	if room := maxAnswer - a.body.Len(); room > 0 {
		a.body.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
