package domain

import (
	"strings"
	"unicode/utf8"
)

// Truncate returns at most limit bytes of valid UTF-8 without NUL characters.
func Truncate(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
		for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
			s = s[:len(s)-1]
		}
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return s
}

// Texts returns values of a string type as strings.
func Texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = string(value)
	}
	return out
}

// Assign sets a field to the value of a patch; nil leaves it unchanged.
func Assign[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
