package domain

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// openMembers hold free content from clients and members. In such content, the name of a member describes its value.
// Elsewhere, a name such as "name" or "email" belongs to an object of the service, and only shapes decide.
//
//nolint:gochecknoglobals // never changed
var openMembers = map[string]bool{
	"properties": true, "traits": true, "crm": true, "extra": true, "tags": true, "user": true, "headers": true, "context": true, "contexts": true,
	"labels": true, "attributes": true, "vars": true, "body": true, "request": true, "response": true, "payload": true, "customer": true, "contact": true, "person": true,
}

// memberFields hold the member of the organization that did something. Their addresses belong to colleagues.
//
//nolint:gochecknoglobals // never changed
var memberFields = map[string]bool{
	"actor": true, "author": true, "assignee": true, "createdBy": true, "updatedBy": true, "decidedBy": true, "invitedBy": true, "requestedBy": true,
	"resolvedBy": true, "acknowledgedBy": true, "approvedBy": true, "member": true, "principal": true,
}

// cursorFields hold values that the service makes and a caller sends back.
//
//nolint:gochecknoglobals // never changed
var cursorFields = map[string]bool{"cursor": true, "nextCursor": true, "next": true, "nextBefore": true, "revision": true}

// fieldNames are the members of a definition or a list of fields that name a field. The values after such a member
// belong to that field.
//
//nolint:gochecknoglobals // never changed
var fieldNames = map[string]bool{"field": true, "key": true, "property": true, "trait": true, "attribute": true, "dimension": true}

// FieldKey returns the key of a reference to a trait, property or other field of a person. For example, trait.email has
// the key email.
func FieldKey(reference string) string {
	for _, prefix := range [...]string{"trait.", "traits.", "property.", "properties.", "person.", "user.", "crm."} {
		if key, found := strings.CutPrefix(reference, prefix); found {
			return key
		}
	}
	return reference
}

// PersonalMask defines how a document is masked.
type PersonalMask struct {
	Fields PersonalFields
	// Shown is true if the caller sees personal data.
	Shown bool
	// Hooks is true if the secrets in addresses are hidden.
	Hooks bool
	// Plain are the members outside of open objects that are copied unchanged.
	Plain []string
}

// MaskDocument hides personal data in a JSON document. It masks texts by their shape, members of open objects by their
// names, and values of conditions by the field. It reads the document once and changes nothing else in it. A document
// that is not JSON becomes null.
func MaskDocument(document []byte, mask PersonalMask) []byte {
	m := documentMask{in: document, mask: mask}
	m.space()
	if !m.value(maskPlace{}) {
		return []byte("null")
	}
	m.space()
	if m.at < len(m.in) {
		return []byte("null")
	}
	return m.out.Bytes()
}

// maskPlace holds the known facts about the place of a value.
type maskPlace struct {
	// open is set within free content. personal is set if a name makes the value personal. member is set if the value
	// is about a member of the organization. company is set if the value describes a company, which is not a person.
	open, personal, member, company bool
	depth                           int
}

// maxMaskDepth limits the nesting of answers.
const maxMaskDepth = 100

// documentMask copies a document from in to out.
type documentMask struct {
	in   []byte
	at   int
	out  bytes.Buffer
	mask PersonalMask
}

// space copies white space.
func (m *documentMask) space() {
	begin := m.at
	for m.at < len(m.in) && (m.in[m.at] == ' ' || m.in[m.at] == '\n' || m.in[m.at] == '\t' || m.in[m.at] == '\r') {
		m.at++
	}
	m.out.Write(m.in[begin:m.at])
}

// value copies and masks a value. It returns false if the document is broken.
func (m *documentMask) value(place maskPlace) bool {
	if m.at >= len(m.in) || place.depth > maxMaskDepth {
		return false
	}
	place.depth++
	switch m.in[m.at] {
	case '{':
		return m.object(place)
	case '[':
		return m.array(place)
	case '"':
		raw, ok := m.text()
		if ok {
			m.write(raw, place)
		}
		return ok
	}
	begin := m.at
	for m.at < len(m.in) && strings.IndexByte(",]} \n\t\r", m.in[m.at]) < 0 {
		m.at++
	}
	word := m.in[begin:m.at]
	if place.personal && !m.mask.Shown && len(word) > 0 && (word[0] == '-' || word[0] >= '0' && word[0] <= '9') {
		m.quote(MaskText(string(word)))
	} else {
		m.out.Write(word)
	}
	return len(word) > 0
}

// text reads a string and its quotes.
func (m *documentMask) text() ([]byte, bool) {
	begin := m.at
	for m.at++; m.at < len(m.in); m.at++ {
		switch m.in[m.at] {
		case '\\':
			m.at++
		case '"':
			m.at++
			return m.in[begin:m.at], true
		}
	}
	return nil, false
}

