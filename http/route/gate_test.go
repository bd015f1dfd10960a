package route_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain"
	"svc/http/route"
)

var update = flag.Bool("update", false, "rewrite golden files")

// fail is a handler that fails.
func fail(err error) func(context.Context, *route.Call, struct{}) (string, error) {
	return func(context.Context, *route.Call, struct{}) (string, error) { return "", err }
}

// TestProblems writes every shape of a problem into one golden file.
func TestProblems(t *testing.T) {
	var out strings.Builder
	for i, err := range []error{
		domain.Invalid(domain.FieldError{Field: "a", Code: "unknown_value", Message: "A.", Allowed: []string{"x"}}, domain.FieldError{Field: "b", Code: "required", Message: "B."}),
		domain.Errorf(domain.CodeConflict, "Taken."), &domain.Error{Code: domain.CodeConflict, Message: "Running.", Reason: "turn_running"},
		&domain.Error{Code: domain.CodeForbidden, Message: "No.", Required: &domain.Required{Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite}},
		&domain.Error{Code: domain.CodeModuleDisabled, Message: "Off.", Module: domain.ModuleFlags}, domain.NotFound("flag"),
		domain.Unavailable("The store", 1500*time.Millisecond), domain.Errorf(domain.CodeUnavailable, "Down."), domain.Errorf(domain.CodeNotAvailable, "Not built."),
		domain.Errorf(domain.CodeInternal, "secret text"), errors.New("secret text"), fmt.Errorf("asking: %w", context.DeadlineExceeded), context.DeadlineExceeded, context.Canceled,
		domain.Errorf(domain.Code("made_up"), "Unknown code."),
	} {
		class := domain.RateDefault
		if errors.Is(err, context.DeadlineExceeded) && i%2 == 1 {
			class = domain.RateQuery
		}
		route := row("GET", "/fail", fail(err))
		route.Rate = class
		handler := newGateway().handler(t, route)
		response := ask(t, handler, "GET", "/api/v1/fail", "")
		fmt.Fprintf(&out, "%d. %d %s retry-after=%q challenge=%q\n%s", i+1, response.Code, response.Header().Get("Content-Type"),
			response.Header().Get("Retry-After"), response.Header().Get("Www-Authenticate"), response.Body)
	}
	if *update {
		if err := os.WriteFile("testdata/problems.golden", []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/problems.golden")
	if err != nil || string(want) != out.String() {
		t.Errorf("%v; got:\n%s", err, out.String())
	}
}

func TestPanicsAreInternal(t *testing.T) {
	gateway := newGateway()
	handler := gateway.handler(t, row("POST", "/panic", func(context.Context, *route.Call, struct{}) (string, error) { panic("secret text") }))
	response := ask(t, handler, "POST", "/api/v1/panic", "")
	if code, _ := problems(t, response.Body.Bytes()); code != domain.CodeInternal || strings.Contains(response.Body.String(), "secret") {
		t.Errorf("%d %s", response.Code, response.Body)
	}
	if len(gateway.audit) != 1 || gateway.audit[0].Status != 500 {
		t.Errorf("%+v", gateway.audit)
	}
}

func TestANoteStandsInTheAuditRow(t *testing.T) {
	gateway := newGateway()
	handler := gateway.handler(t, row("POST", "/noted", func(_ context.Context, call *route.Call, _ struct{}) (string, error) {
		call.Note("requested by usr_1")
		return "done", nil
	}))
	ask(t, handler, "POST", "/api/v1/noted", "")
	if len(gateway.audit) != 1 || gateway.audit[0].Detail != "requested by usr_1" {
		t.Errorf("%+v", gateway.audit)
	}
}

// TestTheAuditKeepsNoPrivateID requests ids of both kinds, also in a refused call.
func TestTheAuditKeepsNoPrivateID(t *testing.T) {
	gateway := newGateway()
	private := row("DELETE", "/people/{id}", func(context.Context, *route.Call, struct{}) (string, error) { return "done", nil })
	private.Private = func(id string) bool { return strings.Contains(id, "@") }
	refused := private
	refused.Path, refused.Operation, refused.Permission = "/customers/{id}", "customers.erase", domain.PermAppsWrite
	handler := gateway.handler(t, private, refused)
	for _, path := range []string{"/people/ada@example.com", "/people/per_1", "/customers/ada%40example.com"} {
		ask(t, handler, "DELETE", "/api/v1"+path, "")
	}
	var kept []string
	for _, row := range gateway.audit {
		kept = append(kept, row.Path)
	}
	if want := []string{"/api/v1/people/{id}", "/api/v1/people/per_1", "/api/v1/customers/{id}"}; !slices.Equal(kept, want) {
		t.Errorf("%q, want %q", kept, want)
	}
}

func TestRequestIDs(t *testing.T) {
	handler := newGateway().handler(t, row("GET", "/x", echo("x")))
	for sent, want := range map[string]string{
		"": "req_ID", "abc-1_2.3:4": "abc-1_2.3:4", "a b": "req_ID", "a\x01": "req_ID", "ä": "req_ID", strings.Repeat("a", 129): "req_ID", strings.Repeat("a", 128): strings.Repeat("a", 128),
	} {
		if got := ask(t, handler, "GET", "/api/v1/x", "", "X-Request-Id: "+sent).Header().Get("X-Request-Id"); got != want {
			t.Errorf("%q: %q, want %q", sent, got, want)
		}
	}
}

func TestPrincipal(t *testing.T) {
	handler := newGateway().handler(t, row("GET", "/x", echo("x")))
	for header, want := range map[string]int{
		"Bearer " + secret(domain.TokenPersonal).Reveal(): 200, "bearer  " + secret(domain.TokenAssistant).Reveal(): 200,
		"Basic abc": 401, "Bearer": 401, "Bearer " + secret(domain.TokenConsole).Reveal(): 401, "": 401,
	} {
		if response := ask(t, handler, "GET", "/api/v1/x", "", "Authorization: "+header); response.Code != want {
			t.Errorf("%s: %d %s", header, response.Code, response.Body)
		}
	}
}

func TestConsoleCookie(t *testing.T) {
	console, manage := row("POST", "/x", echo("x")), row("GET", "/x", echo("x"))
	console.Surface = route.Console
	handler := newGateway().handler(t, console, manage)
	cookie := "Cookie: " + route.CookieName + "=" + secret(domain.TokenConsole).Reveal()
	for _, test := range []struct {
		name, host string
		headers    []string
		want       int
	}{
		{"the console's own page", "svc.example", []string{cookie, "Sec-Fetch-Site: same-origin"}, 200},
		{"the console on this machine", "localhost:8080", []string{cookie, "Sec-Fetch-Site: same-origin"}, 200},
		{"a page of another site", "svc.example", []string{cookie, "Sec-Fetch-Site: cross-site"}, 403},
		{"a page of a sister domain", "svc.example", []string{cookie, "Sec-Fetch-Site: same-site"}, 403},
		{"a page of another origin, in an old browser", "svc.example", []string{cookie, "Origin: https://evil.example"}, 403},
		{"a name that a stranger pointed here", "evil.example", []string{cookie, "Sec-Fetch-Site: same-origin"}, 403},
		{"a program", "svc.example", []string{cookie}, 200},
		{"an access token as a cookie", "svc.example", []string{"Cookie: " + route.CookieName + "=" + secret(domain.TokenPersonal).Reveal()}, 401},
		{"a link as a cookie", "svc.example", []string{"Cookie: " + route.CookieName + "=" + secret(domain.TokenLink).Reveal()}, 401},
	} {
		for target, method := range map[string]string{"/console/api/v1/x": "POST", "/api/v1/x": "GET"} {
			if response := ask(t, handler, method, "http://"+test.host+target, "", append(test.headers, "Authorization: ")...); response.Code != test.want {
				t.Errorf("%s, %s: %d %s", test.name, target, response.Code, response.Body)
			}
		}
	}
	if response := ask(t, handler, "GET", "http://svc.example/api/v1/x", "", cookie, "Authorization: Bearer nonsense"); response.Code != 401 {
		t.Errorf("a cookie beside a bad bearer: %d", response.Code)
	}
}

// TestTheCookieOfASession checks the cookie that a browser gets for a session.
func TestTheCookieOfASession(t *testing.T) {
	ends := noon().Add(time.Hour)
	in := row("POST", "/in", func(_ context.Context, call *route.Call, _ struct{}) (string, error) {
		call.SignIn(domain.Token{ExpiresAt: &ends}, secret(domain.TokenConsole))
		return "", nil
	})
	in.Surface, in.Open, in.Scope = route.Console, true, ""
	handler := newGateway().handler(t, in)
	const kept = "; Path=/; Max-Age=3600; HttpOnly"
	for host, want := range map[string]string{"svc.example": kept + "; Secure; SameSite=Lax", "localhost:8080": kept + "; Secure; SameSite=Lax"} {
		if got := ask(t, handler, "POST", "http://"+host+"/console/api/v1/in", "").Header().Get("Set-Cookie"); got != route.CookieName+"="+secret(domain.TokenConsole).Reveal()+want {
			t.Errorf("%s: %s", host, got)
		}
	}
}

func TestRateHeaders(t *testing.T) {
	gateway := newGateway()
	gateway.rate = domain.RateState{Class: domain.RateQuery, Quota: 240, Window: time.Minute, Remaining: 7, Reset: 1200 * time.Millisecond}
	handler := gateway.handler(t, row("GET", "/x", echo("x")))
	head := ask(t, handler, "GET", "/api/v1/x", "").Header()
	if head.Get("RateLimit-Policy") != `"analytics";q=240;w=60` || head.Get("RateLimit") != `"analytics";r=7;t=2` {
		t.Errorf("%v", head)
	}
	gateway.err = &domain.Error{Code: domain.CodeRateLimited, RetryAfter: 250 * time.Millisecond}
	if response := ask(t, handler, "GET", "/api/v1/x", ""); response.Code != 429 || response.Header().Get("Retry-After") != "1" || response.Header().Get("RateLimit") == "" {
		t.Errorf("%d %v", response.Code, response.Header())
	}
	gateway.err, gateway.rate = nil, domain.RateState{}
	if head := ask(t, handler, "GET", "/api/v1/x", "").Header(); head.Get("RateLimit") != "" || head.Get("X-API-Revision") != "2026-11-20" {
		t.Errorf("%v", head)
	}
}

// query is a row of the query class.
func query(handle func(context.Context, *route.Call, struct{}) (string, error)) route.Route {
	route := row("GET", "/query", handle)
	route.Rate = domain.RateQuery
	return route
}

func TestConcurrentQueries(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	handler := newGateway().handler(t, query(func(context.Context, *route.Call, struct{}) (string, error) {
		running <- struct{}{}
		<-release
		return "", nil
	}))
	done := make(chan *httptest.ResponseRecorder)
	for range 2 {
		go func() { done <- ask(t, handler, "GET", "/api/v1/query", "") }()
		<-running
	}
	if third := ask(t, handler, "GET", "/api/v1/query", ""); third.Code != 429 || third.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %s", third.Code, third.Body)
	}
	close(release)
	for range 2 {
		if first := <-done; first.Code != 200 {
			t.Errorf("%d %s", first.Code, first.Body)
		}
	}
	go func() { <-running }()
	if later := ask(t, handler, "GET", "/api/v1/query", ""); later.Code != 200 {
		t.Errorf("%d %s", later.Code, later.Body)
	}
}

func TestQueryTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := newGateway().handler(t, query(func(ctx context.Context, _ *route.Call, _ struct{}) (string, error) {
			<-ctx.Done()
			return "", fmt.Errorf("asking the store: %w", ctx.Err())
		}))
		began := time.Now()
		response := ask(t, handler, "GET", "/api/v1/query", "")
		if code, _ := problems(t, response.Body.Bytes()); code != domain.CodeQueryTimeout || time.Since(began) != route.DefaultQueryTimeout {
			t.Errorf("%d %s after %s", response.Code, response.Body, time.Since(began))
		}
	})
}

