package route

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Schema is a JSON Schema (2020-12) as OpenAPI 3.1 uses it.
type Schema map[string]any

// Described is a type that returns its own schema.
type Described interface{ Schema() Schema }

// schemas turns Go types into schemas and collects the named ones.
type schemas struct {
	components map[string]Schema
	types      map[string]reflect.Type
	// requested are the components of structs in requests.
	requested map[reflect.Type]string
}

func newSchemas() *schemas {
	return &schemas{components: map[string]Schema{}, types: map[string]reflect.Type{}, requested: map[reflect.Type]string{}}
}

// valuesOf returns the words of a named string type by its method Values.
func valuesOf(kind reflect.Type) (words []string, listed bool) {
	method := reflect.Zero(kind).MethodByName("Values")
	if !method.IsValid() {
		return nil, false
	}
	values := method.Call(nil)[0]
	for i := range values.Len() {
		words = append(words, values.Index(i).String())
	}
	return words, true
}

// checkWords fails for a field of a named string type if the document would not list its words. The type needs a method
// Values, or the field needs a tag enum or open. The tag open means that the words may grow, so clients accept unknown
// words.
func checkWords(field *reflect.StructField) error {
	kind := field.Type
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	if kind.Kind() != reflect.String || kind.PkgPath() == "" || field.Tag.Get("enum") != "" || field.Tag.Get("open") == "true" {
		return nil
	}
	if _, described := reflect.New(kind).Interface().(Described); described {
		return nil
	}
	if _, listed := valuesOf(kind); listed {
		return nil
	}
	return fmt.Errorf("%s has no method Values; give it one, or tag the field with enum, or with open:\"true\"", kind)
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
		if words, listed := valuesOf(kind); listed {
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
			return s.object(kind, request) // The type has no name for a reference.
		}
		return s.reference(kind, request)
	default:
		return nil, fmt.Errorf("type %s has no schema", kind)
	}
}

// orNull returns the schema of a type that also accepts null.
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

// reference returns a reference to the component of a struct. It makes the component at the first use of the struct.
func (s *schemas) reference(kind reflect.Type, request bool) (Schema, error) {
	name := componentName(kind)
	if request {
		return s.request(kind, name)
	}
	return s.component(kind, name, false)
}

// request returns a reference to the component of a struct in requests. A struct of answers, which are described first, has two
// components if requests and answers differ in what is required or null.
func (s *schemas) request(kind reflect.Type, name string) (Schema, error) {
	if known, seen := s.requested[kind]; seen {
		return s.component(kind, known, true)
	}
	answered := s.components[name]
	if s.requested[kind] = name; s.types[name] != kind {
		return s.component(kind, name, true)
	}
	s.requested[kind] = name + "Input"
	schema, err := s.component(kind, name+"Input", true)
	if reflect.DeepEqual(s.components[name+"Input"], answered) {
		delete(s.components, name+"Input")
		s.requested[kind] = name
		return s.component(kind, name, true)
	}
	return schema, err
}

// component returns a reference to a component, which it makes unless it is there.
func (s *schemas) component(kind reflect.Type, name string, request bool) (Schema, error) {
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
		if err := checkWords(&field); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
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

// decorate adds the information of a field's tags.
func decorate(schema Schema, tag reflect.StructTag) Schema {
	if doc := tag.Get("doc"); doc != "" {
		schema["description"] = doc
	}
	if words := tag.Get("enum"); words != "" {
		schema["enum"] = enumOf(strings.Split(words, ","), schema["type"])
	}
	return withDefault(schema, tag.Get("default"))
}

// enumOf returns the words of an enum, and null if the type allows it: a validator checks a value against both.
func enumOf(words []string, kind any) any {
	if kinds, _ := kind.([]string); !slices.Contains(kinds, "null") {
		return words
	}
	values := make([]any, 0, len(words)+1)
	for _, word := range words {
		values = append(values, word)
	}
	return append(values, nil)
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

// wireSuffix ends the name of a struct of JSON if a package of the domain has the plain name: goalJSON is the component
// Goal.
const wireSuffix = "JSON"

// componentName returns the name of a struct in the document: Page[Key] becomes KeyPage.
func componentName(kind reflect.Type) string {
	name, argument, generic := strings.Cut(kind.Name(), "[")
	if generic {
		return wordOf(strings.TrimSuffix(argument, "]")) + capital(name)
	}
	return wordOf(kind.PkgPath() + "." + name)
}

// wordOf returns the part that a type contributes to the name of a component.
func wordOf(path string) string {
	if name, pinned := componentNames[path]; pinned {
		return name
	}
	return capital(strings.TrimSuffix(path[strings.LastIndex(path, ".")+1:], wireSuffix))
}

func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
