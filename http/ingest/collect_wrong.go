package ingest

import (
	stdjson "encoding/json"
	"errors"
	"reflect"
	"strings"
)

// wrongType says in a sentence why a body or an item could not be decoded: which field must
// have which type, without the names that Go gives to them.
func wrongType(what string, err error) string {
	typed, ok := errors.AsType[*stdjson.UnmarshalTypeError](err)
	if !ok {
		return what + " is not the JSON that is expected here: " + shortError(err)
	}
	if typed.Field != "" {
		what = "The field " + typed.Field
	}
	return what + " must be " + jsonWord(typed.Type) + "."
}

// jsonWord names what JSON has for a type.
func jsonWord(kind reflect.Type) string {
	switch kind.Kind() {
	case reflect.Pointer:
		return jsonWord(kind.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a finite number"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "a whole number, not below 0"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

// shortError returns the first part of a decoder's sentence; it may quote the
// client's own bytes only.
func shortError(err error) string {
	text := strings.ToValidUTF8(err.Error(), "")
	return text[:min(len(text), 200)]
}
