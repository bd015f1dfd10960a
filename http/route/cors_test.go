package route_test

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"svc/http/route"
)

func TestCORS(t *testing.T) {
	cors := route.CORS{Allow: func(_ *http.Request, origin string) bool { return origin == "https://acme.example" }}
	const exposed = "ETag, Retry-After, X-Sentry-Rate-Limits, X-Sentry-Error, RateLimit, RateLimit-Policy, X-Request-Id"
	for name, test := range map[string]struct {
		method        string
		header        http.Header
		allowed, done bool
		want          http.Header
	}{
		"no origin": {"POST", http.Header{}, true, false, http.Header{}},
		"allowed": {
			"POST",
			http.Header{"Origin": {"https://acme.example"}},
			true, false,
			http.Header{"Vary": {"Origin"}, "Access-Control-Allow-Origin": {"https://acme.example"}, "Access-Control-Expose-Headers": {exposed}},
		},
		"foreign": {"POST", http.Header{"Origin": {"https://evil.example"}}, false, false, http.Header{"Vary": {"Origin"}}},
		"preflight": {
			"OPTIONS",
			http.Header{"Origin": {"https://acme.example"}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"content-type, x-svc-key"}},
			true, true,
			http.Header{
				"Vary": {"Origin", "Access-Control-Request-Headers"}, "Access-Control-Allow-Origin": {"https://acme.example"}, "Access-Control-Expose-Headers": {exposed},
				"Access-Control-Allow-Methods": {"POST"}, "Access-Control-Allow-Headers": {"content-type, x-svc-key"}, "Access-Control-Max-Age": {"86400"},
			},
		},
		"foreign preflight": {"OPTIONS", http.Header{"Origin": {"https://evil.example"}, "Access-Control-Request-Method": {"POST"}}, false, true, http.Header{"Vary": {"Origin"}}},
	} {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequestWithContext(t.Context(), test.method, "/", nil)
			request.Header = test.header
			response := httptest.NewRecorder()
			allowed, done := cors.Apply(response, request)
			if allowed != test.allowed || done != test.done || !reflect.DeepEqual(response.Header(), test.want) || done && response.Code != 204 {
				t.Errorf("%v %v %d %v", allowed, done, response.Code, response.Header())
			}
		})
	}
}
