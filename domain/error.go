package domain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Code is the machine-readable class of an error. A caller may branch on it. The table of Codes fixes its HTTP status
// and whether a retry can help.
type Code string

// The codes that an answer may carry.
const (
	CodeInvalidRequest   Code = "invalid_request"
	CodeInvalidCursor    Code = "invalid_cursor"
	CodeUnauthorized     Code = "unauthorized"
	CodeForbidden        Code = "forbidden"
	CodeModuleDisabled   Code = "module_disabled"
	CodePasskeyRequired  Code = "passkey_required"
	CodeNotFound         Code = "not_found"
	CodeMethodNotAllowed Code = "method_not_allowed"
	CodeNotAcceptable    Code = "not_acceptable"
	CodeConflict         Code = "conflict"
	CodePrecondition     Code = "precondition_failed"
	CodeTooLarge         Code = "payload_too_large"
	CodeUnsupportedMedia Code = "unsupported_media_type"
	CodeRateLimited      Code = "rate_limited"
	CodeInternal         Code = "internal"
	CodeNotAvailable     Code = "not_available"
	CodeUnavailable      Code = "unavailable"
	CodeQueryTimeout     Code = "query_timeout"
)

// CodeInfo defines the HTTP answer of a code.
type CodeInfo struct {
	Code   Code
	Status int
	Title  string
	// Retryable says that the same request may succeed later without a change.
	Retryable bool
	// Meaning is the sentence on the reference page.
	Meaning string
}

// Codes lists every code once. It generates the reference page and maps codes to statuses.
func Codes() []CodeInfo {
	return []CodeInfo{
		{CodeInvalidRequest, 400, "Bad request", false, "The request breaks a rule; errors[] names each field, why, and what is allowed."},
		{CodeInvalidCursor, 400, "Bad request", false, "The cursor was not issued by this endpoint for these parameters; start again without it."},
		{CodeUnauthorized, 401, "Unauthorized", false, "No token or key was sent, or it is unknown, revoked or expired."},
		{CodeForbidden, 403, "Forbidden", false, "The token lacks the scope or permission named in required, or the action is not offered here."},
		{CodeModuleDisabled, 403, "Module disabled", false, "The application has switched this endpoint's module off."},
		{CodePasskeyRequired, 403, "Passkey required", false, "The console session needs a fresh passkey."},
		{CodeNotFound, 404, "Not found", false, "There is no such thing that this token may address."},
		{CodeMethodNotAllowed, 405, "Method not allowed", false, "The path exists for the methods in the Allow header."},
		{CodeNotAcceptable, 406, "Not acceptable", false, "The endpoint answers another media type than Accept lets pass; detail names it."},
		{CodeConflict, 409, "Conflict", false, "The request contradicts the present state; detail says how."},
		{CodePrecondition, 412, "Precondition failed", false, "If-Match names a version that is no longer the present one."},
		{CodeTooLarge, 413, "Payload too large", false, "The body is over the limit named in detail."},
		{CodeUnsupportedMedia, 415, "Unsupported media type", false, "The body's type or encoding is not accepted."},
		{CodeRateLimited, 429, "Too many requests", true, "The limit of the token is used up; wait for Retry-After seconds."},
		{CodeInternal, 500, "Internal error", true, "Something failed here; the request id finds it in the log."},
		{CodeNotAvailable, 501, "Not available", false, "This deployment was built without the module."},
		{CodeUnavailable, 503, "Unavailable", true, "The log or the store does not answer; wait for Retry-After seconds and send the same again. Where events were sent, accepted says none, or unknown where some of them may be stored."},
		{CodeQueryTimeout, 504, "Query timeout", true, "The query took too long; narrow the range or drop a filter."},
	}
}

// Values lists the codes.
func (Code) Values() []Code {
	var codes []Code
	for _, info := range Codes() {
		codes = append(codes, info.Code)
	}
	return codes
}

