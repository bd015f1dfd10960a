package mcp

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// answer turns the refusals of the transport, which are plain text, into errors of JSON-RPC without
// an id, so that every answer has one form.
type answer struct {
	http.ResponseWriter
	begun, refused bool
}

// WriteHeader begins the answer.
func (a *answer) WriteHeader(status int) {
	header := a.Header()
	a.begun = true
	header.Set("Cache-Control", "no-store") // another token may be answered otherwise
	if a.refused = status >= http.StatusBadRequest && strings.HasPrefix(header.Get("Content-Type"), "text/plain"); a.refused {
		header.Set("Content-Type", "application/json")
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the answer; a refusal's text comes in one.
func (a *answer) Write(text []byte) (int, error) {
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	if !a.refused {
		return a.ResponseWriter.Write(text)
	}
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": jsonrpc.CodeInvalidRequest, "message": strings.TrimSpace(string(text))},
	})
	if err != nil {
		return 0, err
	}
	if _, err := a.ResponseWriter.Write(body); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Unwrap gives http.ResponseController the writer below.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
