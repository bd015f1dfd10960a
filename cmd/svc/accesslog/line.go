// Package accesslog parses the access logs of web servers, proxies and networks, one request per line. Formats lists
// the formats. A parser accepts any bytes and reports for each line whether it has its format. The package does not
// know the use of the lines.
package accesslog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"
)

// Line is one request. A field without a value is "-". A directive of a format, which is not a request, has no time.
type Line struct {
	Address string
	Time    time.Time
	// Method and Target are empty if the client sent no HTTP request line.
	Method, Target      string
	Status              int
	Referrer, UserAgent string
}

// cutStatus removes ` 200 ` from the front of a text.
func cutStatus(text string) (status int, rest string, ok bool) {
	word, rest, ok := strings.Cut(strings.TrimPrefix(text, " "), " ")
	if !ok || len(word) != 3 || text[0] != ' ' {
		return 0, "", false
	}
	for _, digit := range []byte(word) {
		if digit < '0' || digit > '9' {
			return 0, "", false
		}
		status = status*10 + int(digit-'0')
	}
	return status, rest, true
}

// cutQuoted removes a text up to its closing quote; the opening quote is already removed. A backslash escapes the next
// character.
func cutQuoted(text string) (content, rest string, ok bool) {
	escaped := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			if escaped {
				return unescape(text[:i]), text[i+1:], true
			}
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

// unescape reverses the escapes that servers write for quotes, backslashes and unprintable bytes. If the result would
// not be readable, it returns the text as logged.
func unescape(text string) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		i++
		switch text[i] {
		case '"', '\\':
			out = append(out, text[i])
		case 'x':
			var b [1]byte
			if i+2 >= len(text) {
				return text
			}
			if _, err := hex.Decode(b[:], []byte(text[i+1:i+3])); err != nil {
				return text
			}
			out = append(out, b[0])
			i += 2
		default:
			return text
		}
	}
	if !printable(string(out)) {
		return text
	}
	return string(out)
}

// printable reports whether a text has no unprintable bytes.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// splitRequest returns method and target of a request line; both are empty if it is not HTTP.
func splitRequest(request string) (method, target string) {
	method, rest, ok := strings.Cut(request, " ")
	if !ok || method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", ""
	}
	// A target may contain spaces if the server did not refuse them; the protocol is the last word. HTTP/0.9 has no
	// protocol.
	if at := strings.LastIndexByte(rest, ' '); at >= 0 && strings.HasPrefix(rest[at+1:], "HTTP/") {
		rest = rest[:at]
	}
	if rest == "" {
		return "", ""
	}
	return method, rest
}

// Path returns the target without its query, and without the scheme and host that clients of a proxy send.
func (l Line) Path() string {
	path, _, _ := strings.Cut(l.OriginForm(), "?")
	return path
}

// OriginForm returns the target without scheme and host.
func (l Line) OriginForm() string { return originForm(l.Target) }

func originForm(target string) string {
	scheme, rest, found := strings.Cut(target, "://")
	if !found || strings.ContainsAny(scheme, "/?") {
		return target
	}
	rest = strings.TrimLeftFunc(rest, func(r rune) bool { return r != '/' && r != '?' })
	if strings.HasPrefix(rest, "/") {
		return rest
	}
	return "/" + rest
}

// HasQuery reports whether the target has a non-empty query.
func (l Line) HasQuery() bool {
	_, query, _ := strings.Cut(l.Target, "?")
	return query != ""
}

// IsPageView reports whether the line counts as a page view: a GET that was answered with a page, fresh or from the
// client's cache.
func (l Line) IsPageView() bool {
	return l.Method == "GET" && (l.Status == 200 || l.Status == 304) && !isStatic(l.Path())
}

// Visitor returns the identifier of the person that made the request: 16 hexadecimal digits of the hash of address and
// user agent.
func (l Line) Visitor() string {
	sum := sha256.Sum256([]byte(l.Address + "\n" + l.UserAgent))
	return hex.EncodeToString(sum[:8])
}

// isStatic reports whether a path has the extension of a file that is part of a page or is downloaded. The comparison
// is exact because paths are case-sensitive.
func isStatic(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return false
	}
	switch name[dot:] {
	case ".png", ".jpg", ".jpeg", ".gif", ".ico", ".svg", ".webp",
		".css", ".js", ".map", ".woff", ".woff2", ".ttf", ".eot",
		".mp4", ".webm", ".pdf", ".zip", ".gz", ".tar", ".tgz",
		".rpm", ".deb", ".jar", ".exe", ".dmg",
		".xml", ".txt", ".json", ".rss", ".atom":
		return true
	}
	return false
}
