package http_test

import (
	nethttp "net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"svc/http"
)

func TestCORS(t *testing.T) {
	cors := http.CORS{Allow: func(_ *nethttp.Request, origin string) bool { return origin == "https://acme.example" }}
	const exposed = "ETag, Retry-After, X-Sentry-Rate-Limits, X-Sentry-Error, RateLimit, RateLimit-Policy, X-Request-Id"
	for name, test := range map[string]struct {
		method        string
		header        nethttp.Header
		allowed, done bool
		want          nethttp.Header
	}{
		"no origin": {"POST", nethttp.Header{}, true, false, nethttp.Header{}},
		"allowed": {
			"POST",
			nethttp.Header{"Origin": {"https://acme.example"}},
			true, false,
			nethttp.Header{"Vary": {"Origin"}, "Access-Control-Allow-Origin": {"https://acme.example"}, "Access-Control-Expose-Headers": {exposed}},
		},
		"foreign": {"POST", nethttp.Header{"Origin": {"https://evil.example"}}, false, false, nethttp.Header{"Vary": {"Origin"}}},
		"preflight": {
			"OPTIONS",
			nethttp.Header{"Origin": {"https://acme.example"}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"content-type, x-svc-key"}},
			true, true,
			nethttp.Header{
				"Vary": {"Origin", "Access-Control-Request-Headers"}, "Access-Control-Allow-Origin": {"https://acme.example"}, "Access-Control-Expose-Headers": {exposed},
				"Access-Control-Allow-Methods": {"POST"}, "Access-Control-Allow-Headers": {"content-type, x-svc-key"}, "Access-Control-Max-Age": {"86400"},
			},
		},
		"foreign preflight": {"OPTIONS", nethttp.Header{"Origin": {"https://evil.example"}, "Access-Control-Request-Method": {"POST"}}, false, true, nethttp.Header{"Vary": {"Origin"}}},
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
