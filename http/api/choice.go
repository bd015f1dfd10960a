package api

import (
	"slices"

	"svc/domain"
	"svc/http/route"
)

// Choice is a parameter that is one of some words.
type Choice struct {
	Field string
	// What is the noun for the words in a refusal.
	What string
	// Fallback is the word of a request without the parameter.
	Fallback string
	Allowed  []string
}

// Parse returns the word of a request, or a problem that lists the allowed words.
func (c Choice) Parse(words []string) (string, []domain.FieldError) {
	if len(words) == 0 {
		return c.Fallback, nil
	}
	if !slices.Contains(c.Allowed, words[0]) {
		return "", []domain.FieldError{UnknownWord(c.Field, c.What, words[0], c.Allowed)}
	}
	return words[0], nil
}

// Schema describes the parameter.
func (c Choice) Schema() route.Schema {
	return route.Schema{"type": "string", "enum": c.Allowed, "default": c.Fallback}
}
