package route_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"svc/domain"
	"svc/http/route"
)

// echo answers with the matched pattern and its parameters.
func echo(pattern string) func(context.Context, *route.Call, struct{}) (string, error) {
	return func(_ context.Context, call *route.Call, _ struct{}) (string, error) {
		parts := []string{pattern}
		for _, name := range []string{"org", "app", "issueId", "eventId", "slug", "name"} {
			if value := call.Param(name); value != "" {
				parts = append(parts, name+"="+value)
			}
		}
		return strings.Join(parts, " "), nil
	}
}

func TestLiteralsBesideParameters(t *testing.T) {
	patterns := []string{
		"GET /apps/{org}/{app}/errors", "GET /apps/{org}/{app}/errors/overview", "GET /apps/{org}/{app}/errors/{issueId}",
		"PATCH /apps/{org}/{app}/errors/{issueId}", "GET /apps/{org}/{app}/errors/{issueId}/events",
		"GET /apps/{org}/{app}/errors/{issueId}/events/{eventId}", "GET /apps/{org}/{app}/errors/names/list",
		"GET /apps/{org}/{app}/events/names", "GET /apps/{org}/{app}/events/{name}", "GET /docs", "GET /docs/{slug...}",
	}
	routes := []route.Route{}
	for _, pattern := range patterns {
		method, path, _ := strings.Cut(pattern, " ")
		routes = append(routes, row(method, path, echo(pattern)))
	}
	handler := newGateway().handler(t, routes...)
	for _, test := range []struct{ request, want string }{
		{"GET /apps/acme/web/errors", "GET /apps/{org}/{app}/errors org=acme app=web"},
		{"GET /apps/acme/web/errors/overview", "GET /apps/{org}/{app}/errors/overview org=acme app=web"},
		{"GET /apps/acme/web/errors/iss_1", "GET /apps/{org}/{app}/errors/{issueId} org=acme app=web issueId=iss_1"},
		{"PATCH /apps/acme/web/errors/iss_1", "PATCH /apps/{org}/{app}/errors/{issueId} org=acme app=web issueId=iss_1"},
		{"GET /apps/acme/web/errors/names/events", "GET /apps/{org}/{app}/errors/{issueId}/events org=acme app=web issueId=names"},
		{"GET /apps/acme/web/errors/i/events/e", "GET /apps/{org}/{app}/errors/{issueId}/events/{eventId} org=acme app=web issueId=i eventId=e"},
		{"GET /apps/acme/web/errors/names/list", "GET /apps/{org}/{app}/errors/names/list org=acme app=web"},
		{"GET /apps/acme/web/errors/other/list", "404"},
		{"GET /apps/acme/web/events/names", "GET /apps/{org}/{app}/events/names org=acme app=web"},
		{"GET /apps/acme/web/events/x", "GET /apps/{org}/{app}/events/{name} org=acme app=web name=x"},
		{"GET /docs", "GET /docs"},
		{"GET /docs/a/b", "GET /docs/{slug...} slug=a/b"},
		{"GET /apps/acme/web/errors/", "404"},
		{"GET /apps//web/errors", "404"},
		{"GET /apps/acme/web/errors/a%2Fb", "404"},
		{"GET /Apps/acme/web/errors", "404"},
		{"DELETE /apps/acme/web/errors", "405"},
		{"OPTIONS /docs", "405"},
	} {
		method, path, _ := strings.Cut(test.request, " ")
		response := ask(t, handler, method, "/api/v1"+path, "")
		got := strings.Trim(strings.TrimSpace(response.Body.String()), `"`)
		if response.Code != 200 {
			got = strings.Fields(response.Result().Status)[0]
			if response.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %v", test.request, response.Header())
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.request, got, test.want)
		}
	}
	if allow := ask(t, handler, "PUT", "/api/v1/apps/acme/web/errors/x", "").Header().Get("Allow"); allow != "GET, HEAD, PATCH" {
		t.Errorf("Allow: %s", allow)
	}
}

func TestTableContradictions(t *testing.T) {
	good := func() route.Route { return row("GET", "/apps/{org}/{app}/x", echo("")) }
	for name, change := range map[string]func(*route.Route){
		"nothing": func(*route.Route) {},
		"slash":   func(r *route.Route) { r.Path += "/" }, "scope": func(r *route.Route) { r.Scope = "all" },
		"permission": func(r *route.Route) { r.Permission = "all" }, "effect": func(r *route.Route) { r.Effect = route.Write },
		"module": func(r *route.Route) { r.Path, r.Module = "/x", "analytics" }, "operation": func(r *route.Route) { r.Operation = "" },
		"handler": func(r *route.Route) { r.Handler = route.Endpoint{} }, "surface": func(r *route.Route) { r.Surface = route.Collect },
		"same path": func(r *route.Route) { r.Path = "/other" }, "same operation": func(r *route.Route) { r.Operation = "test.other" },
		"input": func(r *route.Route) {
			r.Handler = route.Typed(func(context.Context, *route.Call, struct {
				ID string `path:"id" doc:"A parameter."`
			},
			) (string, error) {
				return "", nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			row, other := good(), good()
			other.Path, other.Operation = "/other", "test.other"
			change(&row)
			gateway := newGateway()
			_, err := route.New(route.Config{Routes: []route.Route{other, row}, Authority: gateway, Applications: gateway, Cursors: domain.NewCursors(nil), Now: noon})
			if (err == nil) != (name == "nothing") {
				t.Error(err)
			}
		})
	}
}

func TestRawRowsMeetNoGate(t *testing.T) {
	gateway := newGateway()
	handler := gateway.handler(t, route.Route{
		Surface: route.Collect, Method: "POST", Path: "/sentry/api/{project}/envelope", Operation: "collect.envelope",
		Raw: func(w *route.Response, r *http.Request) {
			if r.PathValue("project") == "panic" {
				panic("raw")
			}
			w.Header().Set("Seen", r.Method+" "+r.PathValue("project")+" "+w.RequestID())
			w.WriteHeader(202)
		},
	})
	for _, test := range []struct {
		method, path, seen string
		code               int
	}{
		{"POST", "/sentry/api/7/envelope", "POST 7 req_ID", 202},
		{"POST", "/sentry/api/7/envelope/", "POST 7 req_ID", 202},
		{"OPTIONS", "/sentry/api/7/envelope/", "OPTIONS 7 req_ID", 202},
		{"GET", "/sentry/api/7/envelope", "", 405},
		{"POST", "/sentry/api/panic/envelope", "", 500},
	} {
		response := ask(t, handler, test.method, test.path, "", "Authorization: none")
		if response.Code != test.code || response.Header().Get("Seen") != test.seen || response.Header().Get("RateLimit") != "" {
			t.Errorf("%s %s: %d %v", test.method, test.path, response.Code, response.Header())
		}
	}
	if len(gateway.audit) != 0 {
		t.Errorf("audit rows %+v", gateway.audit)
	}
}

// BenchmarkRawRow measures the overhead around a collect row.
func BenchmarkRawRow(b *testing.B) {
	handler := newGateway().handler(b, route.Route{
		Surface: route.Collect, Method: "POST", Path: "/api/v1/batch", Operation: "collect.batch",
		Raw: func(w *route.Response, _ *http.Request) { w.WriteHeader(202) },
	})
	request, err := http.NewRequestWithContext(b.Context(), "POST", "/api/v1/batch", nil)
	if err != nil {
		b.Fatal(err)
	}
	writer := discard{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(writer, request)
	}
}

// discard is a response writer that drops the body.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
