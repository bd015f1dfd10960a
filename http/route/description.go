package route

import (
	"encoding/json"
	"fmt"
)

// Description is the OpenAPI document of a table, for code that reads it. S is the type of a JSON Schema in that code.
type Description[S any] struct {
	// Paths maps a path and a method in lower case to an operation.
	Paths      map[string]map[string]Operation[S] `json:"paths"`
	Components struct {
		Schemas map[string]S `json:"schemas"`
	} `json:"components"`
}

// Operation describes one row.
type Operation[S any] struct {
	ID         string                `json:"operationId"`
	Summary    string                `json:"summary"`
	Tags       []string              `json:"tags"`
	Parameters []Parameter[S]        `json:"parameters"`
	Body       *Content[S]           `json:"requestBody"`
	Responses  map[string]Content[S] `json:"responses"`
	Scope      string                `json:"x-scope"`
	Permission string                `json:"x-permission"`
	Module     string                `json:"x-module"`
	Role       string                `json:"x-role"`
	Effect     string                `json:"x-effect"`
}

// Parameter describes a parameter of the path, the query or the head.
type Parameter[S any] struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Required    bool   `json:"required"`
	Description string `json:"description"`
	Schema      S      `json:"schema"`
}

// Content describes a body, or an answer, by its media types.
type Content[S any] struct {
	Description string              `json:"description"`
	Required    bool                `json:"required"`
	Content     map[string]Media[S] `json:"content"`
}

// Media describes a body of one media type.
type Media[S any] struct {
	Schema S `json:"schema"`
}

// Describe returns the description of a table.
func Describe[S any](routes []Route) (*Description[S], error) {
	document, err := OpenAPI(routes, "", "")
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encoding the description of the routes: %w", err)
	}
	described := &Description[S]{}
	if err := json.Unmarshal(encoded, described); err != nil {
		return nil, fmt.Errorf("reading the description of the routes: %w", err)
	}
	return described, nil
}
