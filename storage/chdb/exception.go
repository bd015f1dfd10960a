package chdb

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// ClickHouse exception codes that this package raises itself or maps to an HTTP status.
const (
	codeBadArguments      = 36
	codeUnknownTable      = 60
	codeSyntaxError       = 62
	codeUnknownDatabase   = 81
	codeSocketTimeout     = 209
	codeNetworkError      = 210
	codeCancelled         = 394
	codeUnknownException  = 1002
	codeUnsupportedMethod = 1
	codeNotImplemented    = 48
)

// exception is an error with the engine's own text: "Code: 60. DB::Exception: … (UNKNOWN_TABLE)".
type exception struct {
	code int
	text string
}

func (e *exception) Error() string { return e.text }

// newException returns an exception of this package in the form of an engine's exception.
func newException(code int, name, format string, args ...any) *exception {
	return &exception{code: code, text: fmt.Sprintf("Code: %d. DB::Exception: %s (%s)", code, fmt.Sprintf(format, args...), name)}
}

var exceptionCode = regexp.MustCompile(`Code: (\d+)\.`)

// parseException parses the code of a library's error text. If the library itself refused the call, the text has no
// code and becomes an unknown exception.
func parseException(text string) *exception {
	text = strings.TrimSpace(text)
	if m := exceptionCode.FindStringSubmatchIndex(text); m != nil {
		if code, err := strconv.Atoi(text[m[2]:m[3]]); err == nil && code > 0 {
			return &exception{code: code, text: text[m[0]:]}
		}
	}
	return newException(codeUnknownException, "UNKNOWN_EXCEPTION", "%s", text)
}

// status returns the HTTP status that ClickHouse's own server sends for the code.
func (e *exception) status() int {
	switch e.code {
	case codeBadArguments, codeSyntaxError:
		return http.StatusBadRequest
	case codeUnknownTable, codeUnknownDatabase:
		return http.StatusNotFound
	case codeSocketTimeout:
		return http.StatusServiceUnavailable
	case codeNotImplemented, codeUnsupportedMethod:
		return http.StatusNotImplemented
	default:
		return http.StatusInternalServerError
	}
}

// exceptionTag ends the marker of an exception inside a result. A result can contain the marker as data. ClickHouse
// clients therefore compare the tag with the one in the response header. The client reads 16 bytes.
const exceptionTag = "svcInProcessTag0"

// minFramedText is the minimum length of a framed text. A reader of Native blocks takes the frame for a block header, a
// column name of 95 bytes and a type name of at most 127 bytes. A frame longer than both makes the reader fail on the
// type. It never ends exactly where the data ends, which the reader would take for the end of the result.
const minFramedText = 256

// frame wraps the exception for a response whose status is already sent.
func (e *exception) frame() string {
	text := e.text + strings.Repeat(" ", max(0, minFramedText-len(e.text)))
	return fmt.Sprintf("\r\n__exception__\r\n%s\r\n%s\n%d %s\r\n__exception__\r\n", exceptionTag, text, len(text)+1, exceptionTag)
}
