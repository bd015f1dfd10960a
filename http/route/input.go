package route

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc/domain"
)

// MaxBodyBytes bounds the bodies of gated rows.
const MaxBodyBytes = 1 << 20

// Param is the type of a query parameter that parses its own values; it gets no values if the request has none. It may
// use the results of the gates. A parameter may occur more than once if its type is a slice of strings, or Repeated.
type Param interface {
	Parse(call *Call, words []string) []domain.FieldError
}

// Repeated marks a parameter that may occur more than once. It gets its empty values too; an empty value of another
// parameter counts as absent.
type Repeated interface{ Repeats() }

// Checked is an input with rules that span several fields. Problems are dropped if they concern fields with a reported
// problem, or parts of such fields. An input is not checked if its body could not be read.
type Checked interface {
	Check(call *Call) []domain.FieldError
}

// inputField binds one field of an input struct to the request.
type inputField struct {
	index    []int
	name     string
	source   string // path, query or body
	kind     reflect.Type
	required bool
	optional bool
	doc      string
	// undocumented is true if the field has no tag doc. The tag may be empty if the name explains the parameter.
	undocumented bool
	preset       string
}

// repeats reports whether a query parameter may occur more than once.
func (f *inputField) repeats() bool {
	if f.kind.Kind() == reflect.Slice {
		return true
	}
	return reflect.PointerTo(f.kind).Implements(reflect.TypeFor[Repeated]())
}

// inputPlan lists the fields of an input type that a request fills.
type inputPlan struct {
	fields []inputField
	body   *inputField
}

// planInput lists the bound fields of an input type; embedded structs group.
func planInput(input reflect.Type) *inputPlan {
	plan := &inputPlan{}
	for _, field := range reflect.VisibleFields(input) {
		bound := inputField{index: field.Index, kind: field.Type, doc: field.Tag.Get("doc"), preset: field.Tag.Get("default")}
		_, documented := field.Tag.Lookup("doc")
		bound.undocumented = !documented
		bound.required = field.Tag.Get("required") == "true"
		bound.optional = field.Tag.Get("optional") == "true"
		for _, source := range []string{"path", "query", "body"} {
			if name, ok := field.Tag.Lookup(source); ok {
				bound.source, bound.name = source, name
			}
		}
		switch bound.source {
		case "":
		case "body":
			plan.body = &bound
		default:
			plan.fields = append(plan.fields, bound)
		}
	}
	return plan
}

// checkInput returns the first contradiction between a row and its input type.
func checkInput(route *Route) error {
	plan := planInput(route.Handler.Input)
	for _, field := range plan.fields {
		if field.source == "path" && (!route.HasParam(field.name) || field.kind.Kind() != reflect.String) {
			return fmt.Errorf("input field %q is no text parameter of path %s", field.name, route.Path)
		}
		if field.undocumented {
			return fmt.Errorf("the parameter %q has no tag doc", field.name)
		}
		if field.source == "query" && !readable(field.kind) {
			return fmt.Errorf("query parameter %q has a type that cannot be read: %s", field.name, field.kind)
		}
	}
	if plan.body != nil && route.Method == http.MethodGet {
		return errors.New("a GET has no body")
	}
	if plan.body != nil && plan.body.kind.Kind() != reflect.Struct {
		return errors.New("the body must be a struct")
	}
	return nil
}

func readable(kind reflect.Type) bool {
	if reflect.PointerTo(kind).Implements(reflect.TypeFor[Param]()) {
		return true
	}
	return kind.Kind() == reflect.String || kind.Kind() == reflect.Bool || kind == reflect.TypeFor[[]string]()
}

