package route

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"svc/domain"
)

// OpenAPI describes the rows of a table as an OpenAPI 3.1 document: every parameter, body, answer and problem. Raw rows
// are included if they declare their input and answer.
func OpenAPI(routes []Route, publicURL, revision string) (map[string]any, error) {
	types := newSchemas()
	if _, err := types.of(reflect.TypeFor[Problem](), false); err != nil {
		return nil, err
	}
	for i := range routes { // answers before requests, see schemas.request
		if output := routes[i].Handler.Output; output != nil && output != reflect.TypeFor[Empty]() {
			if _, err := types.of(output, false); err != nil {
				return nil, fmt.Errorf("describing %s: %w", routes[i].Operation, err)
			}
		}
	}
	paths := map[string]map[string]any{}
	for i := range routes {
		route := &routes[i]
		if route.Handler.Input == nil {
			continue
		}
		operation, err := describe(route, types)
		if err != nil {
			return nil, fmt.Errorf("describing %s: %w", route.Operation, err)
		}
		// OpenAPI has no syntax for a parameter that takes the rest of a path.
		path := strings.Replace(route.Pattern(), "...}", "}", 1)
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		paths[path][strings.ToLower(route.Method)] = operation
	}
	if publicURL == "" {
		publicURL = "/"
	}
	return map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": "Analytics, monitoring and assistant service", "version": "1", "description": "Management API, revision " + revision + ". Fields and enum values of answers may be added; clients ignore what they do not know."},
		"servers": []any{map[string]any{"url": publicURL}},
		"paths":   paths,
		"components": map[string]any{
			"schemas": types.components,
			"securitySchemes": map[string]any{
				"accessToken":    map[string]any{"type": "http", "scheme": "bearer", "description": "A personal, organization or assistant token."},
				"ingestKey":      map[string]any{"type": "http", "scheme": "bearer", "description": "A public or secret ingest key. It may also stand in X-SVC-Key, in the query as key, or in the body as writeKey."},
				"consoleSession": map[string]any{"type": "http", "scheme": "bearer", "description": "A console session. Pages of the console send it as a cookie, to management routes as well."},
			},
		},
	}, nil
}

// describe returns the operation object of a row.
func describe(route *Route, types *schemas) (map[string]any, error) {
	plan := planInput(route.Handler.Input)
	parameters, err := describeParameters(route, plan, types)
	if err != nil {
		return nil, err
	}
	responses, err := describeResponses(route, plan, types)
	if err != nil {
		return nil, err
	}
	noun, _, _ := strings.Cut(route.Operation, ".")
	scheme := map[Surface]string{Manage: "accessToken", Console: "consoleSession", Collect: "ingestKey"}[route.Surface]
	operation := map[string]any{
		"operationId": route.Operation, "summary": route.Summary, "tags": []string{noun},
		"parameters": append(parameters, describeHeaders(route)...), "responses": responses,
		"security": []any{map[string]any{scheme: []string{}}}, "x-effect": route.Effect,
	}
	if route.Open {
		operation["security"], operation["x-scope"] = []any{}, "none"
	}
	for name, word := range map[string]string{
		"x-scope": string(route.Scope), "x-rate-class": string(route.Rate),
		"x-permission": string(route.Permission), "x-module": string(route.Module), "x-role": string(route.Role),
	} {
		if word != "" {
			operation[name] = word
		}
	}
	if plan.body != nil {
		body, err := types.of(plan.body.kind, true)
		if err != nil {
			return nil, err
		}
		operation["requestBody"] = map[string]any{"required": !plan.body.optional, "content": content("application/json", body)}
	}
	return operation, nil
}

func content(media string, schema Schema) map[string]any {
	return map[string]any{media: map[string]any{"schema": schema}}
}

// describeParameters lists the query parameters and the parameters of the path, including path parameters that only the
// gates read.
func describeParameters(route *Route, plan *inputPlan, types *schemas) ([]any, error) {
	parameters := []any{}
	for _, segment := range strings.Split(route.Path, "/") {
		if strings.HasPrefix(segment, "{") {
			parameters = append(parameters, map[string]any{"name": strings.Trim(segment, "{}."), "in": "path", "required": true, "schema": Schema{"type": "string"}})
		}
	}
	for _, field := range plan.fields {
		if field.source == "path" {
			continue
		}
		schema, err := types.of(field.kind, true)
		if err != nil {
			return nil, err
		}
		parameter := map[string]any{"name": field.name, "in": "query", "schema": withDefault(schema, field.preset), "required": field.required}
		if field.doc != "" {
			parameter["description"] = field.doc
		}
		parameters = append(parameters, parameter)
	}
	return parameters, nil
}

