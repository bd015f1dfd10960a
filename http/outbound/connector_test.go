package outbound_test

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/connector"
	"svc/http/outbound"
)

const connectorSecret = domain.Secret("0123456789abcdef0123456789abcdef")

// local permits this machine.
func local() domain.Targets {
	return domain.Targets{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
}

// claimsOf verifies the token of a request and returns its claims.
func claimsOf(t *testing.T, r *http.Request) (claims connector.Claims) {
	t.Helper()
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Errorf("the token is %q", token)
		return claims
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	signed, _ := claims.Sign(connectorSecret)
	if err != nil || !hmac.Equal([]byte(signed), []byte(token)) {
		t.Errorf("the token %q holds %q, which would be signed as %q: %v", token, text, signed, err)
	}
	return claims
}

// TestHowConnectorsAreJudged scripts every kind of answer of a handler.
func TestHowConnectorsAreJudged(t *testing.T) {
	t.Parallel()
	const good = `{"capabilities":["users"],"version":"1.4.0"}`
	answer := func(status int, body, sign string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			if sign == "" {
				sign = connector.Signature(connectorSecret, id, []byte(body))
			}
			w.Header().Set("X-SVC-Signature", sign)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		answer   func(w http.ResponseWriter, id string)
		answered bool
		problem  string
	}{
		"healthy":            {answer(200, good, ""), true, ""},
		"created":            {answer(201, good, ""), true, ""},
		"no signature":       {answer(200, good, "none"), true, "signature"},
		"of another request": {answer(200, good, connector.Signature(connectorSecret, "prb_0", []byte(good))), true, "signature"},
		"with another secret": {func(w http.ResponseWriter, id string) {
			answer(200, good, connector.Signature("another", id, []byte(good)))(w, id)
		}, true, "signature"},
		"of another body": {func(w http.ResponseWriter, id string) {
			answer(200, good, connector.Signature(connectorSecret, id, []byte(good+" ")))(w, id)
		}, true, "signature"},
		"no capabilities": {answer(200, `{"version":"1"}`, ""), true, "capabilities"},
		"no JSON":         {answer(200, `fine`, ""), true, "JSON"},
		"nothing":         {answer(204, ``, ""), true, "JSON"},
		"a refusal":       {answer(403, good, ""), true, "status 403"},
		"an error":        {answer(500, good, ""), true, "status 500"},
		"a redirect": {func(w http.ResponseWriter, id string) {
			w.Header().Set("Location", "http://169.254.169.254/")
			answer(302, good, "")(w, id)
		}, true, "status 302"},
		"too much":       {answer(200, `{"capabilities":[],"more":"`+strings.Repeat("x", connector.MaxConnectorAnswer)+`"}`, ""), false, "longer"},
		"without an end": {func(w http.ResponseWriter, _ string) { writeOn(w) }, false, "longer"},
		"half an answer": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, good)
		}, false, "EOF"},
		"closed": {func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) }, false, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var base string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				claims := claimsOf(t, r)
				if claims.Audience != base || claims.Subject != "acme/web" || claims.Issuer != "svc" || claims.ID != "prb_1" || claims.ExpiresAt-claims.IssuedAt != 60 || r.URL.Path != "/svc/health" || r.Method != http.MethodGet {
					t.Errorf("%s %s with %+v", r.Method, r.URL, claims)
				}
				c.answer(w, claims.ID)
			}))
			t.Cleanup(server.Close)
			base = server.URL + "/svc"
			got := outbound.NewConnectorProber(outbound.NewDialer(local()), time.Now).Probe(t.Context(), domain.AppRef{Org: "acme", App: "web"}, base, connectorSecret, "prb_1")
			if got.Answered != c.answered || (c.problem == "") != (got.Problem == "") || !strings.Contains(got.Problem, c.problem) {
				t.Errorf("the probe is %+v, want answered %t and %q", got, c.answered, c.problem)
			}
			if want := []string{"users"}; c.problem == "" && (!reflect.DeepEqual(got.Capabilities, want) || got.Version != "1.4.0") || c.problem != "" && (got.Capabilities != nil || got.Version != "") {
				t.Errorf("the probe says %+v", got)
			}
		})
	}
}

// writeOn writes until the other end disconnects.
func writeOn(w http.ResponseWriter) {
	for {
		if _, err := io.WriteString(w, strings.Repeat(" ", 4096)); err != nil {
			return
		}
	}
}