// fill reads a request into an input and returns the raw body. One error contains all problems of the request.
func (p *inputPlan) fill(call *Call, r *http.Request, in reflect.Value) ([]byte, error) {
	if !call.streams && !accepts(r.Header, "application/json") {
		return nil, call.notAcceptable()
	}
	query, problems := parseQuery(r.URL.RawQuery)
	for i := range p.fields {
		field := &p.fields[i]
		if field.source == "path" {
			in.FieldByIndex(field.index).SetString(call.Param(field.name))
			continue
		}
		problems = append(problems, field.read(call, field.words(query), in.FieldByIndex(field.index))...)
	}
	problems = append(problems, p.unknown(call, query)...)
	call.list = listScope(call, p.fields, query)
	var body []byte
	unread := false
	if p.body != nil {
		var err error
		if body, err = readBody(r); err != nil {
			return nil, err
		}
		found := bodyReader{}.read(body, in.FieldByIndex(p.body.index), p.body.optional)
		unread = slices.ContainsFunc(found, func(problem domain.FieldError) bool { return problem.Field == "" })
		problems = append(problems, found...)
	}
	if checked, ok := in.Addr().Interface().(Checked); ok && !unread {
		for _, problem := range checked.Check(call) {
			if !slices.ContainsFunc(problems, func(known domain.FieldError) bool { return covers(known.Field, problem.Field) }) {
				problems = append(problems, problem)
			}
		}
	}
	if len(problems) > 0 {
		return nil, domain.Invalid(problems...)
	}
	return body, nil
}

// environmentParameter is accepted on every route of an application, so that clients can send it with every request. A
// route that does not use it only checks that the environment exists.
const environmentParameter = "env"

// unknown returns a problem for each of the first parameters of a query that the route does not read.
func (p *inputPlan) unknown(call *Call, query url.Values) (problems []domain.FieldError) {
	var known []string
	for i := range p.fields {
		if p.fields[i].source == "query" {
			known = append(known, p.fields[i].name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if len(problems) == maxUnknown {
			break
		}
		if slices.ContainsFunc(p.fields, func(f inputField) bool { return f.reads(name) }) {
			continue
		}
		if name == environmentParameter && call.Route.HasParam("app") {
			problems = append(problems, unknownEnvironment(&call.App, query.Get(name))...)
			continue
		}
		problems = append(problems, domain.FieldError{
			Field: name, Code: "unknown_parameter", Message: fmt.Sprintf("There is no parameter %s%s", name, question(name, known)), Allowed: known,
		})
	}
	return problems
}

// unknownEnvironment returns a problem if an application has no environment with a slug.
func unknownEnvironment(app *domain.Application, slug string) []domain.FieldError {
	if _, known := app.Environment(slug); known {
		return nil
	}
	slugs := make([]string, len(app.Environments))
	for i, env := range app.Environments {
		slugs[i] = env.Slug
	}
	return []domain.FieldError{{Field: environmentParameter, Code: "unknown_value", Message: fmt.Sprintf("Unknown environment %q.", slug), Allowed: slugs}}
}

// reads reports whether the field reads a query parameter with a name.
func (f *inputField) reads(name string) bool {
	if f.source != "query" {
		return false
	}
	prefix, _, open := strings.Cut(f.name, "<")
	return name == f.name || open && strings.HasPrefix(name, prefix)
}

// covers reports whether a problem of one field explains a problem of another: the fields are the same, or the other
// field is part of the first.
func covers(field, other string) bool {
	return field == other || field != "" && (strings.HasPrefix(other, field+".") || strings.HasPrefix(other, field+"["))
}

// words returns the values of a query parameter. A field such as label.<key> matches every parameter with a name that
// begins with label.; its values are then key=value, sorted by name.
func (f *inputField) words(query url.Values) []string {
	prefix, _, open := strings.Cut(f.name, "<")
	if !open {
		return query[f.name]
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if key, ours := strings.CutPrefix(name, prefix); ours {
			for _, value := range query[name] {
				words = append(words, key+"="+value)
			}
		}
	}
	return words
}

// read sets a query parameter from its values.
func (f *inputField) read(call *Call, words []string, into reflect.Value) []domain.FieldError {
	if _, repeats := into.Addr().Interface().(Repeated); !repeats {
		words = slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == "" })
	}
	if len(words) > 1 && !f.repeats() {
		return []domain.FieldError{{Field: f.name, Code: "duplicate_parameter", Message: fmt.Sprintf("The parameter %s may occur once.", f.name)}}
	}
	if param, ok := into.Addr().Interface().(Param); ok {
		return param.Parse(call, words)
	}
	if len(words) == 0 {
		if f.required {
			return []domain.FieldError{{Field: f.name, Code: "required", Message: fmt.Sprintf("The parameter %s is required.", f.name)}}
		}
		return nil
	}
	switch into.Kind() {
	case reflect.Bool:
		value, err := strconv.ParseBool(words[0])
		if err != nil {
			return []domain.FieldError{{Field: f.name, Code: "invalid_value", Message: fmt.Sprintf("The parameter %s must be true or false.", f.name), Allowed: []string{"true", "false"}}}
		}
		into.SetBool(value)
	case reflect.String:
		into.SetString(words[0])
	default:
		into.Set(reflect.ValueOf(words))
	}
	return nil
}

