package api

import (
	"slices"

	"svc"
	"svc/http/route"
)

// choice is a parameter that is one of some words.
type choice struct {
	field string
	// what the words are called in a refusal.
	what string
	// fallback is meant where the request names none.
	fallback string
	allowed  []string
}

// parse returns the word, or says which there are.
func (c choice) parse(words []string) (string, []svc.FieldError) {
	if len(words) == 0 {
		return c.fallback, nil
	}
	if !slices.Contains(c.allowed, words[0]) {
		return "", []svc.FieldError{unknownWord(c.field, c.what, words[0], c.allowed)}
	}
	return words[0], nil
}

// schema describes the parameter.
func (c choice) schema() route.Schema {
	return route.Schema{"type": "string", "enum": c.allowed, "default": c.fallback}
}
