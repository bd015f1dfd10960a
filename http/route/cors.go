package route

import (
	"net/http"
	"slices"
	"strings"
)

// exposedHeaders are those that scripts may read.
const exposedHeaders = "ETag, Retry-After, X-Sentry-Rate-Limits, X-Sentry-Error, RateLimit, RateLimit-Policy, X-Request-Id"

// preflightAge is how long, in seconds, a browser may remember a preflight.
const preflightAge = "86400"

// AllowOrigin lets the page that sent the request read the answer, whatever its origin is. It
// is for rows of the surface collect, which judge the origin themselves: a preflight carries no
// key by which it could be judged, and a page shall read why it was refused. It answers a
// preflight; the caller answers all other requests.
func (w *Response) AllowOrigin(r *http.Request) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return
	}
	header := w.Header()
	if !slices.Contains(header.Values("Vary"), "Origin") {
		header.Add("Vary", "Origin")
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", exposedHeaders)
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		w.preflight(r)
	}
}

// preflight answers the question of a browser before the request itself: it may use the
// method and the headers that it asks for.
func (w *Response) preflight(r *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Methods", r.Header.Get("Access-Control-Request-Method"))
	if wanted := r.Header.Values("Access-Control-Request-Headers"); len(wanted) > 0 {
		header.Set("Access-Control-Allow-Headers", strings.Join(wanted, ", "))
	}
	header.Set("Access-Control-Max-Age", preflightAge)
	header.Add("Vary", "Access-Control-Request-Headers")
	w.WriteHeader(http.StatusNoContent)
}
