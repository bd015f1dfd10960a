package ingest

import (
	"bytes"
	stdjson "encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/telemetry"
	"svc/protos"
)

// fillProperties checks the properties (an object, not too deep, not too large) and writes them in one form: without
// spaces between tokens, and with characters rather than their escapes. So the same properties are the same text for
// every sending library, and a search finds the text that people read.
func (sub *submission) fillProperties(e *protos.Event, raw stdjson.RawMessage) (code, message string) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", ""
	}
	if raw[0] != '{' {
		return "invalid_value", "properties is not an object."
	}
	shape := measureJSON(raw)
	switch {
	case shape.depth > event.MaxPropertyDepth:
		return "too_deep", "properties is nested deeper than 4."
	case shape.keys > event.MaxPropertiesKeys:
		return "too_many", "properties has more than 512 keys."
	case shape.nul:
		return "invalid_value", "properties holds a NUL character."
	}
	e.Properties = raw
	if !shape.plain {
		sub.properties = plainJSON(sub.properties[:0], raw)
		e.Properties = sub.properties
	}
	return "", ""
}

// jsonShape describes a JSON text.
type jsonShape struct {
	depth, keys int
	// nul is true if the text contains an escaped NUL character.
	nul bool
	// plain is true if plainJSON would change nothing.
	plain bool
}

// measureJSON returns the shape of a valid JSON text.
func measureJSON(raw []byte) jsonShape {
	shape := jsonShape{plain: true}
	level, quoted := 0, false
	for at := 0; at < len(raw); at++ {
		c := raw[at]
		if quoted {
			switch c {
			case '\\':
				shape.nul = shape.nul || bytes.HasPrefix(raw[at:], []byte(`\u0000`))
				at++
				shape.plain = shape.plain && raw[at] != 'u' && raw[at] != '/'
			case '"':
				quoted = false
			}
			continue
		}
		switch c {
		case '"':
			quoted = true
		case '{', '[':
			level++
			shape.depth = max(shape.depth, level)
		case '}', ']':
			level--
		case ':':
			shape.keys++
		case ' ', '\t', '\n', '\r':
			shape.plain = false
		}
	}
	return shape
}

// plainJSON appends a valid JSON text without spaces between tokens. It replaces escapes by characters, except for the
// escapes that JSON requires. The values stay the same.
func plainJSON(to, raw []byte) []byte {
	quoted := false
	for at := 0; at < len(raw); at++ {
		c := raw[at]
		switch {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		case quoted && c == '\\':
			var length int
			to, length = plainEscape(to, raw[at:])
			at += length - 1
			continue
		}
		to = append(to, c)
	}
	return to
}

// The lengths of escapes, in bytes: \n, \u00df, and a pair that makes one character.
const (
	shortEscape = 2
	longEscape  = 6
	pairEscape  = 12
)

// plainEscape appends the character of the escape at the beginning of a text, or the escape itself if JSON requires it.
// It returns the length of the escape.
func plainEscape(to, raw []byte) (out []byte, length int) {
	if raw[1] == '/' {
		return append(to, '/'), shortEscape
	}
	character, long := unicodeEscape(raw)
	if !long {
		return append(to, raw[:shortEscape]...), shortEscape
	}
	length = longEscape
	if utf16.IsSurrogate(character) {
		low, _ := unicodeEscape(raw[longEscape:])
		if character = utf16.DecodeRune(character, low); character == utf8.RuneError {
			return append(to, raw[:longEscape]...), longEscape
		}
		length = pairEscape
	}
	if character < ' ' || character == '"' || character == '\\' {
		return append(to, raw[:longEscape]...), longEscape
	}
	return utf8.AppendRune(to, character), length
}

// unicodeEscape reads an escape of the form \u00df at the beginning of a text; ok is false for any other text.
func unicodeEscape(raw []byte) (character rune, ok bool) {
	if len(raw) < longEscape || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	code, err := strconv.ParseUint(string(raw[shortEscape:longEscape]), 16, 16)
	return rune(code), err == nil
}

// limitProperties returns the properties without the ones that a policy excludes: long ones, and the ones beyond its
// number. Nearly all events are within both bounds as a whole and are returned unchanged.
func limitProperties(properties []byte, policy *telemetry.EventsPolicy) []byte {
	if len(properties) <= policy.MaxBytes && bytes.Count(properties, []byte{':'}) <= policy.MaxProperties {
		return properties
	}
	decoder := stdjson.NewDecoder(bytes.NewReader(properties))
	if _, err := decoder.Token(); err != nil {
		return properties
	}
	kept, out := 0, []byte{'{'}
	for decoder.More() && kept < policy.MaxProperties {
		start := decoder.InputOffset()
		var value stdjson.RawMessage
		if _, err := decoder.Token(); err != nil || decoder.Decode(&value) != nil {
			return properties
		}
		if len(value) > policy.MaxBytes {
			continue
		}
		if kept++; kept > 1 {
			out = append(out, ',')
		}
		out = append(out, bytes.TrimLeft(properties[start:decoder.InputOffset()], ", ")...)
	}
	return append(out, '}')
}

// companyOf returns the name of the company among the traits of a person, empty without a company.
func companyOf(traits stdjson.RawMessage) string {
	if !bytes.Contains(traits, []byte(`"company"`)) {
		return ""
	}
	var told struct {
		Company stdjson.RawMessage `json:"company"`
	}
	if parse(traits, &told) != nil || len(told.Company) == 0 {
		return "" // Another check refuses it.
	}
	var named struct {
		Name string `json:"name"`
	}
	if told.Company[0] == '{' && parse(told.Company, &named) == nil {
		return strings.TrimSpace(named.Name)
	}
	return strings.TrimSpace(textOf(told.Company))
}

// groupTraits returns the traits of a person that an item adds to a company: the company's id, its name, and its other
// traits in the item. Otherwise it returns the code and message of a refusal.
func groupTraits(it *item) (traits stdjson.RawMessage, code, message string) {
	told := map[string]any{"$group": it.GroupID, "company": it.GroupID}
	switch raw := it.Traits; {
	case it.GroupID == "":
		return nil, "missing_value", "groupId is missing."
	case len(it.GroupID) > event.MaxIDBytes:
		return nil, "too_long", "groupId is over " + strconv.Itoa(event.MaxIDBytes) + " bytes."
	case len(raw) == 0 || string(raw) == "null":
	case raw[0] != '{':
		return nil, "invalid_value", "traits is not an object."
	default:
		var named struct {
			Name any `json:"name"`
		}
		if err := parse(raw, &named); err != nil {
			return nil, "invalid_value", "traits is not an object."
		}
		name, _ := named.Name.(string) // A name that is not a text is ignored.
		if name = strings.TrimSpace(name); domain.IsPlaceholderID(name) {
			name = it.GroupID
		}
		told["group"], told["company"] = raw, name
	}
	traits, err := stdjson.Marshal(told)
	if err != nil {
		return nil, "invalid_value", "The item cannot be encoded."
	}
	return traits, "", ""
}
