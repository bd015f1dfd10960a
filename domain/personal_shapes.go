package domain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaskShapes returns s with MaskText applied to each part that has the shape of personal data. It masks e-mail
// addresses, telephone, card and account numbers, national ids and credentials. It also masks the values of personal
// parameters and path segments. It reads s once, without regular expressions. It does not change a text that it has
// masked already.
func MaskShapes(s string) string {
	if !mayHoldShape(s) {
		return s
	}
	scan := shapeScan{text: s}
	for at := 0; at < len(s); {
		start, end := scan.shapeAt(at)
		if end == 0 {
			at++
			continue
		}
		scan.hide(start, end)
		at = end
	}
	return scan.masked()
}

// HasShape reports whether a text holds data that MaskShapes hides.
func HasShape(s string) bool { return MaskShapes(s) != s }

// mayHoldShape reports whether a text holds one of the characters that every shape needs.
func mayHoldShape(s string) bool {
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '@', c == '%', c == '=', c == 0xEF, c == '/' && i > 0, c == '_' && i > 0, c == '-' && i > 0, c == 'A' && strings.HasPrefix(s[i:], "AKIA"), c == 'e' && strings.HasPrefix(s[i:], "eyJ"):
			return true
		case c >= '0' && c <= '9':
			if digits++; digits >= 7 {
				return true
			}
		}
	}
	return false
}

// shapeScan is the state of a scan through a text.
type shapeScan struct {
	text string
	done int
	out  strings.Builder
}

// hide masks a part that follows the last masked part.
func (s *shapeScan) hide(start, end int) {
	s.out.WriteString(s.text[s.done:start])
	s.out.WriteString(MaskText(s.text[start:end]))
	s.done = end
}

func (s *shapeScan) masked() string {
	if s.done == 0 {
		return s.text
	}
	return s.out.String() + s.text[s.done:]
}

// shapeAt returns the part with a shape at a position. end is 0 if it finds none. For an address, the position is that
// of its separator, and the part begins before it.
func (s *shapeScan) shapeAt(at int) (start, end int) {
	text, c := s.text, s.text[at]
	if c == '@' || c == '%' || c == 0xEF {
		if start, end = s.email(at); end > 0 {
			return start, end
		}
	}
	switch {
	case c == '=':
		return s.parameter(at)
	case c == '/':
		return segmentAfter(text, at)
	case at > 0 && IsWordByte(text[at-1]):
		return 0, 0
	case c == '+', c == '(', c == '%', c >= '0' && c <= '9':
		end = numberShape(text, at)
	}
	if end == 0 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') {
		end = wordShape(text, at)
	}
	if end == 0 {
		return 0, 0
	}
	return at, end
}

// email returns the address around a separator.
func (s *shapeScan) email(at int) (start, end int) {
	separator := emailSeparator(s.text[at:])
	if separator == 0 {
		return 0, 0
	}
	end = at + separator + emailDomain(s.text[at+separator:])
	start = s.done + emailLocal(s.text[s.done:at])
	if end == at+separator || start == at {
		return 0, 0
	}
	return start, end
}

// emailSeparator returns the length of the @ at the start of s, or 0 if it finds none. The @ may be plain, full-width
// or small, and percent-encoded once or more.
func emailSeparator(s string) int {
	for _, sign := range [...]string{"@", "＠", "﹫"} {
		if strings.HasPrefix(s, sign) {
			return len(sign)
		}
	}
	if s[0] != '%' {
		return 0
	}
	rest := s[1:]
	for strings.HasPrefix(rest, "25") {
		rest = rest[2:]
	}
	if strings.HasPrefix(rest, "40") {
		return len(s) - len(rest) + 2
	}
	if len(rest) >= 2 && strings.EqualFold(rest[:2], "ef") {
		return wideSeparator(s)
	}
	return 0
}

