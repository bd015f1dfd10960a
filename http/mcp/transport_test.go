package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/domain"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// modern is a request of the revision 2026-07-28.
func modern(method, name, params string) message {
	header := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		header["Mcp-Name"] = name
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	if params != "" {
		params = "," + params
	}
	return message{body: `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + meta + params + `}}`, header: header}
}

func with(m message, token domain.Secret) message {
	m.token = token
	return m
}

// TestTheDoor sends requests that are refused, or answered, before any tool is called.
func TestTheDoor(t *testing.T) {
	w := newWorld(t)
	old := map[string]string{"Mcp-Protocol-Version": "2025-11-25"}
	big := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`
	for name, c := range map[string]struct {
		message
		status int
		holds  string
	}{
		"no token":                    {message{body: ping}, 401, `"unauthorized"`},
		"an unknown token":            {message{body: ping, token: domain.MintSecret("svc_pat_", make([]byte, 32))}, 401, `"unauthorized"`},
		"an ingest key":               {message{body: ping, token: domain.MintSecret("svc_sec_prod_", make([]byte, 32))}, 401, "ingest key"},
		"a console session":           {message{body: ping, token: w.Session}, 401, "console session"},
		"a message":                   {message{body: ping, token: w.Reader, header: old}, 200, `"result":{}`},
		"a session that nobody made":  {message{body: ping, token: w.Reader, header: map[string]string{"Mcp-Session-Id": "stolen"}}, 200, `"result":{}`},
		"the stream of a session":     {message{method: "GET", token: w.Reader}, 405, "method_not_allowed"},
		"the end of a session":        {message{method: "DELETE", token: w.Reader}, 405, "method_not_allowed"},
		"a preflight":                 {message{method: "OPTIONS", header: map[string]string{"Origin": "https://evil.example"}}, 405, "method_not_allowed"},
		"a notification":              {message{body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, token: w.Reader, header: old}, 202, ""},
		"a batch of an early client":  {message{body: "[" + ping + "," + strings.Replace(ping, `"id":1`, `"id":2`, 1) + "]", token: w.Reader, header: map[string]string{"Mcp-Protocol-Version": "2025-03-26"}}, 200, `"id":2`},
		"a batch":                     {message{body: "[" + ping + "]", token: w.Reader, header: old}, 400, "batching is not supported"},
		"an unknown method":           {message{body: strings.Replace(ping, "ping", "no/such", 1), token: w.Reader, header: old}, 400, "no/such"},
		"a method that is not served": {message{body: strings.Replace(ping, "ping", "prompts/list", 1), token: w.Reader, header: old}, 200, "-32601"},
		"a stream of changes":         {message{body: strings.Replace(ping, `"ping"`, `"subscriptions/listen","params":{}`, 1), token: w.Reader, header: old}, 200, "-32601"},
		"no JSON":                     {message{body: "{", token: w.Reader, header: old}, 400, `"code":-32700`},
		"nothing":                     {message{token: w.Reader, header: old}, 400, `"code":-32700`},
		"too much":                    {message{body: big, token: w.Reader, header: old}, 413, "exceeds 1048576 bytes"},
		"another content type":        {message{body: ping, token: w.Reader, header: map[string]string{"Content-Type": "text/plain"}}, 415, `"code":-32600`},
		"a client that takes no JSON": {message{body: ping, token: w.Reader, header: map[string]string{"Accept": "text/html"}}, 400, "Accept must contain"},
		"an unknown version":          {message{body: ping, token: w.Reader, header: map[string]string{"Mcp-Protocol-Version": "2020-01-01"}}, 400, "Unsupported protocol version"},
		"a page of another site":      {message{body: ping, token: w.Reader, header: map[string]string{"Origin": "https://evil.example"}}, 403, `"forbidden"`},
		"a page without an origin":    {message{body: ping, token: w.Reader, header: map[string]string{"Origin": "null"}}, 403, `"forbidden"`},
		"a page under a foreign name": {message{body: ping, token: w.Reader, host: "evil.example", header: map[string]string{"Origin": "http://evil.example"}}, 403, `"forbidden"`},
		"the public page":             {message{body: ping, token: w.Reader, header: map[string]string{"Origin": "https://svc.example"}}, 200, `"result":{}`},
		"a page of the machine":       {message{body: ping, token: w.Reader, host: "localhost:8080", header: map[string]string{"Origin": "http://localhost:8080"}}, 200, `"result":{}`},
		"another port of the machine": {message{body: ping, token: w.Reader, host: "localhost:8080", header: map[string]string{"Origin": "http://localhost:3000"}}, 403, `"forbidden"`},
		"a probe":                     {with(modern("server/discover", "", ""), w.Reader), 200, `"supportedVersions":["2026-07-28"`},
		"a modern list":               {with(modern("tools/list", "", ""), w.Reader), 200, `"cacheScope":"private"`},
		"a modern page":               {with(modern("resources/read", "svc://docs/index", `"uri":"svc://docs/index"`), w.Reader), 200, `"cacheScope":"private"`},
		"a modern call":               {with(modern("tools/call", "me_get", `"name":"me_get","arguments":{}`), w.Reader), 200, `"resultType":"complete"`},
		"a modern call of nothing":    {with(modern("tools/call", "none", `"name":"none","arguments":{}`), w.Reader), 400, "-32602"},
		"a name that is another":      {with(modern("tools/call", "me_get", `"name":"apps_get","arguments":{}`), w.Reader), 400, "-32020"},
		"a modern stream of changes":  {with(modern("subscriptions/listen", "", ""), w.Reader), 404, "-32601"},
		"a modern unknown method":     {with(modern("no/such", "", ""), w.Reader), 404, "-32601"},
		"a modern handshake":          {with(modern("initialize", "", `"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"x","version":"1"}`), w.Reader), 404, "-32601"},
	} {
		t.Run(name, func(t *testing.T) {
			response := w.send(t, c.message)
			if response.Code != c.status || !strings.Contains(response.Body.String(), c.holds) {
				t.Errorf("%d %s", response.Code, response.Body)
			}
			if response.Body.Len() > 0 && !json.Valid(response.Body.Bytes()) && !strings.HasPrefix(response.Header().Get("Content-Type"), "text/event-stream") {
				t.Errorf("no JSON: %s %s", response.Header(), response.Body)
			}
			if response.Header().Get("Mcp-Session-Id") != "" || response.Code == 200 && response.Header().Get("Cache-Control") != "no-store" || response.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("the headers are %v", response.Header())
			}
		})
	}
}

