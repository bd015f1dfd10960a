package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/api/apitest"
	"svc/http/route"
)

// bench is a memory with its world, for the tests of every row.
type bench struct {
	*apitest.Memory
	apitest.World
}

// open returns a world that serves one row. It replaces the row's handler, because the tests cover the steps before it.
func open(t *testing.T, row *route.Route) bench {
	t.Helper()
	memory := apitest.NewMemory(noon)
	b := bench{Memory: memory, World: memory.Fill(t)}
	gated := *row
	gated.Handler = route.Typed(func(context.Context, *route.Call, struct{}) (route.Empty, error) { return route.Empty{}, nil })
	config := memory.Config()
	config.Routes = []route.Route{gated}
	var err error
	if b.Handler, err = route.New(config); err != nil {
		t.Fatal(err)
	}
	return b
}

// secret returns a token of a person and scopes that matches a row's surface.
func (b bench) secret(t *testing.T, row *route.Route, person domain.User, scopes ...domain.Scope) domain.Secret {
	t.Helper()
	kind := domain.TokenPersonal
	if row.Surface == route.Console {
		kind = domain.TokenConsole
	}
	return b.Issue(t, kind, domain.TokenOwner{User: person}, scopes...)
}

// person returns a user by the token's own bearer.
func (b bench) person(t *testing.T, secret domain.Secret) domain.User {
	t.Helper()
	grant, _, err := b.Authorize(t.Context(), secret.Reveal(), domain.RateDefault, "")
	if err != nil {
		t.Fatal(err)
	}
	return *grant.Token.User
}

// send answers a request of a row in an organization and application.
func (b bench) send(t *testing.T, route *route.Route, org, app string, secret domain.Secret) *httptest.ResponseRecorder {
	t.Helper()
	path := strings.NewReplacer("{org}", org, "{app}", app, "{id}", "none", "{issueId}", "none", "{eventId}", "none", "{email}", "nobody@acme.example").Replace(route.Pattern())
	request := httptest.NewRequestWithContext(t.Context(), route.Method, path, strings.NewReader(`{}`))
	if secret != "" {
		request.Header.Set("Authorization", "Bearer "+secret.Reveal())
	}
	response := httptest.NewRecorder()
	b.Handler.ServeHTTP(response, request)
	return response
}

// problem reads a problem body.
func problem(t *testing.T, response *httptest.ResponseRecorder) route.Problem {
	t.Helper()
	var body route.Problem
	if err := json.Unmarshal(response.Body.Bytes(), &body); err != nil {
		t.Fatalf("no problem body: %s", response.Body)
	}
	if response.Header().Get("X-Request-Id") != body.RequestID || body.Status != response.Code {
		t.Errorf("body and head differ: %s %v", response.Body, response.Header())
	}
	return body
}

// eachRow runs a test for every row of the table that asks for credentials.
func eachRow(t *testing.T, test func(t *testing.T, b bench, route *route.Route)) {
	for _, row := range apitest.Routes() {
		if !row.Open && (row.Surface == route.Manage || row.Surface == route.Console) {
			t.Run(row.Operation, func(t *testing.T) { test(t, open(t, &row), &row) })
		}
	}
}

