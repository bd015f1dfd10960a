package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema has the members of a JSON Schema that the reference shows.
type schema struct {
	Ref         string            `json:"$ref"`
	Type        kinds             `json:"type"`
	Format      string            `json:"format"`
	Enum        []any             `json:"enum"`
	Default     any               `json:"default"`
	Items       *schema           `json:"items"`
	AnyOf       []schema          `json:"anyOf"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
	Description string            `json:"description"`
}

// kinds is the type of a schema: one word, or several.
type kinds []string

// UnmarshalJSON reads a word or a list of words.
func (k *kinds) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		return json.Unmarshal(data, (*[]string)(k))
	}
	var word string
	if err := json.Unmarshal(data, &word); err != nil {
		return err
	}
	*k = kinds{word}
	return nil
}

// resolve follows a reference to a component.
func (d *description) resolve(s schema) (schema, string) {
	name, isRef := strings.CutPrefix(s.Ref, "#/components/schemas/")
	if !isRef {
		return s, ""
	}
	return d.Components.Schemas[name], name
}

// typeOf names the type of a value in a few words.
func (d *description) typeOf(s schema) string {
	var words []string
	switch {
	case s.Ref != "":
		words = []string{"object"}
	case len(s.AnyOf) > 0:
		for _, one := range s.AnyOf {
			words = append(words, d.typeOf(one))
		}
	case len(s.Enum) > 0:
		for _, value := range s.Enum {
			words = append(words, fmt.Sprintf("`%v`", value))
		}
	case s.Items != nil:
		words = []string{"list of " + d.typeOf(*s.Items)}
	case s.Format == "date-time":
		words = append([]string{"timestamp"}, slices.DeleteFunc(slices.Clone(s.Type), func(k string) bool { return k == "string" })...)
	case len(s.Type) > 0:
		words = s.Type
	default:
		words = []string{"any"}
	}
	text := strings.Join(words, " \\| ")
	if s.Default != nil {
		text += fmt.Sprintf(", default `%v`", s.Default)
	}
	return text
}

// fields lists the members of an object and of the objects in it, dotted.
func (d *description) fields(s schema) string {
	var rows strings.Builder
	d.addFields(&rows, s, "", nil)
	if rows.Len() == 0 {
		return "- " + d.typeOf(s) + "\n"
	}
	return "| field | type | |\n|---|---|---|\n" + rows.String()
}

// addFields appends the members of an object; within names the enclosing objects, so that a recursive type ends.
func (d *description) addFields(rows *strings.Builder, s schema, prefix string, within []string) {
	object, name := d.resolve(s)
	if name != "" && slices.Contains(within, name) {
		return
	}
	within = append(slices.Clone(within), name)
	for _, member := range slices.Sorted(maps.Keys(object.Properties)) {
		value := object.Properties[member]
		path := prefix + member
		fmt.Fprintf(rows, "| `%s`%s | %s | %s |\n", path, mark(slices.Contains(object.Required, member)), d.typeOf(value), cell(value.Description))
		inner, suffix := value, "."
		if value.Items != nil {
			inner, suffix = *value.Items, "[]."
		}
		for _, one := range append([]schema{inner}, inner.AnyOf...) {
			d.addFields(rows, one, path+suffix, within)
		}
	}
}
