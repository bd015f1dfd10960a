package domain

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
)

// Page is one page of a list: nextCursor is null on the last page.
type Page[T any] struct {
	Data       []T     `json:"data"`
	NextCursor *string `json:"nextCursor"`
	// Environment is the environment of the rows, if the list belongs to one.
	Environment string `json:"environment,omitempty"`
}

// Page sizes (contract 33).
const (
	DefaultPageSize   = 50
	MaxPageSize       = 200
	MaxEventPageSize  = 500
	BreakdownPageSize = 25
)

// ParseLimit parses a page size: empty is the default, more than the maximum is the maximum, anything but a positive
// integer is a problem.
func ParseLimit(word string, preset, maximum int) (int, *FieldError) {
	if word == "" {
		return preset, nil
	}
	limit, err := strconv.Atoi(word)
	if err != nil && !errors.Is(err, strconv.ErrRange) || limit < 1 {
		return 0, &FieldError{Field: "limit", Code: "invalid_value", Message: "The limit must be a positive integer."}
	}
	return min(limit, maximum), nil
}

// Cursors makes and reads the opaque cursors of lists. A cursor carries the keyset of the last row of its page. An HMAC
// binds it to its endpoint and filters.
type Cursors struct{ key []byte }

// NewCursors returns cursors signed with a key; nodes that share the key accept each other's cursors.
func NewCursors(key []byte) *Cursors { return &Cursors{key: key} }

const (
	cursorVersion = 1
	cursorMAC     = 12
)

// Encode returns the cursor of a keyset within a scope: the endpoint and every parameter that affects the list.
func (c *Cursors) Encode(scope string, keyset ...string) string {
	body, err := json.Marshal(keyset)
	if err != nil {
		return ""
	}
	raw := append([]byte{cursorVersion}, body...)
	return base64.RawURLEncoding.EncodeToString(append(raw, c.mac(scope, raw)...))
}

// Decode returns the keyset of a cursor. It fails with invalid_cursor if the cursor is broken, forged, of another
// scope, or not of the given size.
func (c *Cursors) Decode(scope, cursor string, size int) ([]string, error) {
	invalid := Errorf(CodeInvalidCursor, "The cursor does not belong to this list.")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= 1+cursorMAC || raw[0] != cursorVersion {
		return nil, invalid
	}
	body, mac := raw[:len(raw)-cursorMAC], raw[len(raw)-cursorMAC:]
	if !hmac.Equal(mac, c.mac(scope, body)) {
		return nil, invalid
	}
	var keyset []string
	if json.Unmarshal(body[1:], &keyset) != nil || len(keyset) != size {
		return nil, invalid
	}
	return keyset, nil
}

func (c *Cursors) mac(scope string, body []byte) []byte {
	h := hmac.New(sha256.New, c.key)
	h.Write([]byte(scope))
	h.Write([]byte{0})
	h.Write(body)
	return h.Sum(nil)[:cursorMAC]
}