// TestOpenRowsServeTheConsoleAlone checks which rows require no credentials. Each must refuse requests that another
// site makes a browser send, and requests for a host name that does not belong to the service.
func TestOpenRowsServeTheConsoleAlone(t *testing.T) {
	open := []string{}
	for _, row := range apitest.Routes() {
		if !row.Open {
			continue
		}
		open = append(open, row.Operation)
		handler := apitest.NewMemory(noon).Fill(t).Handler
		for name, c := range map[string]struct {
			host string
			head map[string]string
			want bool
		}{
			"the console itself":        {"localhost:8080", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:8080"}, true},
			"a program":                 {"127.0.0.1:8080", nil, true},
			"a form of another site":    {"localhost:8080", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, false},
			"another port":              {"localhost:8080", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000"}, false},
			"an old browser elsewhere":  {"localhost:8080", map[string]string{"Origin": "https://evil.example"}, false},
			"a frame without origin":    {"localhost:8080", map[string]string{"Origin": "null"}, false},
			"a name that was rebound":   {"evil.example", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"}, false},
			"a name like the service's": {"localhost.evil.example:8080", nil, false},
		} {
			request := httptest.NewRequestWithContext(t.Context(), row.Method, "http://"+c.host+row.Pattern(), strings.NewReader(`{}`))
			for header, value := range c.head {
				request.Header.Set(header, value)
			}
			response := httptest.NewRecorder()
			handler.ServeHTTP(response, request)
			if refused := response.Code == http.StatusForbidden && strings.Contains(response.Body.String(), `"code":"forbidden"`); refused == c.want {
				t.Errorf("%s, %s: %d %s", row.Operation, name, response.Code, response.Body)
			}
		}
	}
	if want := []string{"console.sessions.challenge", "console.sessions.create", "console.sessions.delete"}; !slices.Equal(open, want) {
		t.Errorf("open rows: %v, want %v", open, want)
	}
}

func TestEveryRowRefusesWithoutToken(t *testing.T) {
	eachRow(t, func(t *testing.T, b bench, route *route.Route) {
		response := b.send(t, route, "acme", "web", "")
		if body := problem(t, response); body.Code != domain.CodeUnauthorized || response.Header().Get("Www-Authenticate") != `Bearer realm="svc"` {
			t.Errorf("%d %s %v", response.Code, body.Code, response.Header())
		}
	})
}

func TestEveryRowRefusesWrongSecret(t *testing.T) {
	eachRow(t, func(t *testing.T, b bench, row *route.Route) {
		other, opposite := b.Session, "console session"
		if row.Surface == route.Console {
			other, opposite = b.Owner, "access token"
		}
		key := domain.MintSecret("svc_pub_prod_", make([]byte, 32))
		for secret, names := range map[domain.Secret]string{
			other: opposite, key: "ingest key",
			domain.MintSecret("svc_pat_", slices.Repeat([]byte{9}, 32)): "", "svc_pat_short": "", "nonsense": "",
		} {
			response := b.send(t, row, "acme", "web", secret)
			body := problem(t, response)
			challenge := response.Header().Get("Www-Authenticate")
			if body.Code != domain.CodeUnauthorized || challenge != `Bearer realm="svc", error="invalid_token"` || !strings.Contains(body.Detail, names) {
				t.Errorf("%d %q %q", response.Code, body.Detail, challenge)
			}
		}
	})
}

func TestEveryRowAsksForItsScope(t *testing.T) {
	eachRow(t, func(t *testing.T, b bench, route *route.Route) {
		others := slices.DeleteFunc(domain.Scopes(), func(s domain.Scope) bool { return s == route.Scope })
		response := b.send(t, route, "acme", "web", b.secret(t, route, b.person(t, b.Owner), others...))
		body := problem(t, response)
		want := `Bearer error="insufficient_scope", scope="` + string(route.Scope) + `"`
		if body.Code != domain.CodeForbidden || body.Required == nil || *body.Required != (domain.Required{Scope: route.Scope, Permission: route.Permission}) ||
			response.Header().Get("Www-Authenticate") != want {
			t.Errorf("%d %s %v", response.Code, response.Body, response.Header())
		}
	})
}

func TestEveryRowAsksForItsPermissionAndRole(t *testing.T) {
	eachRow(t, func(t *testing.T, b bench, route *route.Route) {
		allowed := domain.EffectivePermissions(domain.RoleViewer, domain.Scopes())
		lacks := route.Permission != "" && !slices.Contains(allowed, route.Permission)
		response := b.send(t, route, "acme", "web", b.secret(t, route, b.person(t, b.Viewer), domain.Scopes()...))
		switch {
		case lacks:
			body := problem(t, response)
			if body.Code != domain.CodeForbidden || body.Required == nil || body.Required.Permission != route.Permission {
				t.Errorf("%d %s", response.Code, response.Body)
			}
		case route.Role != "":
			if body := problem(t, response); body.Code != domain.CodeForbidden || body.Reason != "role_required" || body.Required != nil {
				t.Errorf("%d %s", response.Code, response.Body)
			}
		case response.Code == 401 || response.Code == 403 || response.Code >= 500:
			t.Errorf("a viewer may: %d %s", response.Code, response.Body)
		}
	})
}

func TestEveryRowOfAModuleAsksForIt(t *testing.T) {
	eachRow(t, func(t *testing.T, b bench, route *route.Route) {
		if route.Module == "" {
			return
		}
		off := slices.DeleteFunc(domain.Modules()[:8], func(m domain.Module) bool { return m == route.Module })
		if _, err := b.Update(t.Context(), domain.AppRef{Org: "acme", App: "web"}, domain.AppPatch{Modules: &off}, nil); err != nil {
			t.Fatal(err)
		}
		body := problem(t, b.send(t, route, "acme", "web", b.secret(t, route, b.person(t, b.Owner), domain.Scopes()...)))
		if body.Code != domain.CodeModuleDisabled || body.Module != route.Module || body.Endpoint != route.Method+" "+route.Path {
			t.Errorf("%+v", body)
		}
	})
}

// masked hides the request id, the only part that may differ.
func masked(response *httptest.ResponseRecorder) string {
	header := response.Header().Clone()
	header.Del("X-Request-Id")
	names := []string{}
	for name, values := range header {
		names = append(names, name+": "+strings.Join(values, ","))
	}
	slices.Sort(names)
	body := regexp.MustCompile(`req_[0-9A-Z]+`).ReplaceAllString(response.Body.String(), "req")
	return http.StatusText(response.Code) + "\n" + strings.Join(names, "\n") + "\n" + body
}

func TestEveryRowHidesForeignOrganizations(t *testing.T) {
	eachRow(t, func(t *testing.T, b bench, route *route.Route) {
		if !route.HasParam("org") {
			return
		}
		secret := b.secret(t, route, b.person(t, b.Owner), domain.Scopes()...)
		foreign := b.send(t, route, "globex", "shop", secret)
		absent := b.send(t, route, "nowhere", "shop", secret)
		if foreign.Code != 404 || masked(foreign) != masked(absent) {
			t.Errorf("foreign:\n%s\nabsent:\n%s", masked(foreign), masked(absent))
		}
		if !route.HasParam("app") {
			return
		}
		if missing := b.send(t, route, "acme", "nothing", secret); masked(foreign) != masked(missing) {
			t.Errorf("foreign:\n%s\nmissing:\n%s", masked(foreign), masked(missing))
		}
	})
}

func TestEveryRowTellsTheRateAndTheRevision(t *testing.T) {
	eachRow(t, func(t *testing.T, b bench, route *route.Route) {
		secret := b.secret(t, route, b.person(t, b.Owner), domain.Scopes()...)
		b.LimitRate(1)
		name := `"` + string(route.Rate) + `"`
		first := b.send(t, route, "globex", "shop", secret).Header()
		if first.Get("RateLimit-Policy") != name+";q=1;w=60" || first.Get("RateLimit") != name+";r=0;t=60" || first.Get("X-API-Revision") == "" {
			t.Errorf("head: %v", first)
		}
		second := b.send(t, route, "acme", "web", secret)
		body := problem(t, second)
		if body.Code != domain.CodeRateLimited || second.Header().Get("Retry-After") != "60" || second.Header().Get("RateLimit") != name+";r=0;t=60" {
			t.Errorf("%s %v", second.Body, second.Header())
		}
	})
}

func TestEveryWriteIsAudited(t *testing.T) {
	eachRow(t, func(t *testing.T, b bench, route *route.Route) {
		secret := b.secret(t, route, b.person(t, b.Owner), domain.Scopes()...)
		response := b.send(t, route, "acme", "web", secret)
		rows := b.Audit()
		if route.Effect == conversation.EffectRead {
			if len(rows) != 0 {
				t.Errorf("a read left rows: %+v", rows)
			}
			return
		}
		if len(rows) != 1 || rows[0].Operation != route.Operation || rows[0].Status != response.Code ||
			rows[0].RequestID != response.Header().Get("X-Request-Id") || rows[0].UserID == "" || !rows[0].At.Equal(noon()) {
			t.Errorf("status %d, rows %+v", response.Code, rows)
		}
		b.send(t, route, "acme", "web", b.secret(t, route, b.person(t, b.Owner)))
		if rows := b.Audit(); len(rows) != 2 || rows[1].Status != 403 || rows[1].Detail != "forbidden" {
			t.Errorf("a refused write left %+v", rows)
		}
		if route.HasParam("org") {
			b.send(t, route, "globex", "shop", secret)
			if rows := b.Audit(); len(rows) != 3 || rows[2].Org != "" || rows[2].App != "" || rows[2].Status != 404 {
				t.Errorf("a foreign write left %+v", rows)
			}
		}
		known := len(b.Audit())
		b.send(t, route, "acme", "web", "")
		if rows := b.Audit(); len(rows) != known {
			t.Errorf("an unknown caller left %+v", rows)
		}
	})
}

// TestTokensOfAnOrganizationSeeThemselvesAlone also revokes the caller's own token.
func TestTokensOfAnOrganizationSeeThemselvesAlone(t *testing.T) {
	memory := apitest.NewMemory(noon)
	b := bench{Memory: memory, World: memory.Fill(t)}
	call := func(method, path string) *httptest.ResponseRecorder {
		request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		request.Header.Set("Authorization", "Bearer "+b.Organization.Reveal())
		response := httptest.NewRecorder()
		b.Handler.ServeHTTP(response, request)
		return response
	}
	var page struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(call("GET", "/api/v1/me/tokens").Body.Bytes(), &page); err != nil || len(page.Data) != 1 {
		t.Fatalf("%v %+v", err, page)
	}
	own, _, err := b.Authorize(t.Context(), b.Organization.Reveal(), domain.RateDefault, "")
	if err != nil || page.Data[0].ID != own.Token.ID {
		t.Fatalf("%v %+v", err, page)
	}
	personal, _, err := b.Authorize(context.WithoutCancel(t.Context()), b.Owner.Reveal(), domain.RateDefault, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		id   string
		code int
	}{{personal.Token.ID, 404}, {own.Token.ID, 204}, {own.Token.ID, 401}} {
		if response := call("DELETE", "/api/v1/me/tokens/"+want.id); response.Code != want.code {
			t.Errorf("%s: %d, want %d", want.id, response.Code, want.code)
		}
	}
}
