package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc/domain/conversation"
	"svc/http/route"
)

// schema is a JSON Schema.
type schema = map[string]any

// document is the description of a table, from which the schemas of the tools are made.
type document struct{ *route.Description[schema] }

// The parts of a request for the members of an input.
const (
	inPath  = "path"
	inQuery = "query"
	inBody  = "body"
)

// entry makes the tool of a route.
func (d *document) entry(route *route.Route) (entry, error) {
	path := strings.Replace(route.Pattern(), "...}", "}", 1)
	described, found := d.Paths[path][strings.ToLower(route.Method)]
	if !found {
		return entry{}, fmt.Errorf("%s %s is not described", route.Method, path)
	}
	made := entry{method: route.Method, path: path, place: map[string]string{}, open: map[string]string{}}
	properties, required := schema{}, []string{}
	for _, parameter := range described.Parameters {
		if parameter.In != inPath && parameter.In != inQuery || parameter.Name == "org" || parameter.Name == "app" {
			continue
		}
		property, name := d.resolve(parameter.Schema, nil), parameter.Name
		if parameter.Description != "" {
			property["description"] = parameter.Description
		}
		if prefix, open := openPrefix(name); open {
			name = strings.TrimSuffix(prefix, ".")
			made.open[name] = prefix
			property["description"] = fmt.Sprintf("Each is key=value. %s", parameter.Description)
		}
		properties[name], made.place[name] = property, parameter.In
		if parameter.Required {
			required = append(required, name)
		}
	}
	if described.Body != nil {
		made.body = true
		body := d.resolve(described.Body.Content["application/json"].Schema, nil)
		needed, err := addBody(body, properties, made.place)
		if err != nil {
			return entry{}, err
		}
		required = append(required, needed...)
	}
	input := schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		slices.Sort(required)
		input["required"] = required
	}
	encoded, err := json.Marshal(input)
	if err != nil {
		return entry{}, err
	}
	made.tool = toolOf(route, encoded)
	made.words = weigh(made.tool.Name, route.Summary, slices.Collect(maps.Keys(properties)))
	return made, nil
}

// openPrefix returns the prefix of a parameter such as label.<key>. Providers refuse such a name in a schema, so the
// tool accepts a list of key=value under the prefix.
func openPrefix(name string) (prefix string, open bool) {
	prefix, _, open = strings.Cut(name, "<")
	return prefix, open
}

// memberEnv is the parameter that names an environment; the default is production.
const memberEnv = "env"

// toolOf describes the tool of a route.
func toolOf(route *route.Route, input json.RawMessage) conversation.Tool {
	tool := conversation.Tool{
		Name: NameOf(route.Operation), Description: route.Summary + ".", Schema: input, Effect: route.Effect,
		Module: route.Module, Scope: route.Scope, Permission: route.Permission,
	}
	if route.Effect != conversation.EffectRead {
		tool.Description += " A person decides before it happens."
	}
	return tool
}

// addBody adds the members of a body to the parameters, and returns the required ones. It refuses a name that both
// have, because it is ambiguous.
func addBody(body, properties schema, place map[string]string) ([]string, error) {
	members, _ := body["properties"].(map[string]any)
	for name, property := range members {
		if place[name] != "" {
			return nil, fmt.Errorf("%q is a parameter and a member of the body", name)
		}
		properties[name], place[name] = property, inBody
	}
	var required []string
	names, _ := body["required"].([]any)
	for _, name := range names {
		if text, ok := name.(string); ok {
			required = append(required, text)
		}
	}
	return required, nil
}

// deepest is the depth to which references are resolved; below it, any value is accepted.
const deepest = 6

// resolve replaces references by their components, because models do not follow references.
func (d *document) resolve(of schema, within []string) schema {
	if reference, ok := of["$ref"].(string); ok {
		name := strings.TrimPrefix(reference, "#/components/schemas/")
		if slices.Contains(within, name) || len(within) >= deepest {
			return schema{"type": "object"}
		}
		resolved := d.resolve(d.Components.Schemas[name], append(slices.Clone(within), name))
		for key, value := range of {
			if key != "$ref" {
				resolved[key] = value
			}
		}
		return resolved
	}
	out := schema{}
	for key, value := range of {
		out[key] = d.resolveAny(value, within)
	}
	return out
}

func (d *document) resolveAny(value any, within []string) any {
	switch typed := value.(type) {
	case map[string]any:
		return d.resolve(typed, within)
	case []any:
		out := make([]any, len(typed))
		for i := range typed {
			out[i] = d.resolveAny(typed[i], within)
		}
		return out
	}
	return value
}
