package route_test

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/ingest"
	"svc/domain/share"
	"svc/http/route"
)

// noon is the instant of the tests.
func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// secret returns a well-formed access token.
func secret(kind domain.TokenKind) domain.Secret {
	return domain.MintSecret(kind.Prefix(), []byte(strings.Repeat("x", 32)))
}

// gateway gives the gates the answers that the test sets.
type gateway struct {
	grant domain.Grant
	rate  domain.RateState
	err   error
	app   domain.Application

	mu     sync.Mutex
	stored map[string][]byte
	// running are the keys of requests that have not finished.
	running map[string]bool
	bodies  map[string][sha256.Size]byte
	audit   []domain.AuditRow
}

func newGateway() *gateway {
	return &gateway{
		grant:  domain.Grant{Token: domain.Token{ID: "tok_1", Kind: domain.TokenPersonal, Scopes: domain.Scopes()}, Role: domain.RoleOwner, Permissions: domain.Permissions()},
		stored: map[string][]byte{}, running: map[string]bool{}, bodies: map[string][sha256.Size]byte{},
		app: domain.NewApplication(domain.AppSpec{Name: "Web"}, "web", domain.Organization{Slug: "acme"}, domain.AppIDs{}, noon()),
	}
}

func (g *gateway) Authorize(context.Context, string, domain.RateClass, string) (domain.Grant, domain.RateState, error) {
	return g.grant, g.rate, g.err
}

func (g *gateway) Read(_ context.Context, ref domain.AppRef, _ share.AppPart) (domain.Application, share.AppParts, error) {
	if ref.App != "web" {
		return domain.Application{}, share.AppParts{}, domain.NotFound("thing")
	}
	return g.app, share.AppParts{}, nil
}

func (g *gateway) Append(_ context.Context, row domain.AuditRow) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.audit = append(g.audit, row)
	return nil
}

func (g *gateway) Begin(_ context.Context, token, key string, body [sha256.Size]byte) (ingest.ReplayClaim, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known, claimed := g.bodies[token+key]
	switch {
	case !claimed:
		g.bodies[token+key] = body
	case known != body, g.running[token+key]:
		return ingest.ReplayClaim{}, domain.Errorf(domain.CodeConflict, "claimed")
	}
	sealed := g.stored[token+key]
	g.running[token+key] = sealed == nil
	return ingest.ReplayClaim{At: noon(), Nonce: []byte(key), Sealed: sealed}, nil
}

func (g *gateway) Finish(_ context.Context, token, key string, _ [sha256.Size]byte, sealed []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stored[token+key], g.running[token+key] = sealed, false
	return nil
}

// handler builds a handler over rows.
func (g *gateway) handler(t testing.TB, routes ...route.Route) *route.Handler {
	t.Helper()
	handler, err := route.New(route.Config{
		Routes: routes, Authority: g, Applications: g, Auditor: g, Replays: g, Cursors: domain.NewCursors([]byte("k")),
		Now: noon, NewID: func(time.Time) string { return "ID" }, PublicURL: "https://svc.example/", Revision: "2026-11-20", ConcurrentQueries: 2, ConcurrentStreams: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// row is a manage row with a handler.
func row[In, Out any](method, path string, handle func(context.Context, *route.Call, In) (Out, error)) route.Route {
	effect, unrecorded := route.Write, "a test"
	if method == http.MethodGet {
		effect, unrecorded = route.Read, ""
	}
	return route.Route{
		Surface: route.Manage, Method: method, Path: path, Operation: "test." + method + path, Scope: domain.ScopeRead,
		Effect: effect, Unrecorded: unrecorded, Rate: domain.RateDefault, Summary: "A row of the tests", Handler: route.Typed(handle),
	}
}

// ask sends a request with the token and the given headers ("Name: value").
func ask(t testing.TB, handler http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+secret(domain.TokenPersonal).Reveal())
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	return response
}
