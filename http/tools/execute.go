package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"svc/domain"
	"svc/domain/conversation"
)

// maxAnswer bounds the bytes of an answer that are retained. A model reads far fewer.
const maxAnswer = 1 << 20

// Execute calls a tool about an application with a token: the request passes the gates of the handler like any other.
// It fails with not_found for an unknown tool, and with invalid_request for an input that makes no valid request. Every
// answer of the route is an outcome.
func (r *Registry) Execute(ctx context.Context, secret domain.Secret, ref domain.AppRef, name string, input json.RawMessage) (conversation.ToolOutcome, error) {
	called := r.byName[name]
	if called == nil {
		return conversation.ToolOutcome{}, domain.NotFound("tool")
	}
	request, err := called.request(ctx, ref, input)
	if err != nil {
		return conversation.ToolOutcome{}, err
	}
	return r.send(request, secret), nil
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// request makes the request of a call.
func (e *entry) request(ctx context.Context, ref domain.AppRef, input json.RawMessage) (*http.Request, error) {
	members := map[string]json.RawMessage{}
	if err := domain.DecodeJSON(orEmpty(input), &members); err != nil || members == nil {
		return nil, domain.Invalid(domain.FieldError{Code: "invalid_type", Message: "The input must be an object."})
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
	request, err := http.NewRequestWithContext(ctx, e.method, path, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	if e.body {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// sort divides the members of an input into parameters and members of the body.
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
			err = domain.Invalid(domain.FieldError{Field: name, Code: "unknown_value", Message: fmt.Sprintf("The tool takes no %q.", name)})
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return query, body, nil
}

// opened reports whether a name belongs to an open parameter in the form of the route's query: label.plan for label.
func (e *entry) opened(name string) bool {
	for _, prefix := range e.open {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// addPairs adds the values that an open parameter lists as key=value.
func addPairs(query url.Values, name, prefix string, pairs []string) error {
	for _, pair := range pairs {
		key, value, whole := strings.Cut(pair, "=")
		if !whole {
			return domain.Invalid(domain.FieldError{Field: name, Code: "invalid_value", Message: fmt.Sprintf("%q is not key=value.", pair)})
		}
		query.Add(prefix+key, value)
	}
	return nil
}

// docsPath begins the only path with a parameter that takes the rest of the path.
const docsPath = "/api/v1/docs/"

// fillPath inserts the address and the input into a path.
func fillPath(pattern string, ref domain.AppRef, members map[string]json.RawMessage) (string, error) {
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
			return "", domain.Invalid(domain.FieldError{Field: name, Code: "missing_value", Message: fmt.Sprintf("The tool needs %q.", name)})
		}
		// A parameter must stay within its segment, or it could name another route.
		parts := []string{value}
		if strings.HasPrefix(pattern, docsPath) {
			parts = strings.Split(value, "/")
		}
		for j, part := range parts {
			if part == "" || part == "." || part == ".." || strings.Contains(part, "/") {
				return "", domain.Invalid(domain.FieldError{Field: name, Code: "invalid_value", Message: fmt.Sprintf("%q is no name of one thing.", name)})
			}
			parts[j] = url.PathEscape(part)
		}
		segments[i] = strings.Join(parts, "/")
	}
	return strings.Join(segments, "/"), nil
}

// textOf returns a scalar as text: the content of a string, or else the JSON itself.
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

// send passes a request with a token to the handler.
func (r *Registry) send(request *http.Request, secret domain.Secret) conversation.ToolOutcome {
	request.Header.Set("Authorization", "Bearer "+secret.Reveal())
	request.Header.Set("Accept", "application/json")
	request.RequestURI = request.URL.RequestURI()
	answer := &answer{header: http.Header{}}
	r.handler.ServeHTTP(answer, request)
	return conversation.ToolOutcome{Status: answer.status, Body: answer.body.Bytes(), RequestID: answer.header.Get("X-Request-Id")}
}

// answer buffers the answer of the handler.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if room := maxAnswer - a.body.Len(); room > 0 {
		a.body.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