// write copies and masks a text.
func (m *documentMask) write(raw []byte, place maskPlace) {
	plain := decodeText(raw)
	masked := m.masked(plain, place)
	if masked == plain {
		m.out.Write(raw)
		return
	}
	m.quote(masked)
}

func (m *documentMask) masked(plain string, place maskPlace) string {
	switch {
	case m.mask.Shown:
		return m.hooks(plain)
	case place.personal:
		return MaskText(plain)
	case place.member && !place.open:
		return m.hooks(plain)
	case len(plain) > 1 && (plain[0] == '{' || plain[0] == '[') && json.Valid([]byte(plain)):
		place.open = true
		inner := documentMask{in: []byte(plain), mask: m.mask}
		if inner.value(place) {
			return inner.out.String()
		}
	}
	return MaskShapes(m.hooks(plain))
}

// hooks hides the secrets in addresses from callers that may not write them.
func (m *documentMask) hooks(plain string) string {
	if !m.mask.Hooks {
		return plain
	}
	return HideAddresses(plain)
}

// HideAddresses hides the parts that may hold a secret in every address of a text: the account, and everything after
// the host. All these parts can contain the tokens of chats and webhooks.
func HideAddresses(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "://")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString("://")
		end := strings.IndexAny(rest, " \t\n\"'<>\\")
		if end < 0 {
			end = len(rest)
		}
		address := rest[:end]
		text = rest[end:]
		host := address
		if at := strings.IndexAny(address, "/?#"); at >= 0 {
			host = address[:at]
		}
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			out.WriteString("***@")
			host = host[at+1:]
			address = address[at+1:]
		}
		out.WriteString(host)
		if len(address) > len(host)+1 {
			out.WriteString("/***")
		} else {
			out.WriteString(address[len(host):])
		}
	}
}

// decodeText returns the text of a JSON string.
func decodeText(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var plain string
	if json.Unmarshal(raw, &plain) != nil {
		return string(raw[1 : len(raw)-1])
	}
	return plain
}

func (m *documentMask) quote(text string) {
	encoder := json.NewEncoder(&m.out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // encoding a text into a buffer does not fail
	m.out.Truncate(m.out.Len() - 1)
}

// array copies a list.
func (m *documentMask) array(place maskPlace) bool {
	return m.each(']', func() bool { return m.value(place) })
}

// each copies the elements between brackets.
func (m *documentMask) each(closing byte, one func() bool) bool {
	m.out.WriteByte(m.in[m.at])
	m.at++
	for m.space(); m.at < len(m.in); m.space() {
		switch m.in[m.at] {
		case closing:
			m.out.WriteByte(closing)
			m.at++
			return true
		case ',':
			m.out.WriteByte(',')
			m.at++
		default:
			if !one() {
				return false
			}
		}
	}
	return false
}

// object copies an object.
func (m *documentMask) object(place maskPlace) bool {
	ofField, entry := false, false
	return m.each('}', func() bool {
		name, ok := m.memberName(place)
		if !ok {
			return false
		}
		inner := m.inside(place, name)
		if entry && name == "data" {
			inner.open = place.open
		}
		inner.personal = inner.personal || ofField && (strings.HasPrefix(name, "value") || name == "operand")
		begin := m.at
		if !m.value(inner) {
			return false
		}
		if fieldNames[name] && m.in[begin] == '"' {
			ofField = m.mask.Fields.Has(FieldKey(decodeText(m.in[begin:m.at])))
		}
		if name == "kind" && m.in[begin] == '"' {
			entry = isEntryKind(decodeText(m.in[begin:m.at]))
		}
		return true
	})
}

// isEntryKind reports whether a word is the kind of an entry of a timeline (person.TimelineKinds).
func isEntryKind(word string) bool { return word == "event" || word == "activity" || word == "error" }

// memberName copies the name of a member and the colon after it, and returns the name.
func (m *documentMask) memberName(place maskPlace) (name string, ok bool) {
	if m.in[m.at] != '"' {
		return "", false
	}
	raw, ok := m.text()
	if !ok {
		return "", false
	}
	m.write(raw, maskPlace{open: place.open})
	m.space()
	if m.at >= len(m.in) || m.in[m.at] != ':' {
		return "", false
	}
	m.out.WriteByte(':')
	m.at++
	m.space()
	return decodeText(raw), true
}

// inside returns the place of the member with this name. The member data holds the rows of a list or the content of an
// entry. Only an object in it is free content, except in an entry of a timeline, where it describes an event, an activity or
// an error, and names none of its members after a person.
func (m *documentMask) inside(place maskPlace, name string) maskPlace {
	inner := place
	if place.open {
		inner.personal = place.personal || m.mask.Fields.Has(name) && !(place.company && name == "name")
		inner.company = name == "company" || name == "group"
		return inner
	}
	inner.open = openMembers[name] || name == "data" && m.at < len(m.in) && m.in[m.at] == '{'
	inner.member = place.member || memberFields[name] || cursorFields[name] || slices.Contains(m.mask.Plain, name)
	return inner
}
