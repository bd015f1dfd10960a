package flag

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// The kinds of values in a context.
type valueKind uint8

const (
	valueAbsent valueKind = iota
	valueNull
	valueString
	valueNumber
	valueBool
	valueList
	valueObject
)

// Value is one value of a context: the text of a string, else its JSON. It may alias the bytes from which it was
// parsed.
type Value struct {
	kind valueKind
	text string
}

// TextFlagValue is the value of a text. It, NumberFlagValue and ListFlagValue make values of stored data of persons.
func TextFlagValue(text string) Value { return Value{valueString, text} }

// NumberFlagValue is the value of a number.
func NumberFlagValue(number float64) Value {
	return Value{valueNumber, strconv.FormatFloat(number, 'f', -1, 64)}
}

// ListFlagValue is the value of a list of texts.
func ListFlagValue(texts []string) Value {
	encoded, _ := json.Marshal(texts) // texts always encode
	return Value{valueList, string(encoded)}
}

// JSONFlagValue is the value of a JSON text; absent if the text is invalid.
func JSONFlagValue(raw []byte) Value {
	s := flagScanner{data: append([]byte(nil), raw...)}
	value, ok := s.value(0)
	if s.space(); !ok || s.at != len(s.data) {
		return Value{}
	}
	return value
}

// Text returns the text of a value, and whether it is a string or a number, which can be a name.
func (v *Value) Text() (string, bool) {
	return v.text, v.kind == valueString || v.kind == valueNumber
}

// Null reports whether the value is absent or null.
func (v *Value) Null() bool { return v.kind == valueAbsent || v.kind == valueNull }

// number returns the number of a numeric value.
func (v *Value) number() float64 {
	number, _ := strconv.ParseFloat(v.text, 64) // the scanner has validated it
	return number
}

// maxScanDepth limits the nesting of contexts.
const maxScanDepth = 32

// flagScanner parses JSON without copying it: strings without escapes alias the data. It accepts the same input as
// encoding/json, except for nesting beyond maxScanDepth.
type flagScanner struct {
	data []byte
	at   int
}

func alias(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

func (s *flagScanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// take consumes one byte after white space.
func (s *flagScanner) take(wanted byte) bool {
	s.space()
	if s.at < len(s.data) && s.data[s.at] == wanted {
		s.at++
		return true
	}
	return false
}

// value reads any value.
func (s *flagScanner) value(depth int) (Value, bool) {
	s.space()
	if s.at >= len(s.data) || depth > maxScanDepth {
		return Value{}, false
	}
	from := s.at
	switch s.data[s.at] {
	case '"':
		text, ok := s.text()
		return Value{valueString, text}, ok
	case '{':
		ok := s.object(depth+1, nil)
		return Value{valueObject, alias(s.data[from:s.at])}, ok
	case '[':
		ok := s.list(depth+1, nil)
		return Value{valueList, alias(s.data[from:s.at])}, ok
	case 't':
		return Value{valueBool, "true"}, s.word("true")
	case 'f':
		return Value{valueBool, "false"}, s.word("false")
	case 'n':
		return Value{kind: valueNull}, s.word("null")
	default:
		ok := s.number()
		return Value{valueNumber, alias(s.data[from:s.at])}, ok
	}
}

func (s *flagScanner) word(word string) bool {
	if len(s.data)-s.at < len(word) || alias(s.data[s.at:s.at+len(word)]) != word {
		return false
	}
	s.at += len(word)
	return true
}

// text reads a string including its quotes.
func (s *flagScanner) text() (string, bool) {
	from, ascii := s.at, true
	for n := s.at + 1; n < len(s.data); n++ {
		switch c := s.data[n]; {
		case c == '"':
			if text := alias(s.data[from+1 : n]); ascii || utf8.ValidString(text) {
				s.at = n + 1
				return text, true
			}
			return s.escaped(from, n)
		case c == '\\':
			return s.escaped(from, n)
		case c < ' ':
			return "", false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false
}

// escaped reads a string with escapes, or with invalid UTF-8, with the standard library.
func (s *flagScanner) escaped(from, at int) (text string, ok bool) {
	for n := at; n < len(s.data); n++ {
		switch s.data[n] {
		case '\\':
			n++
		case '"':
			s.at = n + 1
			ok = json.Unmarshal(s.data[from:s.at], &text) == nil
			return text, ok
		}
	}
	return "", false
}

func (s *flagScanner) digits() bool {
	from := s.at
	for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
		s.at++
	}
	return s.at > from
}

func (s *flagScanner) number() bool {
	peek := func(c byte) bool { return s.at < len(s.data) && s.data[s.at] == c }
	if peek('-') {
		s.at++
	}
	if peek('0') {
		s.at++
	} else if !s.digits() {
		return false
	}
	if peek('.') {
		if s.at++; !s.digits() {
			return false
		}
	}
	if peek('e') || peek('E') {
		s.at++
		if peek('+') || peek('-') {
			s.at++
		}
		return s.digits()
	}
	return true
}

// object reads an object and calls each for its members; each returns false to refuse one. A nil each only validates.
func (s *flagScanner) object(depth int, each func(name string, value Value) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		if s.space(); s.at >= len(s.data) || s.data[s.at] != '"' {
			return false
		}
		name, ok := s.text()
		if !ok || !s.take(':') {
			return false
		}
		value, ok := s.value(depth)
		if !ok || each != nil && !each(name, value) {
			return false
		}
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// list reads a list and calls each for its elements, until each returns false.
func (s *flagScanner) list(depth int, each func(value Value) bool) bool {
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	for {
		value, ok := s.value(depth)
		if !ok || each != nil && !each(value) {
			return false
		}
		if !s.take(',') {
			return s.take(']')
		}
	}
}

// scanList calls each for the elements of a validated list, until each returns false.
func scanList(text string, each func(element Value) bool) {
	s := flagScanner{data: unsafe.Slice(unsafe.StringData(text), len(text))}
	s.list(0, each)
}