func TestConditionalRequests(t *testing.T) {
	tagged := func(_ context.Context, call *route.Call, _ struct{}) (string, error) {
		if _, err := call.IfMatch(7); err != nil {
			return "", err
		}
		call.Tag(7)
		return "x", nil
	}
	moving := func(ctx context.Context, call *route.Call, in struct{}) (string, error) {
		call.Volatile()
		return tagged(ctx, call, in)
	}
	handler := newGateway().handler(t, row("GET", "/x", tagged), row("PATCH", "/x", tagged), row("GET", "/moving", moving))
	if response := ask(t, handler, "GET", "/api/v1/moving", "", `If-None-Match: "7"`); response.Code != 200 || response.Header().Get("ETag") != `"7"` {
		t.Errorf("a volatile answer is %d %v", response.Code, response.Header())
	}
	for _, test := range []struct {
		method, header string
		want           int
	}{
		{"GET", `If-None-Match: "7"`, 304},
		{"GET", `If-None-Match: W/"7", "8"`, 304},
		{"GET", `If-None-Match: *`, 304},
		{"GET", `If-None-Match: "8"`, 200},
		{"HEAD", `If-None-Match: "7"`, 304},
		{"PATCH", `If-None-Match: "7"`, 200},
		{"PATCH", `If-Match: "7"`, 200},
		{"PATCH", `If-Match: "6", "7"`, 200},
		{"PATCH", `If-Match: *`, 200},
		{"PATCH", `If-Match: "6"`, 412},
		{"PATCH", `If-Match: W/"7"`, 412},
		{"PATCH", `If-Match: 7`, 412},
	} {
		response := ask(t, handler, test.method, "/api/v1/x", "", test.header)
		if response.Code != test.want || test.want == 304 && (response.Body.Len() > 0 || response.Header().Get("ETag") != `"7"`) {
			t.Errorf("%s %s: %d %v %s", test.method, test.header, response.Code, response.Header(), response.Body)
		}
	}
}