// InfoOf returns the row of a code; an unknown code is internal.
func InfoOf(code Code) CodeInfo {
	internal := CodeInfo{}
	for _, info := range Codes() {
		if info.Code == code {
			return info
		}
		if info.Code == CodeInternal {
			internal = info
		}
	}
	return internal
}

// FieldError is one problem of a request.
type FieldError struct {
	Field   string   `json:"field"`
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Allowed []string `json:"allowed,omitempty"`
}

// Required names the scope or permission that a forbidden call lacked.
type Required struct {
	Scope      Scope      `json:"scope,omitempty"`
	Permission Permission `json:"permission,omitempty"`
}

// Error is the only error type that reaches callers. Any other error is answered as internal, and its text appears only
// in the log.
type Error struct {
	Code    Code
	Message string
	// Fields lists every problem of an invalid request.
	Fields []FieldError
	// Required is set with CodeForbidden if a scope or permission was missing.
	Required *Required
	// Reason refines a conflict or a refusal with one word, for example target_changed.
	Reason string
	// Module is set with CodeModuleDisabled.
	Module Module
	// RetryAfter is set with codes for which a later attempt may succeed.
	RetryAfter time.Duration
	// Rate is set with CodeRateLimited if a limit other than the token's was reached.
	Rate *RateState
	// Accepted is set with CodeUnavailable if events were sent.
	Accepted Acceptance
	// Turn is set with a conflict about a conversation of the assistant.
	Turn *TurnProblem
	// Present is set with a conflict about a revision.
	Present *PresentRevision
}

// PresentRevision is the detail of a conflict: the present revision, which the change did not expect, with its value.
type PresentRevision struct {
	Revision int64
	Policy   any
}

// TurnProblem is the reason why a conversation refuses a question or a decision.
type TurnProblem struct {
	ConversationID string `json:"conversationId,omitempty"`
	// conversation.ActionStatus is the [conversation.ActionStatus] of an action that can no longer be decided.
	ActionStatus string          `json:"actionStatus,omitempty"`
	Actions      []PendingAction `json:"actions,omitempty"`
}

// PendingAction is an action that must be decided first.
type PendingAction struct {
	ID        string    `json:"id"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Acceptance says whether items of a request were accepted although the request was not fully answered.
type Acceptance string

// The acceptances: nothing was or will be accepted, or it is unknown.
const (
	AcceptedNone    Acceptance = "none"
	AcceptedUnknown Acceptance = "unknown"
)

// Error returns the code and the sentence for people.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf returns an error of a code with a sentence for people.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns an invalid_request error that lists the given problems. The message of the error is the message of
// the first problem.
func Invalid(fields ...FieldError) *Error {
	message := "The request is not valid."
	if len(fields) > 0 {
		message = fields[0].Message
	}
	return &Error{Code: CodeInvalidRequest, Message: message, Fields: fields}
}

// DidYouMean returns a question with the known word nearest to a misspelt one, for the end of a sentence. It returns ""
// if none is near. prefix is written before the word.
func DidYouMean(word, prefix string, known []string) string {
	nearest, least := "", 1+max(1, len(word)/4)
	for _, candidate := range known {
		if len(candidate) > 2*len(word)+1 || len(word) > 2*len(candidate)+1 {
			continue // too far, and a caller's word may be long
		}
		if d := editDistance(word, candidate); d < least {
			nearest, least = candidate, d
		}
	}
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, nearest)
}

// editDistance counts the bytes that must be added, removed, changed, or swapped with their neighbour to turn one word
// into the other.
func editDistance(a, b string) int {
	var before []int
	previous, current := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		current[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			current[j+1] = min(previous[j+1]+1, current[j]+1, previous[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
		}
		before, previous, current = previous, current, make([]int, len(b)+1)
	}
	return previous[len(b)]
}

// NotFound returns the error for anything that does not exist or belongs to another tenant; both read the same.
func NotFound(what string) *Error {
	return Errorf(CodeNotFound, "No such %s.", what)
}

// Unavailable returns the error for a dependency that does not answer.
func Unavailable(what string, retryAfter time.Duration) *Error {
	return &Error{Code: CodeUnavailable, Message: what + " does not answer.", RetryAfter: retryAfter}
}

// NotAccepted is Unavailable if nothing of the request was or will be stored.
func NotAccepted(what string, retryAfter time.Duration) *Error {
	return &Error{Code: CodeUnavailable, Accepted: AcceptedNone, Message: what + " does not answer; nothing was accepted.", RetryAfter: retryAfter}
}

// Unsure is Unavailable if the data of the request may be stored nevertheless.
func Unsure(what string, retryAfter time.Duration) *Error {
	return &Error{
		Code: CodeUnavailable, Accepted: AcceptedUnknown, RetryAfter: retryAfter,
		Message: what + " did not acknowledge in time; what was sent may have been accepted. Send it again with the same ids.",
	}
}

// ErrBacklog refuses a save although the log answers: too much data of its tenant waits for the store.
var ErrBacklog = errors.New("too much waits for the store")

// ErrFenced refuses a write by an owner after the end of its generation.
var ErrFenced = errors.New("generation has ended")

// CodeOf returns the code of an error; errors of other types are internal.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// MaxNesting is the greatest depth of external JSON. Decoders recurse once per level, and not every decoder has its own
// limit: a few kilobytes of compressed brackets would exhaust the stack.
const MaxNesting = 64

// ErrTooDeep is the error of JSON that is nested deeper than MaxNesting.
var ErrTooDeep = fmt.Errorf("the JSON is nested deeper than %d levels", MaxNesting)

// TooDeep reports whether a text is nested deeper than MaxNesting before the first byte at which it stops being JSON.
// It accepts any bytes, reads them once and allocates nothing.
func TooDeep(text []byte) bool {
	const sparse = 32 // bytes per bracket from which searching for brackets is faster
	opening := bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{"))
	switch {
	case opening <= MaxNesting:
		return false
	case opening > len(text)/sparse, bytes.Contains(text, []byte(`\"`)):
		return tooDeepByBytes(text)
	}
	return tooDeepByBrackets(text)
}

