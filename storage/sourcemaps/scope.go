package sourcemaps

import (
	"regexp"
	"strings"
)

// function returns the name of the innermost named function around a position of a JavaScript or TypeScript text, or
// "". Lines count from 1 and columns from 0, both in units of the text. It skips functions without a name.
func function(source string, line, column int) string {
	offset := offsetOf(source, line, column)
	if offset < 0 {
		return ""
	}
	for _, header := range headers(source[:offset]) {
		if name := headerName(header); name != "" {
			return name
		}
	}
	return ""
}

// offsetOf returns the byte offset of a line and column, or -1 if the text has no such line.
func offsetOf(source string, line, column int) int {
	offset := 0
	for ; line > 1; line-- {
		end := strings.IndexByte(source[offset:], '\n')
		if end < 0 {
			return -1
		}
		offset += end + 1
	}
	end := strings.IndexByte(source[offset:], '\n')
	if end < 0 {
		end = len(source) - offset
	}
	return offset + min(column, end)
}

// scanner reads a text and records the text before each open brace.
type scanner struct {
	text string
	at   int
	// from is the start of the current statement.
	from int
	open []opening
	// significant is the last non-space character. It distinguishes a division from a regular expression.
	significant byte
}

// opening is an open brace, bracket or parenthesis. header is the text before it in its statement.
type opening struct {
	header string
	from   int
	brace  byte
}

// headers returns the texts before the braces that are open at the end of a text, innermost first.
func headers(text string) (out []string) {
	s := scanner{text: text}
	for s.at < len(s.text) {
		s.step()
	}
	for i := len(s.open) - 1; i >= 0; i-- {
		if s.open[i].brace == '{' {
			out = append(out, s.open[i].header)
		}
	}
	return out
}

// step reads one token.
func (s *scanner) step() {
	c := s.text[s.at]
	switch {
	case c == '\'' || c == '"':
		s.skipQuoted(c)
	case c == '`':
		s.skipTemplate()
	case strings.HasPrefix(s.text[s.at:], "//"):
		s.skipTo("\n")
		return
	case strings.HasPrefix(s.text[s.at:], "/*"):
		s.skipTo("*/")
		return
	case c == '/' && s.beginsRegexp():
		s.skipRegexp()
	case c == '{' || c == '(' || c == '[':
		s.open = append(s.open, opening{s.text[s.from:s.at], s.from, c})
		s.at++
		if c == '{' {
			s.from = s.at
		}
	case c == '}' || c == ')' || c == ']':
		s.close(c)
	case c == ';':
		s.at++
		s.from = s.at
	default:
		s.at++
	}
	if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
		s.significant = c
	}
}

// close ends the innermost opening of a kind. Openings inside it that are still open end too.
func (s *scanner) close(c byte) {
	s.at++
	opener := map[byte]byte{'}': '{', ')': '(', ']': '['}[c]
	for i := len(s.open) - 1; i >= 0; i-- {
		if s.open[i].brace != opener {
			continue
		}
		ended := s.open[i]
		s.open = s.open[:i]
		// Braces inside parentheses, for example of a default value, do not end a statement.
		if c == '}' && i > 0 && s.open[i-1].brace != '{' {
			s.from = ended.from
		} else if c == '}' {
			s.from = s.at
		}
		return
	}
}

func (s *scanner) skipTo(end string) {
	s.at += 2
	if found := strings.Index(s.text[s.at:], end); found >= 0 {
		s.at += found + len(end)
		return
	}
	s.at = len(s.text)
}

// skipQuoted skips a quoted text. A line feed ends an unclosed one.
func (s *scanner) skipQuoted(quote byte) {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case quote, '\n':
			s.at++
			return
		}
	}
}

// skipTemplate skips a template literal. Its expressions may contain further templates.
func (s *scanner) skipTemplate() {
	for s.at++; s.at < len(s.text); {
		switch {
		case s.text[s.at] == '\\':
			s.at += 2
		case s.text[s.at] == '`':
			s.at++
			return
		case strings.HasPrefix(s.text[s.at:], "${"):
			depth := len(s.open)
			s.open = append(s.open, opening{brace: '{'})
			for s.at += 2; s.at < len(s.text) && len(s.open) > depth; {
				s.step()
			}
		default:
			s.at++
		}
	}
}

// beginsRegexp reports whether a slash begins a regular expression. It does if the text before it cannot end a value.
func (s *scanner) beginsRegexp() bool {
	return s.significant == 0 || strings.IndexByte("(,=:[!&|?{};+-*%~^<>", s.significant) >= 0
}

func (s *scanner) skipRegexp() {
	class := false
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
		case c == '\n':
			return
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			s.at++
			return
		}
	}
}

// The patterns of the text before a function's opening brace.
var (
	values   = regexp.MustCompile(`\{[^{}]*\}`)
	declared = regexp.MustCompile(`\bfunction\s*\*?\s*([\p{L}_$][\p{L}\p{N}_$]*)\s*(?:<[^{}]*>)?\s*\([^{}]*$`)
	assigned = regexp.MustCompile(`(?:^|[^\p{L}\p{N}_$])([\p{L}_$][\p{L}\p{N}_$]*)\s*(?::[^=;]*)?[=:]\s*(?:async\s*)?(?:function\b[^{}]*|(?:\([^{}]*\)|[\p{L}_$][\p{L}\p{N}_$]*)[^={}]*=>\s*)$`)
	method   = regexp.MustCompile(`(?:^|[\s*,{};])(?:(?:async|static|get|set|public|private|protected|readonly|override)\s+)*\*?\s*(#?[\p{L}_$][\p{L}\p{N}_$]*)\s*(?:<[^{}]*>)?\s*\([^{}]*\)\s*(?::[^{};=]*)?$`)
)

// statements returns words that precede a brace or parenthesis and are not function names.
func statements() []string {
	return []string{"if", "for", "while", "switch", "catch", "with", "function", "return", "await", "typeof", "new"}
}

// maxHeader limits how much of the text before a brace is read, in bytes.
const maxHeader = 4 << 10

// headerName returns the name of the function that a header begins, or "" for any other header.
func headerName(header string) string {
	header = strings.TrimSpace(header[max(0, len(header)-maxHeader):])
	for values.MatchString(header) {
		header = values.ReplaceAllString(header, "")
	}
	for _, form := range []*regexp.Regexp{declared, assigned, method} {
		if match := form.FindStringSubmatch(header); match != nil {
			for _, word := range statements() {
				if match[1] == word {
					return ""
				}
			}
			return match[1]
		}
	}
	return ""
}