func TestTimesAreMilliseconds(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600_789_000, time.FixedZone("", 3600))
	handler := newGateway().handler(t, row("GET", "/x", func(context.Context, *route.Call, struct{}) ([]any, error) {
		return []any{route.Time(at), route.TimeOf(&at), route.TimeOf(nil), "<&>"}, nil
	}))
	want := `["2026-01-02T02:04:05.600Z","2026-01-02T02:04:05.600Z",null,"<&>"]` + "\n"
	if response := ask(t, handler, "GET", "/api/v1/x", ""); response.Body.String() != want || response.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%s %v", response.Body, response.Header())
	}
}

func TestOpenAPIIsPublic(t *testing.T) {
	handler := newGateway().handler(t, row("GET", "/x", echo("x")))
	response := ask(t, handler, "GET", "/api/v1/openapi.json", "", "Authorization: ")
	if response.Code != 200 || response.Header().Get("ETag") == "" {
		t.Fatalf("%d %v", response.Code, response.Header())
	}
	again := ask(t, handler, "GET", "/api/v1/openapi.json", "", "If-None-Match: "+response.Header().Get("ETag"))
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("%d %s", again.Code, again.Body)
	}
}

// TestReadsOfApplicationsAreTold counts calls that reach the rows of an application. A call that is refused, asks for
// something else, or makes a change is not a read.
func TestReadsOfApplicationsAreTold(t *testing.T) {
	told, lasts := 0, time.Duration(0)
	gateway := newGateway()
	type input struct {
		Kind string `query:"kind" required:"true" doc:"A kind."`
	}
	quiet := func(context.Context, *route.Call, input) (string, error) { return "", nil }
	denied := row("GET", "/apps/{org}/{app}/denied", quiet)
	denied.Scope, gateway.grant.Token.Scopes = domain.ScopeWrite, []domain.Scope{domain.ScopeRead}
	handler, err := route.New(route.Config{
		Routes: []route.Route{
			row("GET", "/apps/{org}/{app}/things", quiet), row("POST", "/apps/{org}/{app}/things", quiet), row("GET", "/things", quiet), denied,
		},
		Authority: gateway, Applications: gateway, Cursors: domain.NewCursors([]byte("k")), Now: noon, Reads: func(_ context.Context, lasting time.Duration) { told++; lasts += lasting },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path string
		status, told int
	}{
		{"GET", "/apps/acme/web/things?kind=a", 200, 1},
		{"GET", "/apps/acme/web/things", 400, 0},
		{"GET", "/apps/acme/other/things?kind=a", 404, 0},
		{"GET", "/apps/acme/web/denied?kind=a", 403, 0},
		{"POST", "/apps/acme/web/things?kind=a", 200, 0},
		{"GET", "/things?kind=a", 200, 0},
	} {
		told = 0
		if response := ask(t, handler, c.method, "/api/v1"+c.path, ""); response.Code != c.status || told != c.told {
			t.Errorf("%s %s: %d and told %d times, want %d and %d", c.method, c.path, response.Code, told, c.status, c.told)
		}
	}
	if lasts != 0 {
		t.Errorf("reads that are no streams last %s", lasts)
	}
}
