package filter

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"svc/domain/event"
)

// NumberPattern matches the texts that a filter may compare as numbers.
const NumberPattern = `^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$`

// Passes reports whether an event passes a valid filter. Comparisons with a number compare numbers; a property that is
// not a number passes only neq.
func (f StepFilter) Passes(e *event.Event) bool {
	text := f.Text(e)
	operands := f.Operands()
	equals := func(o Operand) bool {
		if o.Number == nil {
			return o.Text == text
		}
		number, ok := parseNumber(text)
		return ok && number == *o.Number
	}
	switch f.Op {
	case OpEq, OpIn:
		return slices.ContainsFunc(operands, equals)
	case OpNeq:
		return !slices.ContainsFunc(operands, equals)
	case OpContains:
		return strings.Contains(text, operands[0].Text)
	case OpNotContains:
		return !strings.Contains(text, operands[0].Text)
	case OpExists:
		return (text != "") == f.Wants()
	case OpGt, OpGte, OpLt, OpLte:
		number, ok := parseNumber(text)
		return ok && compares(f.Op, number, *operands[0].Number)
	}
	return false
}

func compares(op Op, a, b float64) bool {
	return op == OpGt && a > b || op == OpGte && a >= b || op == OpLt && a < b || op == OpLte && a <= b
}

func parseNumber(text string) (float64, bool) {
	if reads, err := regexp.MatchString(NumberPattern, text); err != nil || !reads {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil
}

// Text returns the property of an event as text, "" if it is missing.
func (f StepFilter) Text(e *event.Event) string {
	if key, custom := f.Key(); custom {
		var properties map[string]json.RawMessage
		if json.Unmarshal(e.Properties, &properties) != nil {
			return ""
		}
		return jsonText(properties[key])
	}
	if f.Property == "value" {
		if e.Value == nil {
			return ""
		}
		return strconv.FormatFloat(*e.Value, 'g', -1, 64)
	}
	return textColumn(e, f.Property)
}

// jsonText returns the text of a string, "" for null, and the JSON of anything else.
func jsonText(raw json.RawMessage) string {
	var text string
	switch {
	case string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
}

// textColumn returns one of the columns of StepProperties that hold text.
func textColumn(e *event.Event, column string) string {
	return map[string]string{
		"name": e.Name, "event": e.Name, "url": e.URL, "path": e.Path, "title": e.Title, "referrer": e.Referrer,
		"referrer_domain": e.ReferrerDomain, "source": e.Source, "medium": e.Medium, "utm_source": e.UTMSource, "utm_medium": e.UTMMedium,
		"utm_campaign": e.UTMCampaign, "utm_term": e.UTMTerm, "utm_content": e.UTMContent, "country": e.Country, "region": e.Region,
		"city": e.City, "device": e.Device, "browser": e.Browser, "browser_version": e.BrowserVersion, "os": e.OS, "os_version": e.OSVersion,
		"screen": e.Screen, "locale": e.Locale, "currency": e.Currency, "release": e.Release, "library": e.Library,
	}[column]
}
