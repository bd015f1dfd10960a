package chdb

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Exception codes of ClickHouse that this package raises itself or maps to a status.
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

// exception is an error of the engine in the engine's own words: "Code: 60.
// DB::Exception: … (UNKNOWN_TABLE)".
type exception struct {
	code int
	text string
}

func (e *exception) Error() string { return e.text }

// newException makes an exception of this package look like one of the engine.
func newException(code int, name, format string, args ...any) *exception {
	return &exception{code: code, text: fmt.Sprintf("Code: %d. DB::Exception: %s (%s)", code, fmt.Sprintf(format, args...), name)}
}

var exceptionCode = regexp.MustCompile(`Code: (\d+)\.`)

// parseException reads the code out of an error text of the library. A text without a
// code (the library itself refused the call) becomes an unknown exception.
func parseException(text string) *exception {
	text = strings.TrimSpace(text)
	if m := exceptionCode.FindStringSubmatchIndex(text); m != nil {
		if code, err := strconv.Atoi(text[m[2]:m[3]]); err == nil && code > 0 {
			return &exception{code: code, text: text[m[0]:]}
		}
	}
	return newException(codeUnknownException, "UNKNOWN_EXCEPTION", "%s", text)
}

// status is the HTTP status that ClickHouse's own server gives for the code.
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

// exceptionTag ends the marker of an exception inside a result. A result can contain
// the marker as data; ClickHouse clients compare the tag with the response
// header to tell them apart. The client reads 16 bytes.
const exceptionTag = "svcInProcessTag0"

// minFramedText is the least length of a framed text. A reader of Native blocks takes
// the frame for a block header and a column name of 95 bytes and a type name of at most
// 127; a frame longer than both makes it fail on the type and never at the exact end of
// the data, which it would take for the end of the result.
const minFramedText = 256

// frame wraps the exception for a response whose status is already sent.
func (e *exception) frame() string {
	text := e.text + strings.Repeat(" ", max(0, minFramedText-len(e.text)))
	return fmt.Sprintf("\r\n__exception__\r\n%s\r\n%s\n%d %s\r\n__exception__\r\n", exceptionTag, text, len(text)+1, exceptionTag)
}
