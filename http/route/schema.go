package route

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"svc"
)

// Schema is a JSON Schema (2020-12) as OpenAPI 3.1 uses it.
type Schema map[string]any

// Described is a type that says its own schema.
type Described interface{ Schema() Schema }

// schemas turns Go types into schemas and collects the named ones.
type schemas struct {
	components map[string]Schema
	types      map[string]reflect.Type
}

func newSchemas() *schemas {
	return &schemas{components: map[string]Schema{}, types: map[string]reflect.Type{}}
}

// enums lists the values of the root's closed word lists.
func enums() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[svc.Module]():      list(svc.Modules()),
		reflect.TypeFor[svc.Role]():        list(svc.Roles()),
		reflect.TypeFor[svc.Scope]():       list(svc.Scopes()),
		reflect.TypeFor[svc.Permission]():  list(svc.Permissions()),
		reflect.TypeFor[svc.KeyKind]():     list(svc.KeyKinds()),
		reflect.TypeFor[svc.Metric]():      list(svc.Metrics()),
		reflect.TypeFor[svc.Level]():       list(svc.Levels()),
		reflect.TypeFor[svc.IssueStatus](): list(svc.IssueStatuses()),
		reflect.TypeFor[svc.Interval]():    list([]svc.Interval{svc.Hour, svc.Day, svc.Week, svc.Month}),
		reflect.TypeFor[svc.TokenKind]():   list([]svc.TokenKind{svc.TokenPersonal, svc.TokenOrganization, svc.TokenAssistant, svc.TokenConsole}),
		reflect.TypeFor[svc.Code]():        codeWords(),

		reflect.TypeFor[svc.Effect]():       list(svc.Effects()),
		reflect.TypeFor[svc.ActionStatus](): list(svc.ActionStatuses()),
		reflect.TypeFor[svc.AIProvider]():   list(svc.AIProviders()),
	}
}

func list[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = string(value)
	}
	return out
}

func codeWords() []string {
	var out []string
	for _, info := range svc.Codes() {
		out = append(out, string(info.Code))
	}
	return out
}

// of returns the schema of a type. In a request a pointer is an optional field;
// in an answer it is a value that may be null.
func (s *schemas) of(kind reflect.Type, request bool) (Schema, error) {
	if described, ok := reflect.New(kind).Interface().(Described); ok {
		return described.Schema(), nil
	}
	if null, ok := reflect.Zero(kind).Interface().(isNullable); ok {
		return s.orNull(null.nullable(), request)
	}
	switch kind {
	case reflect.TypeFor[Time](), reflect.TypeFor[time.Time]():
		return Schema{"type": "string", "format": "date-time"}, nil
	case reflect.TypeFor[json.RawMessage]():
		return Schema{"type": "object", "additionalProperties": true}, nil
	}
	switch kind.Kind() {
	case reflect.Pointer:
		if request {
			return s.of(kind.Elem(), request)
		}
		return s.orNull(kind.Elem(), request)
	case reflect.String:
		if words := enums()[kind]; words != nil {
			return Schema{"type": "string", "enum": words}, nil
		}
		return Schema{"type": "string"}, nil
	case reflect.Bool:
		return Schema{"type": "boolean"}, nil
	case reflect.Interface:
		return Schema{}, nil
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return Schema{"type": "integer"}, nil
	case reflect.Float64:
		return Schema{"type": "number"}, nil
	case reflect.Slice:
		items, err := s.of(kind.Elem(), request)
		return Schema{"type": "array", "items": items}, err
	case reflect.Map:
		values, err := s.of(kind.Elem(), request)
		return Schema{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		if kind.Name() == "" {
			return s.object(kind, request) // no name to refer to it by
		}
		return s.reference(kind, request)
	default:
		return nil, fmt.Errorf("type %s has no schema", kind)
	}
}

// orNull returns the schema of a type whose value may be null.
func (s *schemas) orNull(kind reflect.Type, request bool) (Schema, error) {
	schema, err := s.of(kind, request)
	if err != nil {
		return nil, err
	}
	if word, ok := schema["type"].(string); ok && schema["enum"] == nil {
		schema["type"] = []string{word, "null"}
		return schema, nil
	}
	return Schema{"anyOf": []Schema{schema, {"type": "null"}}}, nil
}

// reference returns a reference to the component of a struct, which it makes
// when it meets the struct for the first time.
func (s *schemas) reference(kind reflect.Type, request bool) (Schema, error) {
	name := componentName(kind)
	if known, seen := s.types[name]; seen && known != kind {
		return nil, fmt.Errorf("the component name %s means both %s and %s", name, known, kind)
	}
	if _, seen := s.types[name]; !seen {
		s.types[name] = kind
		object, err := s.object(kind, request)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.components[name] = object
	}
	return Schema{"$ref": "#/components/schemas/" + name}, nil
}

// object returns the schema of a struct's fields.
func (s *schemas) object(kind reflect.Type, request bool) (Schema, error) {
	properties, required := Schema{}, []string{}
	for _, field := range reflect.VisibleFields(kind) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		schema, err := s.of(field.Type, request)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		properties[name] = decorate(schema, field.Tag)
		if request && field.Tag.Get("required") == "true" || !request && !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	object := Schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		slices.Sort(required)
		object["required"] = required
	}
	return object, nil
}

// decorate adds what a field's tags say.
func decorate(schema Schema, tag reflect.StructTag) Schema {
	if doc := tag.Get("doc"); doc != "" {
		schema["description"] = doc
	}
	if words := tag.Get("enum"); words != "" {
		schema["enum"] = strings.Split(words, ",")
	}
	return withDefault(schema, tag.Get("default"))
}

// withDefault adds the default of a field, written as JSON unless it is text.
func withDefault(schema Schema, preset string) Schema {
	if preset == "" {
		return schema
	}
	schema["default"] = preset
	if schema["type"] != "string" {
		schema["default"] = json.RawMessage(preset)
	}
	return schema
}

// componentName returns the name of a struct in the document: Page[Key] reads
// KeyPage.
func componentName(kind reflect.Type) string {
	name, argument, generic := strings.Cut(kind.Name(), "[")
	if generic {
		argument = strings.TrimSuffix(argument, "]")
		argument = argument[strings.LastIndex(argument, ".")+1:]
		name = capital(argument) + capital(name)
	}
	return capital(name)
}

func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
