package mcp_test

import (
	"bytes"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"
)

// FuzzMessages sends arbitrary messages with a token that may only read: the service neither fails nor writes, and
// every answer is JSON or empty.
func FuzzMessages(f *testing.F) {
	debug.SetMaxStack(16 << 20)
	f.Add("2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"ping","params":`+strings.Repeat("[", 1<<19))
	for _, seed := range []string{
		ping, "[" + ping + "]", modern("tools/list", "", "").body, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_read","arguments":{"tool":"goals_list","arguments":{"app":"acme/web"}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_error","arguments":{"issueId":1,"eventId":[]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"svc://docs/../x"}}`, `{"jsonrpc":"2.0","id":null,"method":"initialize","params":null}`,
	} {
		f.Add("2025-11-25", seed)
		f.Add("2026-07-28", seed)
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, version, body string) {
		request := httptest.NewRequestWithContext(t.Context(), "POST", "/mcp", bytes.NewReader([]byte(body)))
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": version, "Authorization": "Bearer " + w.Reader.Reveal(),
		} {
			request.Header.Set(name, value)
		}
		response := httptest.NewRecorder()
		w.handler.ServeHTTP(response, request)
		if response.Code >= 500 {
			t.Errorf("%d %s", response.Code, response.Body)
		}
		for _, row := range w.memory.Audit() {
			if row.Status < 300 {
				t.Errorf("written: %+v", row)
			}
		}
	})
}
