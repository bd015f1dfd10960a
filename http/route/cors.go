package route

import (
	"net/http"
	"slices"
	"strings"
)

// exposedHeaders lists the headers of answers that scripts of other origins may read.
const exposedHeaders = "ETag, Retry-After, X-Sentry-Rate-Limits, X-Sentry-Error, RateLimit, RateLimit-Policy, X-Request-Id"

// preflightAge is how long, in seconds, a browser may remember a preflight.
const preflightAge = "86400"

// AllowOrigin lets the page that sent the request read the answer, whatever its origin. It is for rows of the surface
// collect, which check the origin themselves. A preflight carries no key, so its origin cannot be checked, and a page
// must be able to read why its request was refused. AllowOrigin answers preflights; the caller answers all other
// requests.
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

// preflight answers a browser's preflight: the page may use the method and the headers that it asks
// for.
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

// AllowCredentials lets pages send requests with credentials, as posthog-js does; the service reads none. It requires
// AllowOrigin.
func (w *Response) AllowCredentials(r *http.Request) {
	if r.Header.Get("Origin") != "" {
		w.Header().Set("Access-Control-Allow-Credentials", "true")
	}
}
