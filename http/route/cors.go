package route

import (
	"net/http"
	"slices"
	"strings"
)

// CORS answers browsers of other origins on the collect surface; management
// routes have none.
type CORS struct {
	// Allow says whether pages of an origin may send this request.
	Allow func(r *http.Request, origin string) bool
}

// exposedHeaders are those that scripts may read.
const exposedHeaders = "ETag, Retry-After, X-Sentry-Rate-Limits, X-Sentry-Error, RateLimit, RateLimit-Policy, X-Request-Id"

// preflightAge is how long, in seconds, a browser may remember a preflight.
const preflightAge = "86400"

// Apply sets the headers of a request from a browser and says whether its
// origin is allowed; a request without an origin is. A preflight is answered
// here and must not be handled further: done is true for it.
func (c CORS) Apply(w http.ResponseWriter, r *http.Request) (allowed, done bool) {
	origin := r.Header.Get("Origin")
	preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	if origin == "" {
		return true, false
	}
	header := w.Header()
	if !slices.Contains(header.Values("Vary"), "Origin") {
		header.Add("Vary", "Origin")
	}
	allowed = c.Allow(r, origin)
	if allowed {
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Expose-Headers", exposedHeaders)
	}
	if preflight {
		c.preflight(w, r, allowed)
	}
	return allowed, preflight
}

// preflight answers the question of a browser before the request itself: the
// method and the headers it asks for are the ones that it may use.
func (c CORS) preflight(w http.ResponseWriter, r *http.Request, allowed bool) {
	header := w.Header()
	if allowed {
		header.Set("Access-Control-Allow-Methods", r.Header.Get("Access-Control-Request-Method"))
		if wanted := r.Header.Values("Access-Control-Request-Headers"); len(wanted) > 0 {
			header.Set("Access-Control-Allow-Headers", strings.Join(wanted, ", "))
		}
		header.Set("Access-Control-Max-Age", preflightAge)
		header.Add("Vary", "Access-Control-Request-Headers")
	}
	w.WriteHeader(http.StatusNoContent)
}