// parseQuery parses a query string. A part that is malformed, is not UTF-8 or contains a NUL is a problem.
func parseQuery(raw string) (url.Values, []domain.FieldError) {
	query, err := url.ParseQuery(raw)
	problems := []domain.FieldError{}
	if err != nil {
		problems = append(problems, domain.FieldError{Field: "", Code: "invalid_query", Message: "The query string does not parse."})
	}
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if slices.ContainsFunc(append(query[name], name), unclean) {
			problems = append(problems, domain.FieldError{Field: strings.ToValidUTF8(name, "?"), Code: "invalid_text", Message: "The parameter is not UTF-8 text, or holds a NUL."})
			delete(query, name)
		}
	}
	return query, problems
}

func unclean(s string) bool { return !utf8.ValidString(s) || strings.ContainsRune(s, 0) }

// listScope names the list that a request reads: the operation, the path, and every parameter that shapes the list.
// Cursors are bound to it.
func listScope(call *Call, fields []inputField, query url.Values) string {
	var scope strings.Builder
	scope.WriteString(call.Route.Operation)
	for _, value := range call.path {
		scope.WriteString("\x00" + value.name + "=" + value.value)
	}
	for i := range fields {
		if name := fields[i].name; fields[i].source == "query" && name != "cursor" && name != "limit" {
			for _, word := range fields[i].words(query) {
				scope.WriteString("\x00" + name + "=" + word)
			}
		}
	}
	return scope.String()
}

// readBody reads a JSON body. It fails with unsupported_media_type if the request declares another type, and with
// payload_too_large over the limit.
func readBody(r *http.Request) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, domain.Errorf(domain.CodeUnsupportedMedia, "The content encoding %q is not accepted here; send the body plain.", encoding)
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, MaxBodyBytes))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return nil, domain.Errorf(domain.CodeTooLarge, "The body is over the limit of %d bytes.", MaxBodyBytes)
	}
	if err != nil {
		return nil, domain.Invalid(domain.FieldError{Code: "incomplete_body", Message: "The body ended early."})
	}
	if header := r.Header.Get("Content-Type"); header != "" && len(body) > 0 {
		media, parameters, err := mime.ParseMediaType(header)
		isJSON := media == "application/json" || strings.HasSuffix(media, "+json")
		charset := strings.ToLower(parameters["charset"])
		if err != nil || !isJSON || charset != "" && charset != "utf-8" {
			return nil, domain.Errorf(domain.CodeUnsupportedMedia, "The content type %q is not accepted; send application/json.", header)
		}
	}
	return body, nil
}

// accepts reports whether the Accept headers allow an answer of a media type.
func accepts(header http.Header, media string) bool {
	ranges := strings.Join(header.Values("Accept"), ",")
	if strings.TrimSpace(ranges) == "" {
		return true
	}
	main, _, _ := strings.Cut(media, "/")
	best, allowed := -1, false
	for _, part := range strings.Split(ranges, ",") {
		name, parameters, err := mime.ParseMediaType(part)
		rank := slices.Index([]string{"*/*", main + "/*", media}, name)
		if err != nil || rank < best || rank < 0 {
			continue
		}
		quality, err := strconv.ParseFloat(parameters["q"], 64)
		best, allowed = rank, err != nil || quality > 0
	}
	return allowed
}
