package route

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain"
)

// Nullable is a field of a body that may be absent (Set is false), null (Value is nil) or a value.
type Nullable[T any] struct {
	Set   bool
	Value *T
}

// UnmarshalJSON reads null or a value.
func (n *Nullable[T]) UnmarshalJSON(data []byte) error {
	n.Set = true
	return json.Unmarshal(data, &n.Value)
}

// MarshalJSON writes null or the value.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.Value) }

// nullable marks the type for the body reader and the schemas.
func (n Nullable[T]) nullable() reflect.Type { return reflect.TypeFor[T]() }

// isNullable is implemented by every Nullable.
type isNullable interface{ nullable() reflect.Type }

// bodyReader reads JSON objects into structs and returns every problem: a member of another type, a missing required
// member, and a member that is unknown or occurs twice, at any depth.
type bodyReader struct{}

// read reads a body. An optional one may be empty.
func (b bodyReader) read(body []byte, into reflect.Value, optional bool) []domain.FieldError {
	if len(bytes.TrimSpace(body)) == 0 {
		if optional {
			return nil
		}
		return []domain.FieldError{{Code: "empty_body", Message: "The body is empty; send a JSON object."}}
	}
	if problem := scanJSON(body); problem != nil {
		return []domain.FieldError{*problem}
	}
	return b.object(body, into, "")
}

// scanJSON checks that a body is exactly one JSON value of clean text.
func scanJSON(body []byte) *domain.FieldError {
	if !utf8.Valid(body) {
		return &domain.FieldError{Code: "invalid_text", Message: "The body is not UTF-8 text."}
	}
	if domain.TooDeep(body) {
		return &domain.FieldError{Code: "too_deep", Message: fmt.Sprintf("The body is nested deeper than %d levels.", domain.MaxNesting)}
	}
	if !json.Valid(body) {
		return &domain.FieldError{Code: "invalid_json", Message: "The body is not one JSON value."}
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &domain.FieldError{Code: "invalid_json", Message: "The body is not one JSON value."}
		}
		if text, ok := token.(string); ok && strings.ContainsRune(text, 0) {
			return &domain.FieldError{Code: "invalid_text", Message: "The body holds a NUL."}
		}
	}
}

// object reads the members of an object into the fields with the same names.
func (b bodyReader) object(raw []byte, into reflect.Value, prefix string) []domain.FieldError {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return []domain.FieldError{{Field: prefix, Code: "invalid_type", Message: typeMessage(prefix, into.Type())}}
	}
	var problems []domain.FieldError
	var known []string
	for _, field := range reflect.VisibleFields(into.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		known = append(known, name)
		path := within(prefix, name)
		value, present := members[name]
		switch {
		case present:
			problems = append(problems, b.value(value, into.FieldByIndex(field.Index), path)...)
		case field.Tag.Get("required") == "true":
			problems = append(problems, domain.FieldError{Field: path, Code: "required", Message: fmt.Sprintf("The field %s is required.", path)})
		}
	}
	return append(problems, unknownMembers(raw, known, prefix)...)
}

// within returns the path of a member of an object.
func within(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// maxUnknown bounds the problems about unknown members that one answer lists.
const maxUnknown = 10

// unknownMembers returns a problem for each of the first members of an object that are unknown or
// occur twice.
func unknownMembers(raw []byte, known []string, prefix string) (problems []domain.FieldError) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	_, _ = decoder.Token() // the brace of an object that has been read already
	seen := map[string]bool{}
	for decoder.More() && len(problems) < maxUnknown {
		token, err := decoder.Token()
		name, _ := token.(string)
		var skipped json.RawMessage
		if err != nil || decoder.Decode(&skipped) != nil {
			return problems
		}
		path := within(prefix, name)
		switch {
		case !slices.Contains(known, name):
			problems = append(problems, domain.FieldError{Field: path, Code: "unknown_member", Message: fmt.Sprintf("There is no field %s%s", path, question(name, known)), Allowed: slices.Clone(known)})
		case seen[name]:
			problems = append(problems, domain.FieldError{Field: path, Code: "duplicate_member", Message: fmt.Sprintf("The field %s may occur once.", path)})
		}
		seen[name] = true
	}
	return problems
}

// question ends the sentence about an unknown name with the known name that is nearest, if one is near.
func question(name string, known []string) string {
	return cmp.Or(domain.DidYouMean(name, "", known), ".")
}

// value reads one member.
func (b bodyReader) value(raw json.RawMessage, into reflect.Value, path string) []domain.FieldError {
	kind := into.Type()
	if kind.Kind() == reflect.Pointer {
		into.Set(reflect.New(kind.Elem()))
		return b.value(raw, into.Elem(), path)
	}
	_, own := into.Addr().Interface().(json.Unmarshaler)
	_, null := into.Interface().(isNullable)
	_, takesNull := into.Interface().(TakesNull)
	isNull := bytes.Equal(raw, []byte("null"))
	switch {
	case isNull && !null && !takesNull && kind.Kind() != reflect.Interface:
		return []domain.FieldError{{Field: path, Code: "invalid_type", Message: typeMessage(path, kind)}}
	case kind.Kind() == reflect.Struct && !own:
		return b.object(raw, into, path)
	case kind.Kind() == reflect.Slice && !own:
		return b.list(raw, into, path)
	case kind.Kind() == reflect.Map && !own:
		return b.mapping(raw, into, path)
	}
	if json.Unmarshal(raw, into.Addr().Interface()) != nil {
		return []domain.FieldError{{Field: path, Code: "invalid_type", Message: typeMessage(path, kind)}}
	}
	return nil
}

// TakesNull marks a type of a body for which null is an ordinary value.
type TakesNull interface{ TakesNull() }

// list reads the elements of a list.
func (b bodyReader) list(raw json.RawMessage, into reflect.Value, path string) []domain.FieldError {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		return []domain.FieldError{{Field: path, Code: "invalid_type", Message: typeMessage(path, into.Type())}}
	}
	list := reflect.MakeSlice(into.Type(), len(elements), len(elements))
	var problems []domain.FieldError
	for i, element := range elements {
		problems = append(problems, b.value(element, list.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
	}
	into.Set(list)
	return slices.Clip(problems)
}

// mapping reads an object that may have members of any name.
func (b bodyReader) mapping(raw json.RawMessage, into reflect.Value, path string) []domain.FieldError {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return []domain.FieldError{{Field: path, Code: "invalid_type", Message: typeMessage(path, into.Type())}}
	}
	read := reflect.MakeMapWithSize(into.Type(), len(members))
	var problems []domain.FieldError
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := reflect.New(into.Type().Elem()).Elem()
		problems = append(problems, b.value(members[name], value, path+"."+name)...)
		read.SetMapIndex(reflect.ValueOf(name), value)
	}
	into.Set(read)
	return problems
}

// typeMessage returns the sentence that names the type which a field must have.
func typeMessage(path string, kind reflect.Type) string {
	if path == "" {
		return "The body must be " + typeWords(kind) + "."
	}
	return fmt.Sprintf("The field %s must be %s.", path, typeWords(kind))
}

func typeWords(kind reflect.Type) string {
	if kind == reflect.TypeFor[Time]() {
		return "an ISO 8601 timestamp"
	}
	if null, ok := reflect.Zero(kind).Interface().(isNullable); ok {
		return typeWords(null.nullable()) + " or null"
	}
	switch kind.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}
