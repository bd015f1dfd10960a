package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// answer turns the refusals of the transport, which are plain text, into errors of JSON-RPC, so that every answer has
// one form.
type answer struct {
	http.ResponseWriter
	begun, refused bool
	// id is the id of the request's only message, nil if it has none.
	id json.RawMessage
	// held buffers an answer with ids that must be restored; nil sends each part as it comes.
	held   *bytes.Buffer
	status int
}

// WriteHeader begins the answer.
func (a *answer) WriteHeader(status int) {
	header := a.Header()
	a.begun, a.status = true, status
	header.Set("Cache-Control", "no-store") // The answer to another token may differ.
	if a.refused = status >= http.StatusBadRequest && strings.HasPrefix(header.Get("Content-Type"), "text/plain"); a.refused {
		header.Set("Content-Type", "application/json")
		a.held = nil
	}
	if a.held == nil {
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write writes a part of the answer; the text of a refusal arrives as a whole.
func (a *answer) Write(text []byte) (int, error) {
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	switch {
	case a.held != nil:
		return a.held.Write(text)
	case !a.refused:
		return a.ResponseWriter.Write(text)
	}
	failed := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: strings.TrimSpace(string(text))}
	if strings.HasPrefix(failed.Message, "JSON RPC not handled") { // The SDK has no such method.
		failed.Code = jsonrpc.CodeMethodNotFound
	}
	if _, err := a.ResponseWriter.Write(errorText(a.id, failed)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// refuse answers with an error of JSON-RPC.
func (a *answer) refuse(refused *jsonrpc.Error) {
	a.held = nil
	a.Header().Set("Content-Type", "application/json")
	a.WriteHeader(http.StatusBadRequest)
	_, _ = a.ResponseWriter.Write(errorText(a.id, refused)) // A client that has disconnected repeats the request.
}

// finish sends a buffered answer.
func (a *answer) finish() {
	if a.held == nil || !a.begun {
		return
	}
	a.Header().Del("Content-Length")
	a.ResponseWriter.WriteHeader(a.status)
	if a.held.Len() > 0 {
		_, _ = a.ResponseWriter.Write(restore(a.held.Bytes())) // A client that has disconnected repeats the request.
	}
}

// errorText is an error of JSON-RPC; a nil id is null.
func errorText(id json.RawMessage, refused *jsonrpc.Error) []byte {
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": refused}) // The id was read from JSON, so marshalling cannot fail.
	return body
}

// Unwrap gives http.ResponseController the writer below.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
