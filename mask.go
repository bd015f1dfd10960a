package svc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaskText keeps the first character of a value and replaces each other one by
// an asterisk. A masked value is hidden, never absent.
func MaskText(s string) string {
	_, first := utf8.DecodeRuneInString(s)
	return s[:first] + strings.Repeat("*", utf8.RuneCountInString(s[first:]))
}

// MaskEmails returns s with MaskText applied to each part that reads like an
// e-mail address, written plainly or percent-encoded once or more.
func MaskEmails(s string) string {
	var masked strings.Builder
	done := 0
	for at := 0; at < len(s); {
		separator := emailSeparator(s[at:])
		if separator == 0 {
			at++
			continue
		}
		end := at + separator + emailDomain(s[at+separator:])
		start := at
		if end > at+separator {
			start = done + emailLocal(s[done:at])
		}
		if start < at {
			masked.WriteString(s[done:start])
			masked.WriteString(MaskText(s[start:end]))
			done = end
		}
		at = end
	}
	if done == 0 {
		return s
	}
	return masked.String() + s[done:]
}

// emailSeparator returns the length of the @ that s begins with, 0 without one.
func emailSeparator(s string) int {
	if s[0] == '@' {
		return 1
	}
	if s[0] != '%' {
		return 0
	}
	rest := s[1:]
	for strings.HasPrefix(rest, "25") {
		rest = rest[2:]
	}
	if !strings.HasPrefix(rest, "40") {
		return 0
	}
	return len(s) - len(rest) + 2
}

// emailDomain returns the length of the domain that s begins with, 0 without
// one: at least two labels, and a later one than the first holds a letter.
func emailDomain(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool {
		return r != '.' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if end < 0 {
		end = len(s)
	}
	domain := strings.TrimRight(s[:end], ".-")
	first, later, _ := strings.Cut(domain, ".")
	if first == "" || !strings.ContainsFunc(later, unicode.IsLetter) {
		return 0
	}
	return len(domain)
}

// emailLocal returns where the local part that s ends with begins, len(s)
// without one.
func emailLocal(s string) int {
	last := strings.LastIndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".!#$%*+^_{|}~'-", r)
	})
	if last < 0 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(s[last:])
	return last + size
}

// rewritten decodes a JSON document, changes it and encodes it; one that does not parse becomes otherwise.
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

// maskJSON hides the personal members of a JSON document, and e-mail addresses anywhere; one that does not
// parse becomes {}.
func maskJSON(document json.RawMessage) json.RawMessage {
	if len(document) == 0 {
		return document
	}
	return rewritten(document, "{}", func(value any) any { return maskMember(value, false, false) })
}

// PersonalKeys lists the names of traits and properties that hold what names or reaches a person, in lower
// case and without what separates their words.
func PersonalKeys() []string {
	return []string{
		"email", "mail", "emailaddress", "name", "firstname", "lastname", "middlename", "fullname", "displayname", "surname", "givenname",
		"familyname", "nickname", "username", "login", "phone", "phonenumber", "mobile", "mobilephone", "telephone", "tel", "address", "street",
		"birthday", "birthdate", "dateofbirth", "avatar", "ip", "ipaddress",
	}
}

// IsPersonal reports whether a trait or property of a name holds what names or reaches a person, however
// the name is spelled.
func IsPersonal(name string) bool {
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.TrimPrefix(name, "$")))
	return slices.Contains(PersonalKeys(), plain)
}

// MaskWords hides words in a text, in any case. Words are whole texts that are known of a person.
func MaskWords(text string, words []string) string { return replaceWords(text, words, MaskText) }

// replaceWords replaces words in a text, in any case.
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

// BlankWordsIn replaces words in every text of a JSON document, in any case; one that does not parse becomes
// null.
func BlankWordsIn(document json.RawMessage, words []string) json.RawMessage {
	return rewritten(document, "null", func(value any) any {
		return eachText(value, func(text string) string { return BlankWords(text, words) })
	})
}

// BlankWords replaces words in a text, in any case.
func BlankWords(text string, words []string) string {
	return replaceWords(text, words, func(string) string { return "[erased]" })
}

// MaskWordsIn is MaskWords of every text of a JSON document; one that does not parse becomes null.
func MaskWordsIn(document json.RawMessage, words []string) json.RawMessage {
	return rewritten(document, "null", func(value any) any {
		return eachText(value, func(text string) string { return MaskWords(text, words) })
	})
}

// maskTrait hides a trait: all of a personal one, and e-mail addresses anywhere.
func maskTrait(name string, value json.RawMessage) json.RawMessage {
	return rewritten(value, "null", func(decoded any) any {
		return maskMember(decoded, IsPersonal(name), name == "company" || name == "group")
	})
}

// maskMember hides a value: all of it where it is personal. The name of a company names no person.
func maskMember(value any, personal, company bool) any {
	switch value := value.(type) {
	case string:
		if personal {
			return MaskText(value)
		}
		return MaskEmails(value)
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
			masked[MaskEmails(name)] = maskMember(inner, personal || IsPersonal(name) && !(company && name == "name"), name == "company")
		}
		return masked
	}
	return value
}
