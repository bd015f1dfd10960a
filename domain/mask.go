package domain

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// MaskText retains the first character of a value and replaces each other one with an asterisk. A masked value is
// hidden, never absent.
func MaskText(s string) string {
	_, first := utf8.DecodeRuneInString(s)
	return s[:first] + strings.Repeat("*", utf8.RuneCountInString(s[first:]))
}

// rewritten decodes a JSON document, changes it and encodes it. It returns otherwise if the document does not parse.
func rewritten(document json.RawMessage, otherwise string, change func(value any) any) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return json.RawMessage(otherwise)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(change(value)) != nil {
		return json.RawMessage(otherwise)
	}
	return bytes.TrimSpace(out.Bytes())
}

// eachText changes the texts and the names of members of a value.
func eachText(value any, change func(text string) string) any {
	switch value := value.(type) {
	case string:
		return change(value)
	case []any:
		for i := range value {
			value[i] = eachText(value[i], change)
		}
	case map[string]any:
		changed := make(map[string]any, len(value))
		for name, inner := range value {
			changed[change(name)] = eachText(inner, change)
		}
		return changed
	}
	return value
}

// MaskJSON hides the personal members of a JSON document, and e-mail addresses anywhere. It returns {} if the document
// does not parse.
func MaskJSON(document json.RawMessage) json.RawMessage {
	if len(document) == 0 {
		return document
	}
	return rewritten(document, "{}", func(value any) any { return maskMember(value, false, false) })
}

// MaskWords hides words in a text, ignoring case. Words are complete known texts about a person.
func MaskWords(text string, words []string) string { return replaceWords(text, words, MaskText) }

// replaceWords replaces words in a text, ignoring case.
func replaceWords(text string, words []string, replace func(word string) string) string {
	for _, word := range words {
		for at := 0; at+len(word) <= len(text); {
			if !strings.EqualFold(text[at:at+len(word)], word) {
				at++
				continue
			}
			other := replace(text[at : at+len(word)])
			text = text[:at] + other + text[at+len(word):]
			at += len(other)
		}
	}
	return text
}

// BlankWordsIn replaces words in every text of a JSON document, ignoring case. It returns null if the document does not
// parse.
func BlankWordsIn(document json.RawMessage, words []string) json.RawMessage {
	return rewritten(document, "null", func(value any) any {
		return eachText(value, func(text string) string { return BlankWords(text, words) })
	})
}

// BlankWords replaces words in a text, ignoring case.
func BlankWords(text string, words []string) string {
	return replaceWords(text, words, func(string) string { return "[erased]" })
}

// MaskWordsIn applies MaskWords to every text of a JSON document. It returns null if the document does not parse.
func MaskWordsIn(document json.RawMessage, words []string) json.RawMessage {
	return rewritten(document, "null", func(value any) any {
		return eachText(value, func(text string) string { return MaskWords(text, words) })
	})
}

// MaskTrait hides a trait: the whole trait if it is personal, and e-mail addresses anywhere.
func MaskTrait(name string, value json.RawMessage) json.RawMessage {
	return rewritten(value, "null", func(decoded any) any {
		return maskMember(decoded, IsPersonal(name), name == "company" || name == "group")
	})
}

// maskMember hides a value completely if it is personal. The name of a company is not personal.
func maskMember(value any, personal, company bool) any {
	switch value := value.(type) {
	case string:
		if personal {
			return MaskText(value)
		}
		return MaskShapes(value)
	case json.Number:
		if personal {
			return MaskText(value.String())
		}
	case []any:
		for i := range value {
			value[i] = maskMember(value[i], personal, company)
		}
	case map[string]any:
		masked := make(map[string]any, len(value))
		for name, inner := range value {
			masked[MaskShapes(name)] = maskMember(inner, personal || IsPersonal(name) && !(company && name == "name"), name == "company")
		}
		return masked
	}
	return value
}
