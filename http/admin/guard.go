package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"svc/domain"
)

// guarded checks every request to the listener. A browser on the operator's machine reaches the listener like the
// operator. So the caller is checked first: by the host name of the request, by the page that sent it, and by the
// bearer token.
type guarded struct {
	next  http.Handler
	token domain.Secret
	hosts []string
}

// open lists the paths that need no bearer token.
func open() []string { return []string{"/healthz", "/readyz", "/metrics"} }

// ServeHTTP passes the operator's requests to the next handler.
func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := g.check(r); err != nil {
		if domain.CodeOf(err) == domain.CodeUnauthorized {
			w.Header().Set("Www-Authenticate", `Bearer realm="svc operator"`)
		}
		refuse(w, err)
		return
	}
	g.next.ServeHTTP(w, r)
}

func (g *guarded) check(r *http.Request) error {
	switch {
	case !g.ownHost(r):
		return domain.Errorf(domain.CodeForbidden, "The operator's listener is not known as %q. It answers to localhost, to its own addresses, and to the names in SVC_ADMIN_HOSTS.", r.Host)
	case fromAnotherSite(r):
		return domain.Errorf(domain.CodeForbidden, "The request comes from a page of another site; the operator's listener serves none.")
	case slices.Contains(open(), r.URL.Path) && r.Method == http.MethodGet:
		return nil
	case !g.hasToken(r):
		return domain.Errorf(domain.CodeUnauthorized, "Send the operator's token as Authorization: Bearer <token>; it is in the file operator.token of the server's data directory, where svc admin finds it.")
	case r.Method == http.MethodPost && !isJSON(r):
		return domain.Errorf(domain.CodeUnsupportedMedia, "Send Content-Type: application/json.")
	}
	return nil
}

// ownHost reports whether the host name of the request is safe from DNS rebinding: the machine's own, the address of
// the connection, or one of the configuration. A client of HTTP/1.0 may send none; no browser uses it.
func (g *guarded) ownHost(r *http.Request) bool {
	name := hostName(r.Host)
	if name == "" || name == "localhost" || slices.Contains(g.hosts, name) {
		return true
	}
	asked, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	if asked.Unmap().IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	own, err := netip.ParseAddrPort(local.String())
	return err == nil && own.Addr().Unmap().WithZone("") == asked.Unmap()
}

// hostName returns a host in lower case, without its port and brackets.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// fromAnotherSite reports whether a browser sent the request for a page that is not the listener's own. An address that
// a person types into the address bar comes from no page.
func fromAnotherSite(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return true
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		if parsed, err := url.Parse(origin); err != nil || r.Host == "" || !strings.EqualFold(parsed.Host, r.Host) {
			return true
		}
	}
	return false
}

// hasToken reports whether the request carries the operator's token. It compares hashes, so that the
// time of the comparison reveals nothing.
func (g *guarded) hasToken(r *http.Request) bool {
	scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	want, got := sha256.Sum256([]byte(g.token.Reveal())), sha256.Sum256([]byte(strings.TrimSpace(sent)))
	return g.token.Reveal() != "" && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}