func TestAChallengeLeadsToTheDescription(t *testing.T) {
	w := newWorld(t)
	refused := w.send(t, message{body: ping})
	const want = `Bearer realm="svc", resource_metadata="https://svc.example/.well-known/oauth-protected-resource"`
	if got := refused.Header().Get("Www-Authenticate"); got != want {
		t.Errorf("the challenge is %q", got)
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		response := w.send(t, message{method: "GET", path: path})
		const document = `{"resource":"https://svc.example/mcp","resource_name":"svc","resource_documentation":"https://svc.example/docs/mcp","scopes_supported":["read","write","admin"],"bearer_methods_supported":["header"]}`
		if response.Code != 200 || response.Body.String() != document {
			t.Errorf("%s: %d %s", path, response.Code, response.Body)
		}
	}
}

// TestTheHandshake agrees on a version with clients of every era that has a handshake.
func TestTheHandshake(t *testing.T) {
	w := newWorld(t)
	for asked, want := range map[string]string{"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2099-01-01": "2025-11-25"} {
		got := w.ask(t, w.Reader, "initialize", map[string]any{"protocolVersion": asked, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}})
		if got.Result["protocolVersion"] != want || fmt.Sprint(got.Result["capabilities"]) != "map[resources:map[] tools:map[]]" {
			t.Errorf("%s: %+v", asked, got)
		}
	}
}

// TestAForeignNameOnLoopback checks that a page that pointed its host name here is refused, and that a proxy on the
// same machine may use the public name.
func TestAForeignNameOnLoopback(t *testing.T) {
	w := newWorld(t)
	for host, status := range map[string]int{"evil.example": 403, "evil.example:8080": 403, "svc.example": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "localhost": 200} {
		request := httptest.NewRequestWithContext(
			context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080})),
			http.MethodPost, "/mcp", strings.NewReader(ping))
		request.Host = host
		request.Header.Set("Authorization", "Bearer "+w.Reader.Reveal())
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		response := httptest.NewRecorder()
		w.handler.ServeHTTP(response, request)
		if response.Code != status {
			t.Errorf("%s: %d %s", host, response.Code, response.Body)
		}
	}
}

// TestMessagesCountAsRequests sends more messages than a token may, one by one and in a batch.
func TestMessagesCountAsRequests(t *testing.T) {
	w := newWorld(t)
	w.memory.LimitRate(3)
	batch := "[" + strings.Join([]string{ping, strings.Replace(ping, ":1,", ":2,", 1), strings.Replace(ping, ":1,", ":3,", 1), strings.Replace(ping, ":1,", ":4,", 1)}, ",") + "]"
	response := w.send(t, message{body: batch, token: w.Reader, header: map[string]string{"Mcp-Protocol-Version": "2025-03-26"}})
	var replies []reply
	if err := json.Unmarshal(response.Body.Bytes(), &replies); err != nil {
		t.Fatalf("%d %s: %v", response.Code, response.Body, err)
	}
	limited := 0
	for _, one := range replies {
		if one.Error != nil && one.Error.Code == -32000 && one.Error.Data["code"] == "rate_limited" && one.Error.Data["retryAfter"].(float64) >= 1 {
			limited++
		}
	}
	if len(replies) != 4 || limited != 1 {
		t.Errorf("%d of %d are limited: %s", limited, len(replies), response.Body)
	}
	if response := w.send(t, message{body: ping, token: w.Reader}); response.Code != 429 || response.Header().Get("Retry-After") == "" || response.Header().Get("RateLimit-Policy") != `"default";q=3;w=60` {
		t.Errorf("%d %v %s", response.Code, response.Header(), response.Body)
	}
	if response := w.send(t, message{body: ping, token: w.Owner}); response.Code != 200 || !strings.HasPrefix(response.Header().Get("RateLimit"), `"default";r=2;`) {
		t.Errorf("another token gets %d %v", response.Code, response.Header())
	}
}
