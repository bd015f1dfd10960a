package sentry

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// places are the forms in which loggers mark the positions of parameters: %s, %5.2f and %(name)s of Python and C, {},
// {0} and {name} of Rust, .NET and the JVM.
var places = regexp.MustCompile(`%%|%\(([A-Za-z0-9_.]+)\)[-+ #0-9.]*[a-zA-Z]|%[-+ #0]*[0-9]*(?:\.[0-9]+)?(?:l|ll|z|h)?[diouxXeEfFgGcrsapqvt@]|\{([A-Za-z0-9_.]*)(?:[:,][^{}]*)?\}`)

// fill inserts parameters, a list or an object, into a template. A position without a parameter stays unchanged.
func fill(template string, raw json.RawMessage) string {
	var named map[string]json.RawMessage
	var listed []json.RawMessage
	if absent(raw) || json.Unmarshal(raw, &listed) != nil && json.Unmarshal(raw, &named) != nil {
		return template
	}
	next := 0
	return places.ReplaceAllStringFunc(template, func(place string) string {
		if place == "%%" {
			return "%"
		}
		match := places.FindStringSubmatch(place)
		name := match[1] + match[2]
		if value, found := named[name]; found && name != "" {
			return shown(value)
		}
		at, err := strconv.Atoi(name)
		if name != "" && (err != nil || at >= len(listed)) && named != nil {
			return place
		}
		if err != nil || strings.HasPrefix(place, "%") {
			at, next = next, next+1
		}
		if at < 0 || at >= len(listed) {
			return place
		}
		return shown(listed[at])
	})
}

// shown returns a parameter as it appears in the text.
func shown(value json.RawMessage) string {
	if word, ok := scalar(value); ok {
		return word
	}
	return string(value)
}