// wideSeparator returns the length of a percent-encoded full-width @, or 0 if it finds none.
func wideSeparator(s string) int {
	at := 0
	for _, byteOf := range [...]string{"ef", "bc", "a0"} {
		if at >= len(s) || s[at] != '%' {
			return 0
		}
		for at++; strings.HasPrefix(s[at:], "25"); {
			at += 2
		}
		if len(s) < at+2 || !strings.EqualFold(s[at:at+2], byteOf) {
			return 0
		}
		at += 2
	}
	return at
}

// emailDomain returns the length of the domain at the start of s, or 0 if it finds none. A domain has at least two
// labels, and a label after the first holds a letter.
func emailDomain(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool {
		return r != '.' && r != '．' && r != '。' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	if end < 0 {
		end = len(s)
	}
	domain := strings.TrimRight(s[:end], ".-．。")
	dot := strings.IndexAny(domain, ".．。")
	if dot <= 0 || !strings.ContainsFunc(domain[dot:], unicode.IsLetter) {
		return 0
	}
	return len(domain)
}

// emailLocal returns the start of the local part at the end of s, or len(s) if it finds none.
func emailLocal(s string) int {
	last := strings.LastIndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune(".!#$%*+^_{|}~'-", r)
	})
	if last < 0 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(s[last:])
	return last + size
}

// maxParameterName is the longest name of a parameter that is checked.
const maxParameterName = 100

// parameter returns the value after an equals sign if the name before it is the name of a personal field or a secret.
func (s *shapeScan) parameter(at int) (start, end int) {
	begin := at
	for begin > s.done && (IsWordByte(s.text[begin-1]) || strings.IndexByte("-.[]$%", s.text[begin-1]) >= 0) {
		begin--
	}
	if begin == at || at-begin > maxParameterName || begin > 0 && begin == s.done {
		return 0, 0
	}
	if begin > 0 && strings.IndexByte("?&;#/ \t\n\"'(,{", s.text[begin-1]) < 0 {
		return 0, 0
	}
	name := s.text[begin:at]
	if !IsPersonal(name) && !IsSecretName(name) {
		return 0, 0
	}
	length := strings.IndexAny(s.text[at+1:], "&;# \t\n\"'<>")
	if length < 0 {
		length = len(s.text) - at - 1
	}
	if length == 0 {
		return 0, 0
	}
	return at + 1, at + 1 + length
}

// segmentAfter returns the path segment after the one that ends at a slash: /ssn/…, /pw-reset/…. The first segment must
// name personal data or a credential, and the second must not be a plain word.
func segmentAfter(text string, at int) (start, end int) {
	begin := strings.LastIndexAny(text[:at], "/?&=# ") + 1
	if begin == 0 && at > 0 && text[0] != '/' || at-begin < 2 || at-begin > 40 {
		return 0, 0
	}
	length := strings.IndexAny(text[at+1:], "/?&#; \t\n\"'<>")
	if length < 0 {
		length = len(text) - at - 1
	}
	segment, name := text[at+1:at+1+length], plainName(text[begin:at])
	opens := strings.ContainsAny(segment, "0123456789") || len(segment) >= 20
	if length < 4 || !opens || !segmentNames[name] && !strings.HasSuffix(name, "reset") && !strings.HasSuffix(name, "token") {
		return 0, 0
	}
	return at + 1, at + 1 + length
}

// segmentNames are the path segments that precede personal data and credentials.
//
//nolint:gochecknoglobals // never changed
var segmentNames = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range strings.Fields(`ssn phone telephone tel mobile fax email mail iban card passport nationalid taxid dob birthday birthdate cpf dni pesel bsn ip
		resetpassword passwordreset newpassword setpassword password recover recovery forgot forgotpassword verify verification confirm confirmation
		verifyemail confirmemail activate activation invite invitation invitations join magic magiclink login signin autologin sso unsubscribe optout
		token auth oauth session secret key apikey otp code`) {
		names[name] = true
	}
	return names
}()
