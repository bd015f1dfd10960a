package http

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"svc"
)

// Nullable is a field of a body that tells absent (Set is false), null (Value
// is nil) and a value apart.
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

// isNullable is every Nullable.
type isNullable interface{ nullable() reflect.Type }

// decodeBody reads a JSON object into a struct and returns every problem:
// members that are unknown are ignored, a member of another type or a missing
// required one is a problem. An optional body may be empty.
func decodeBody(body []byte, into reflect.Value, optional bool) []svc.FieldError {
	if len(bytes.TrimSpace(body)) == 0 {
		if optional {
			return nil
		}
		return []svc.FieldError{{Code: "empty_body", Message: "The body is empty; send a JSON object."}}
	}
	if problem := scanJSON(body); problem != nil {
		return []svc.FieldError{*problem}
	}
	return decodeObject(body, into, "")
}

// scanJSON checks that a body is exactly one JSON value of clean text.
func scanJSON(body []byte) *svc.FieldError {
	if !utf8.Valid(body) {
		return &svc.FieldError{Code: "invalid_text", Message: "The body is not UTF-8 text."}
	}
	if !json.Valid(body) {
		return &svc.FieldError{Code: "invalid_json", Message: "The body is not one JSON value."}
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &svc.FieldError{Code: "invalid_json", Message: "The body is not one JSON value."}
		}
		if text, ok := token.(string); ok && strings.ContainsRune(text, 0) {
			return &svc.FieldError{Code: "invalid_text", Message: "The body holds a NUL."}
		}
	}
}

// decodeObject reads the members of an object into the fields of their names.
func decodeObject(raw []byte, into reflect.Value, prefix string) []svc.FieldError {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return []svc.FieldError{{Field: prefix, Code: "invalid_type", Message: typeMessage(prefix, into.Type())}}
	}
	var problems []svc.FieldError
	for _, field := range reflect.VisibleFields(into.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		path := name
		if prefix != "" {
			path = prefix + "." + name
		}
		value, present := members[name]
		switch {
		case present:
			problems = append(problems, decodeValue(value, into.FieldByIndex(field.Index), path)...)
		case field.Tag.Get("required") == "true":
			problems = append(problems, svc.FieldError{Field: path, Code: "required", Message: fmt.Sprintf("The field %s is required.", path)})
		}
	}
	return problems
}

// decodeValue reads one member.
func decodeValue(raw json.RawMessage, into reflect.Value, path string) []svc.FieldError {
	kind := into.Type()
	if kind.Kind() == reflect.Pointer {
		into.Set(reflect.New(kind.Elem()))
		return decodeValue(raw, into.Elem(), path)
	}
	_, own := into.Addr().Interface().(json.Unmarshaler)
	_, null := into.Interface().(isNullable)
	isNull := bytes.Equal(raw, []byte("null"))
	switch {
	case isNull && !null && kind.Kind() != reflect.Interface:
		return []svc.FieldError{{Field: path, Code: "invalid_type", Message: typeMessage(path, kind)}}
	case kind.Kind() == reflect.Struct && !own:
		return decodeObject(raw, into, path)
	case kind.Kind() == reflect.Slice && !own:
		return decodeList(raw, into, path)
	case kind.Kind() == reflect.Map && !own:
		return decodeMap(raw, into, path)
	}
	if json.Unmarshal(raw, into.Addr().Interface()) != nil {
		return []svc.FieldError{{Field: path, Code: "invalid_type", Message: typeMessage(path, kind)}}
	}
	return nil
}

// decodeList reads the elements of a list.
func decodeList(raw json.RawMessage, into reflect.Value, path string) []svc.FieldError {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		return []svc.FieldError{{Field: path, Code: "invalid_type", Message: typeMessage(path, into.Type())}}
	}
	list := reflect.MakeSlice(into.Type(), len(elements), len(elements))
	var problems []svc.FieldError
	for i, element := range elements {
		problems = append(problems, decodeValue(element, list.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
	}
	into.Set(list)
	return slices.Clip(problems)
}

// decodeMap reads the members of an object of which any name will do.
func decodeMap(raw json.RawMessage, into reflect.Value, path string) []svc.FieldError {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return []svc.FieldError{{Field: path, Code: "invalid_type", Message: typeMessage(path, into.Type())}}
	}
	read := reflect.MakeMapWithSize(into.Type(), len(members))
	var problems []svc.FieldError
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := reflect.New(into.Type().Elem()).Elem()
		problems = append(problems, decodeValue(members[name], value, path+"."+name)...)
		read.SetMapIndex(reflect.ValueOf(name), value)
	}
	into.Set(read)
	return problems
}

// typeMessage says what a field must be.
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
