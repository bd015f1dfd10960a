package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// answer turns the refusals of the transport, which are plain text, into errors of JSON-RPC, so that every answer has one form.
type answer struct {
	http.ResponseWriter
	begun, refused bool
	// id is that of the request's only message, nil if it has none.
	id json.RawMessage
	// held keeps an answer whose ids are to be restored; nil sends each part as it comes.
	held   *bytes.Buffer
	status int
}

// WriteHeader begins the answer.
func (a *answer) WriteHeader(status int) {
	header := a.Header()
	a.begun, a.status = true, status
	header.Set("Cache-Control", "no-store") // another token may be answered otherwise
	if a.refused = status >= http.StatusBadRequest && strings.HasPrefix(header.Get("Content-Type"), "text/plain"); a.refused {
		header.Set("Content-Type", "application/json")
		a.held = nil
	}
	if a.held == nil {
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write writes a part of the answer; a refusal's text comes in one.
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
	if strings.HasPrefix(failed.Message, "JSON RPC not handled") { // the SDK knows no such method
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
	_, _ = a.ResponseWriter.Write(errorText(a.id, refused)) // a client that has gone asks again
}

// finish sends an answer that was kept.
func (a *answer) finish() {
	if a.held == nil || !a.begun {
		return
	}
	a.Header().Del("Content-Length")
	a.ResponseWriter.WriteHeader(a.status)
	if a.held.Len() > 0 {
		_, _ = a.ResponseWriter.Write(restore(a.held.Bytes())) // a client that has gone asks again
	}
}

// errorText is an error of JSON-RPC; a nil id is null.
func errorText(id json.RawMessage, refused *jsonrpc.Error) []byte {
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": refused}) // the id was read from JSON
	return body
}

// Unwrap gives http.ResponseController the writer below.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