// describeHeaders lists the request headers that a row reads.
func describeHeaders(route *Route) []any {
	header := func(name, description string) any {
		return map[string]any{"name": name, "in": "header", "required": false, "schema": Schema{"type": "string"}, "description": description}
	}
	headers := []any{}
	if route.gated() && !route.Open && route.Method == http.MethodPost {
		headers = append(headers, header("Idempotency-Key", "Repeating the request under the same key within 24 hours answers the same again."))
	}
	if slices.Contains(route.Codes, domain.CodePrecondition) {
		headers = append(headers, header("If-Match", "The entity tag that must still be the present one."))
	}
	return headers
}

// describeResponses lists the good answer and every problem.
func describeResponses(route *Route, plan *inputPlan, types *schemas) (map[string]any, error) {
	good := map[string]any{"description": http.StatusText(route.status())}
	if route.Handler.lines != nil {
		good["content"] = map[string]any{linesType: map[string]any{"schema": Schema{"type": "string", "description": route.Events}}}
	}
	if route.Handler.streamOnly {
		good["content"] = map[string]any{streamType: map[string]any{"schema": Schema{"type": "string", "description": route.Events}}}
	}
	if route.Handler.Output != reflect.TypeFor[Empty]() {
		schema, err := types.of(route.Handler.Output, false)
		if err != nil {
			return nil, err
		}
		answers := content("application/json", schema)
		if route.Handler.stream != nil {
			answers[streamType] = map[string]any{"schema": Schema{
				"type": "string", "description": cmp.Or(route.Events, "The same object as the data of an event, at once and whenever it changed, at most once a second."),
			}}
		}
		good["content"] = answers
	}
	responses := map[string]any{strconv.Itoa(route.status()): good}
	if route.Also != 0 {
		other := maps.Clone(good)
		other["description"] = http.StatusText(route.Also)
		responses[strconv.Itoa(route.Also)] = other
	}
	byStatus := map[int][]string{}
	for _, code := range routeCodes(route, plan) {
		status := domain.InfoOf(code).Status
		byStatus[status] = append(byStatus[status], string(code))
	}
	for status, codes := range byStatus {
		responses[strconv.Itoa(status)] = map[string]any{
			"description": http.StatusText(status) + ": " + strings.Join(codes, ", "),
			"content":     content("application/problem+json", Schema{"$ref": "#/components/schemas/Problem"}),
		}
	}
	return responses, nil
}

// routeCodes lists the codes that a row may answer: the codes of its gates and its input, and its own.
func routeCodes(route *Route, plan *inputPlan) []domain.Code {
	if !route.gated() {
		return route.Codes
	}
	codes := []domain.Code{
		domain.CodeInvalidRequest, domain.CodeUnauthorized, domain.CodeForbidden, domain.CodeNotAcceptable,
		domain.CodeRateLimited, domain.CodeInternal, domain.CodeUnavailable,
	}
	if strings.Contains(route.Path, "{") {
		codes = append(codes, domain.CodeNotFound)
	}
	if route.Module != "" {
		codes = append(codes, domain.CodeModuleDisabled)
	}
	if plan.body != nil {
		codes = append(codes, domain.CodeTooLarge, domain.CodeUnsupportedMedia)
	}
	if route.Method == http.MethodPost {
		codes = append(codes, domain.CodeConflict)
	}
	if slices.ContainsFunc(plan.fields, func(f inputField) bool { return f.name == "cursor" }) {
		codes = append(codes, domain.CodeInvalidCursor)
	}
	if route.Rate == domain.RateQuery {
		codes = append(codes, domain.CodeQueryTimeout)
	}
	for _, code := range route.Codes {
		if !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return codes
}

// document is the encoded OpenAPI document with its ETag.
type document struct {
	body []byte
	tag  string
}

func (h *Handler) makeDocument() (document, error) {
	described, err := OpenAPI(h.config.Routes, h.config.PublicURL, h.config.Revision)
	if err != nil {
		return document{}, fmt.Errorf("describing the table: %w", err)
	}
	body, err := encodeJSON(described)
	if err != nil {
		return document{}, err
	}
	sum := sha256.Sum256(body)
	return document{body: body, tag: `"` + hex.EncodeToString(sum[:8]) + `"`}, nil
}

// serveOpenAPI returns the handler of the document. The first request makes the document, so startup does not wait for
// it.
func (h *Handler) serveOpenAPI() serveRoute {
	made := sync.OnceValues(h.makeDocument)
	return func(w *Response, r *http.Request, _ []pathValue) {
		document, err := made()
		if err != nil {
			h.logError(r.Context(), err, "openapi.json", w.id)
			writeAnswer(w, h.problemAnswer(err, w.id, nil))
			return
		}
		header := map[string]string{"Content-Type": "application/json", "Etag": document.tag, "X-Api-Revision": h.config.Revision}
		answer := Answer{Status: http.StatusOK, Header: header, Body: document.body}
		if matchesTag(r.Header.Get("If-None-Match"), document.tag, true) {
			answer = Answer{Status: http.StatusNotModified, Header: header}
		}
		writeAnswer(w, answer)
	}
}
