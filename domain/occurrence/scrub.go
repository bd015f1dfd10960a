package occurrence

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"svc/domain"
)

// scrubbed replaces a secret.
const scrubbed = "[scrubbed]"

// Scrub removes secrets from the context of an error before it is stored: the values of headers, parameters, variables
// and other members with names of secrets (domain.IsSecretName), credentials in addresses and after Bearer and Basic, and the
// numbers of payment cards anywhere.
func (o *Occurrence) Scrub() {
	for _, text := range []*string{&o.Message, &o.Stack, &o.URL, &o.Referrer, &o.Request.URL, &o.Details.Query} {
		*text = scrubText(*text)
	}
	scrubPairs(o.Tags)
	scrubPairs(o.Details.User)
	scrubPairs(o.Details.Headers)
	o.Extra, o.Details.Data = scrubJSON(o.Extra), scrubJSON(o.Details.Data)
	for i := range o.Breadcrumbs {
		o.Breadcrumbs[i].Message = scrubText(o.Breadcrumbs[i].Message)
	}
	for i := range o.Frames {
		frame := &o.Frames[i]
		frame.Vars = scrubJSON(frame.Vars)
		if code := frame.Code; code != nil {
			code.Line = scrubText(code.Line)
			for _, lines := range [][]string{code.Before, code.After} {
				for n := range lines {
					lines[n] = scrubText(lines[n])
				}
			}
		}
	}
}

// The forms of secrets within a text.
var (
	parameter  = regexp.MustCompile(`(^|[?&;\s])([A-Za-z0-9_.\[\]-]{2,64})=([^&;#\s"'<>]+)`)
	account    = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s:@"']*:[^/\s@"']+@`)
	bearer     = regexp.MustCompile(`\b(Bearer|Basic|bearer|basic) [A-Za-z0-9._~+/=-]{8,}`)
	cardDigits = regexp.MustCompile(`[2-6][0-9](?:[ -]?[0-9]){11,17}`)
)

// scrubText removes secrets from a text.
func scrubText(text string) string {
	if strings.Contains(text, "=") {
		text = parameter.ReplaceAllStringFunc(text, func(found string) string {
			match := parameter.FindStringSubmatch(found)
			if !domain.IsSecretName(match[2]) {
				return found
			}
			return match[1] + match[2] + "=" + scrubbed
		})
	}
	if strings.Contains(text, "://") {
		text = account.ReplaceAllString(text, "${1}"+scrubbed+"@")
	}
	if strings.Contains(text, "earer ") || strings.Contains(text, "asic ") {
		text = bearer.ReplaceAllString(text, "$1 "+scrubbed)
	}
	if strings.ContainsAny(text, "23456") {
		text = scrubCards(text)
	}
	return text
}

// scrubCards removes the numbers of payment cards from a text.
func scrubCards(text string) string {
	var out strings.Builder
	done := 0
	for _, at := range cardDigits.FindAllStringIndex(text, -1) {
		begin, end := at[0], at[1]
		inside := begin > 0 && domain.IsWordByte(text[begin-1]) || end < len(text) && domain.IsWordByte(text[end])
		if inside || !domain.IsCard(text[begin:end]) {
			continue
		}
		out.WriteString(text[done:begin] + scrubbed)
		done = end
	}
	if done == 0 {
		return text
	}
	return out.String() + text[done:]
}

func scrubPairs(pairs map[string]string) {
	for name, value := range pairs {
		if domain.IsSecretName(name) && value != "" {
			pairs[name] = scrubbed
		} else {
			pairs[name] = scrubText(value)
		}
	}
}

// scrubJSON removes secrets from a JSON document, by the names of members and the contents of texts. A document that
// does not parse is left out.
func scrubJSON(document json.RawMessage) json.RawMessage {
	if len(document) == 0 {
		return document
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	clean, changed := scrubValue(value)
	if !changed {
		return document
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(clean) != nil {
		return nil
	}
	return bytes.TrimSpace(out.Bytes())
}

// scrubValue returns a value without secrets, and whether it contained any.
func scrubValue(value any) (clean any, changed bool) {
	switch value := value.(type) {
	case string:
		text := scrubText(value)
		return text, text != value
	case json.Number:
		if isWhole := len(value) > 12 && scrubCards(string(value)) != string(value); isWhole {
			return scrubbed, true
		}
	case []any:
		for i := range value {
			inner, was := scrubValue(value[i])
			value[i], changed = inner, changed || was
		}
		return value, changed
	case map[string]any:
		for name, inner := range value {
			if domain.IsSecretName(name) && inner != nil && inner != "" {
				value[name], changed = scrubbed, true
				continue
			}
			kept, was := scrubValue(inner)
			value[name], changed = kept, changed || was
		}
		return value, changed
	}
	return value, false
}
