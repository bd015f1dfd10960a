package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/api/apitest"
	"svc/http/mcp"
	"svc/http/route"
	"svc/http/tools"
)

func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// world is a service in memory that serves /mcp.
type world struct {
	apitest.World
	memory    *apitest.Memory
	ports     *apitest.Ports
	handler   http.Handler
	proposals *proposals
	// broken are the organizations with unreadable rules.
	broken map[string]bool
}

// settings renames the port, because its name is also the name of its method.
type settings = mcp.Settings

// rules are the settings of organizations; some of them cannot be read.
type rules struct {
	settings
	broken map[string]bool
}

// Settings is the port mcp.Settings.
func (r rules) Settings(ctx context.Context, org, user string) (conversation.AISettings, error) {
	if r.broken[org] {
		return conversation.AISettings{}, errors.New("an entity does not decode")
	}
	return r.settings.Settings(ctx, org, user)
}

// proposals records the proposed calls.
type proposals struct {
	calls   []conversation.ToolCall
	origins []string
}

// Propose is the port mcp.Proposals.
func (p *proposals) Propose(_ context.Context, who conversation.Principal, _ domain.Secret, call conversation.ToolCall, origin string) (conversation.Action, error) {
	p.calls, p.origins = append(p.calls, call), append(p.origins, origin)
	return conversation.Action{
		ID: "act_1", ConversationID: "cnv_1", Tool: call.Name, Effect: conversation.EffectDestructive, Status: conversation.ActionProposed,
		Preview: conversation.Preview{Title: who.Ref.String(), Lines: []string{}}, ExpiresAt: noon().Add(conversation.ActionLifetime),
	}, nil
}

// nothingDepends is a tools.Dependents for objects without dependents.
type nothingDepends struct{}

func (nothingDepends) ProductionDepends(context.Context, domain.AppRef, string, string) (bool, error) {
	return false, nil
}

func newWorld(t testing.TB) *world {
	t.Helper()
	memory := apitest.NewMemory(noon)
	w := &world{World: memory.Fill(t), memory: memory, ports: memory.Ports(), proposals: &proposals{}, broken: map[string]bool{}}
	config := memory.Config()
	config.Routes = w.ports.Routes()
	config.Callers = func(handler http.Handler, routes []route.Route) ([]route.Route, error) {
		made, err := tools.New(routes, handler, nothingDepends{})
		if err != nil {
			return nil, err
		}
		return mcp.New(mcp.Config{
			Authority: memory, Organizations: memory, Apps: memory, Settings: rules{w.ports.Assistant.Settings, w.broken}, Tools: made.Holders, Proposals: w.proposals,
			Docs: w.ports.Docs, PublicURL: "https://svc.example", Version: "test",
		}).Routes(), nil
	}
	var err error
	if w.handler, err = route.New(config); err != nil {
		t.Fatal(err)
	}
	return w
}

// message is one request to /mcp.
type message struct {
	method, path, body string
	token              domain.Secret
	header             map[string]string
	host               string
}

func (w *world) send(t *testing.T, m message) *httptest.ResponseRecorder {
	t.Helper()
	if m.method == "" {
		m.method = http.MethodPost
	}
	if m.path == "" {
		m.path = "/mcp"
	}
	request := httptest.NewRequestWithContext(t.Context(), m.method, m.path, bytes.NewReader([]byte(m.body)))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if m.token != "" {
		request.Header.Set("Authorization", "Bearer "+m.token.Reveal())
	}
	for name, value := range m.header {
		if request.Header.Set(name, value); value == "" {
			request.Header.Del(name)
		}
	}
	if m.host != "" {
		request.Host = m.host
	}
	response := httptest.NewRecorder()
	w.handler.ServeHTTP(response, request)
	return response
}

// reply is an answer of JSON-RPC.
type reply struct {
	ID     any            `json:"id"`
	Result map[string]any `json:"result"`
	Error  *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

// ask sends a request like clients before 2026-07-28 and returns its reply.
func (w *world) ask(t *testing.T, token domain.Secret, method string, params any) reply {
	t.Helper()
	return w.askAt(t, "/mcp", token, method, params)
}

func (w *world) askAt(t *testing.T, path string, token domain.Secret, method string, params any) reply {
	t.Helper()
	encoded, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	response := w.send(t, message{path: path, token: token, body: string(encoded), header: map[string]string{"Mcp-Protocol-Version": "2025-11-25"}})
	return replyOf(t, response)
}

func replyOf(t *testing.T, response *httptest.ResponseRecorder) (out reply) {
	t.Helper()
	if err := json.Unmarshal(response.Body.Bytes(), &out); err != nil {
		t.Fatalf("%d %s: %v", response.Code, response.Body, err)
	}
	return out
}

// call calls a tool and returns its structured content, and whether it is an error. It checks that the text is the
// same.
func (w *world) call(t *testing.T, token domain.Secret, tool string, arguments any) (map[string]any, bool) {
	t.Helper()
	got := w.ask(t, token, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if got.Error != nil {
		t.Fatalf("%s: %+v", tool, got.Error)
	}
	structured, _ := got.Result["structuredContent"].(map[string]any)
	text := got.Result["content"].([]any)[0].(map[string]any)["text"].(string)
	var same map[string]any
	if err := json.Unmarshal([]byte(text), &same); err != nil || conversation.CanonicalJSON(mustJSON(t, same)) != conversation.CanonicalJSON(mustJSON(t, structured)) {
		t.Errorf("%s: the text %s is not the content %v, %v", tool, text, structured, err)
	}
	failed, _ := got.Result["isError"].(bool)
	return structured, failed
}

func mustJSON(t *testing.T, value any) []byte {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// names returns the tools in the caller's list.
func (w *world) names(t *testing.T, path string, token domain.Secret) (out []string) {
	t.Helper()
	got := w.askAt(t, path, token, "tools/list", map[string]any{})
	if got.Error != nil {
		t.Fatalf("%+v", got.Error)
	}
	for _, tool := range got.Result["tools"].([]any) {
		out = append(out, tool.(map[string]any)["name"].(string))
	}
	return out
}

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a value with a golden file.
func golden(t *testing.T, name string, value any) {
	t.Helper()
	got, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
	}
}