// TestAConnectorThatHangsFails lets the time of a probe run out.
func TestAConnectorThatHangsFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ctx.Done() }))
	t.Cleanup(func() { cancel(); server.Close() })
	probing, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	got := outbound.NewConnectorProber(outbound.NewDialer(local()), time.Now).Probe(probing, domain.AppRef{}, server.URL, connectorSecret, "prb_1")
	if got.Answered || got.Problem != "the handler did not answer in time" {
		t.Errorf("the probe is %+v", got)
	}
}

// TestConnectorsInsideAreNotCalled probes addresses that are not public.
func TestConnectorsInsideAreNotCalled(t *testing.T) {
	t.Parallel()
	called := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	t.Cleanup(server.Close)
	for _, base := range []string{server.URL, "http://169.254.169.254", "http://[::1]:1", "http://[::ffff:127.0.0.1]:1", "http://10.1.2.3", "http://0.0.0.0:80"} {
		got := outbound.NewConnectorProber(outbound.NewDialer(domain.Targets{}), time.Now).Probe(t.Context(), domain.AppRef{}, base, connectorSecret, "prb_1")
		if got.Answered || got.Problem != outbound.ErrNotPublic.Error() {
			t.Errorf("%s: %+v", base, got)
		}
	}
	if called {
		t.Error("an address that is not public was called")
	}
}

// TestTheDocumentedHandlersWork runs the handlers of docs/connector.md and probes them, with the right secret and with
// another one.
func TestTheDocumentedHandlersWork(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "connector.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		fence, file string
		command     []string
	}{
		"Node": {"js", "handler.mjs", []string{"node", "handler.mjs"}},
		"Go":   {"go", "handler.go", []string{"go", "run", "handler.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(block(t, string(page), c.fence)), 0o600); err != nil {
				t.Fatal(err)
			}
			base := serveHandler(t, dir, c.command)
			prober := outbound.NewConnectorProber(outbound.NewDialer(local()), time.Now)
			probe := func(base string, secret domain.Secret) connector.Probe {
				return prober.Probe(t.Context(), domain.AppRef{Org: "acme", App: "web"}, base, secret, "prb_1")
			}
			if got := probe(base, connectorSecret); got.Problem != "" || got.Version != "1.0.0" || !reflect.DeepEqual(got.Capabilities, []string{"overview"}) {
				t.Errorf("the probe is %+v", got)
			}
			if got := probe(base, "another secret of some length....."); !strings.Contains(got.Problem, "status 401") {
				t.Errorf("with another secret it is %+v", got)
			}
			other := outbound.NewConnectorProber(&outbound.Dialer{Targets: local(), Resolver: here{}}, time.Now)
			if got := other.Probe(t.Context(), domain.AppRef{}, strings.Replace(base, "127.0.0.1", "other.example", 1), connectorSecret, "prb_1"); !strings.Contains(got.Problem, "status 401") {
				t.Errorf("with a token for another handler it is %+v", got)
			}
			old := outbound.NewConnectorProber(outbound.NewDialer(local()), func() time.Time { return time.Now().Add(-61 * time.Second) })
			if got := old.Probe(t.Context(), domain.AppRef{}, base, connectorSecret, "prb_1"); !strings.Contains(got.Problem, "status 401") {
				t.Errorf("with an old token it is %+v", got)
			}
		})
	}
}

// here is a resolver that resolves every name to this machine.
type here struct{}

func (here) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// block returns the first code block of a language on a page.
func block(t *testing.T, page, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "```"+language+"\n")
	code, _, closed := strings.Cut(rest, "\n```")
	if !found || !closed {
		t.Fatalf("the page has no code in %s", language)
	}
	return code + "\n"
}

// serveHandler runs a handler until the test ends and returns its base URL.
func serveHandler(t *testing.T, dir string, command []string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	base := fmt.Sprintf("http://127.0.0.1:%d/svc", port)
	var output strings.Builder
	run := exec.Command(command[0], command[1:]...)
	run.Dir, run.Stdout, run.Stderr = dir, &output, &output
	run.Env = append(os.Environ(), fmt.Sprint("PORT=", port), "CONNECTOR_URL="+base, "CONNECTOR_SECRET="+connectorSecret.Reveal())
	run.WaitDelay = time.Second
	ownGroup(run)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	t.Cleanup(func() { killGroup(run) })
	for {
		conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			_ = conn.Close()
			return base
		}
		select {
		case err := <-ended:
			t.Fatalf("the handler ended with %v: %s", err, output.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
