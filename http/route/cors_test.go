package route_test

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"svc/http/route"
)

func TestAllowOrigin(t *testing.T) {
	const exposed = "ETag, Retry-After, X-Sentry-Rate-Limits, X-Sentry-Error, RateLimit, RateLimit-Policy, X-Request-Id"
	for name, test := range map[string]struct {
		method string
		header http.Header
		status int
		want   http.Header
	}{
		"no origin": {"POST", http.Header{}, 200, http.Header{}},
		"request": {
			"POST",
			http.Header{"Origin": {"https://acme.example"}},
			200,
			http.Header{"Vary": {"Origin"}, "Access-Control-Allow-Origin": {"https://acme.example"}, "Access-Control-Expose-Headers": {exposed}},
		},
		"options": {
			"OPTIONS",
			http.Header{"Origin": {"https://acme.example"}},
			200,
			http.Header{"Vary": {"Origin"}, "Access-Control-Allow-Origin": {"https://acme.example"}, "Access-Control-Expose-Headers": {exposed}},
		},
		"preflight": {
			"OPTIONS",
			http.Header{"Origin": {"https://acme.example"}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"content-type, x-svc-key"}},
			204,
			http.Header{
				"Vary": {"Origin", "Access-Control-Request-Headers"}, "Access-Control-Allow-Origin": {"https://acme.example"}, "Access-Control-Expose-Headers": {exposed},
				"Access-Control-Allow-Methods": {"POST"}, "Access-Control-Allow-Headers": {"content-type, x-svc-key"}, "Access-Control-Max-Age": {"86400"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequestWithContext(t.Context(), test.method, "/", nil)
			request.Header = test.header
			recorded := httptest.NewRecorder()
			(&route.Response{ResponseWriter: recorded}).AllowOrigin(request)
			if recorded.Code != test.status || !reflect.DeepEqual(recorded.Header(), test.want) {
				t.Errorf("%d %v, want %d %v", recorded.Code, recorded.Header(), test.status, test.want)
			}
		})
	}
}