// tooDeepByBytes is TooDeep for any text.
func tooDeepByBytes(text []byte) bool {
	level, quoted := 0, false
	for at := 0; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			quoted = !quoted
		case quoted:
			if c == '\\' {
				at++ // the character after a backslash ends nothing
			}
		case c|' ' == '{': // or [
			if level++; level > MaxNesting {
				return true
			}
		case c|' ' == '}': // or ]
			level--
		}
	}
	return false
}

// tooDeepByBrackets is TooDeep for a text without escaped quotes: a bracket is part of a string if the number of quotes
// before it is odd.
func tooDeepByBrackets(text []byte) bool {
	const brackets = "[{]}"
	var next [len(brackets)]int
	for i := range next {
		next[i] = indexFrom(text, 0, brackets[i])
	}
	for level, quotes, from := 0, 0, 0; ; {
		first := 0
		for i := range next {
			if next[i] < next[first] {
				first = i
			}
		}
		at := next[first]
		if at == len(text) {
			return false
		}
		quotes += bytes.Count(text[from:at], []byte{'"'})
		from, next[first] = at, indexFrom(text, at+1, brackets[first])
		switch {
		case quotes%2 == 1:
		case first > 1:
			level--
		case level == MaxNesting:
			return true
		default:
			level++
		}
	}
}

// indexFrom returns the next place of a byte, or the length of the text.
func indexFrom(text []byte, at int, c byte) int {
	if n := bytes.IndexByte(text[at:], c); n >= 0 {
		return at + n
	}
	return len(text)
}

// DecodeJSON is json.Unmarshal for external text. It fails with ErrTooDeep before it decodes anything.
func DecodeJSON(text []byte, into any) error {
	if TooDeep(text) {
		return ErrTooDeep
	}
	return json.Unmarshal(text, into)
}

// OutOfRange returns the problem of a number outside of its range.
func OutOfRange(field string, least, most int) FieldError {
	return FieldError{Field: field, Code: "out_of_range", Message: fmt.Sprintf("The field %s must be a number from %d to %d.", field, least, most)}
}
