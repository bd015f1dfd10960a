package api

import (
	"slices"

	"svc"
	"svc/http/route"
)

// choice is a parameter that is one of some words.
type Choice struct {
	Field string
	// what the words are called in a refusal.
	What string
	// fallback is meant where the request names none.
	Fallback string
	Allowed  []string
}

// parse returns the word, or says which there are.
func (c Choice) Parse(words []string) (string, []svc.FieldError) {
	if len(words) == 0 {
		return c.Fallback, nil
	}
	if !slices.Contains(c.Allowed, words[0]) {
		return "", []svc.FieldError{UnknownWord(c.Field, c.What, words[0], c.Allowed)}
	}
	return words[0], nil
}

// schema describes the parameter.
func (c Choice) Schema() route.Schema {
	return route.Schema{"type": "string", "enum": c.Allowed, "default": c.Fallback}
}
