// Package accesslog reads the combined log format of Apache and nginx: one
// request a line,
//
//	address identity user [time] "request" status size "referrer" "user agent"
//
// Parse accepts any bytes and reports for each line whether it has this form. What
// follows the user agent is ignored, since servers are often set up to append
// fields. The package does no I/O and does not know what becomes of a line.
package accesslog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"
)

// Line is one request. A field that the server had no value for is "-".
type Line struct {
	Address string
	Time    time.Time
	// Method and Target are empty where the client sent no HTTP request line.
	Method, Target      string
	Status              int
	Referrer, UserAgent string
}

// timeLayout is the form of the time between the brackets.
const timeLayout = "02/Jan/2006:15:04:05 -0700"

// Parse reads one line without its line break; ok says whether it has the
// combined format. The result does not share memory with the line.
func Parse(line []byte) (parsed Line, ok bool) {
	rest := string(bytes.TrimSuffix(line, []byte{'\r'}))
	parsed.Address, rest, ok = strings.Cut(rest, " ")
	if !ok || parsed.Address == "" {
		return Line{}, false
	}
	// Identity and user come before the time. User names may hold spaces.
	_, rest, ok = strings.Cut(rest, " [")
	if !ok {
		return Line{}, false
	}
	stamp, rest, ok := strings.Cut(rest, `] "`)
	if !ok {
		return Line{}, false
	}
	var err error
	if parsed.Time, err = time.Parse(timeLayout, stamp); err != nil {
		return Line{}, false
	}
	request, rest, ok := cutQuoted(rest)
	if !ok {
		return Line{}, false
	}
	parsed.Method, parsed.Target = splitRequest(request)
	if parsed.Status, rest, ok = cutStatus(rest); !ok {
		return Line{}, false
	}
	if rest, ok = cutSize(rest); !ok {
		return Line{}, false
	}
	if parsed.Referrer, rest, ok = cutQuoted(rest); !ok {
		return Line{}, false
	}
	if rest, ok = strings.CutPrefix(rest, ` "`); !ok {
		return Line{}, false
	}
	if parsed.UserAgent, rest, ok = cutQuoted(rest); !ok || rest != "" && rest[0] != ' ' {
		return Line{}, false
	}
	return parsed, true
}

// cutStatus takes ` 200` from the front of a text.
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

// cutSize takes `123 "` or `- "` from the front of a text.
func cutSize(text string) (rest string, ok bool) {
	word, rest, ok := strings.Cut(text, ` "`)
	if !ok || word == "" || word != "-" && strings.Trim(word, "0123456789") != "" {
		return "", false
	}
	return rest, true
}

// cutQuoted takes a text up to its closing quote; the opening one is gone
// already. A backslash escapes what follows it.
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

// unescape undoes the escapes that servers write for quotes, backslashes and
// bytes that do not print. A text whose bytes would not be readable afterwards
// stays as it was logged.
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
	if !utf8.Valid(out) || bytes.ContainsFunc(out, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return text
	}
	return string(out)
}

// splitRequest returns method and target of a request line; both are empty for
// one that is not HTTP.
func splitRequest(request string) (method, target string) {
	method, rest, ok := strings.Cut(request, " ")
	if !ok || method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", ""
	}
	// A target may hold spaces where the server did not refuse them; the
	// protocol is the last word. HTTP/0.9 has none.
	if at := strings.LastIndexByte(rest, ' '); at >= 0 && strings.HasPrefix(rest[at+1:], "HTTP/") {
		rest = rest[:at]
	}
	if rest == "" {
		return "", ""
	}
	return method, rest
}

// Path returns the target without its query, and without scheme and host
// where a proxy's client named them.
func (l Line) Path() string {
	path, _, _ := strings.Cut(l.Target, "?")
	if _, afterScheme, ok := strings.Cut(path, "://"); ok && path[0] != '/' {
		_, afterHost, _ := strings.Cut(afterScheme, "/")
		return "/" + afterHost
	}
	return path
}

// HasQuery reports whether the target has a query that is not empty.
func (l Line) HasQuery() bool {
	_, query, _ := strings.Cut(l.Target, "?")
	return query != ""
}

// IsPageView reports whether the line counts as a page view: a GET that was
// answered with a page, fresh or from the client's cache.
func (l Line) IsPageView() bool {
	return l.Method == "GET" && (l.Status == 200 || l.Status == 304) && !isStatic(l.Path())
}

// Visitor returns the identifier that stands for the person who made the request:
// 16 hexadecimal digits of the hash of address and user agent.
func (l Line) Visitor() string {
	sum := sha256.Sum256([]byte(l.Address + "\n" + l.UserAgent))
	return hex.EncodeToString(sum[:8])
}

// isStatic reports whether a path ends like a file that pages are made of or that
// is downloaded. The comparison is exact: paths are case-sensitive.
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
