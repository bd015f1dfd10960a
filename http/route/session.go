package route

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"svc/domain"
)

// CookieName is the cookie in which a browser carries its console session.
const CookieName = "svc_session"

// fromConsole refuses requests that a page of another site makes a browser send. It also refuses requests to a host
// that is not this service: an attacker may have pointed such a name here (DNS rebinding). Programs send none of the
// headers that browsers add, and carry no cookies.
func (h *Handler) fromConsole(r *http.Request) error {
	if !h.isKnown(r.Host) {
		return domain.Errorf(domain.CodeForbidden, "The console is not known as %q. Open it under the address in SVC_PUBLIC_URL, and have a proxy pass the Host header on.", r.Host)
	}
	foreign := func(site string) bool {
		return site != "same-origin" && (site != "none" || r.Method != http.MethodGet)
	}
	if slices.ContainsFunc(r.Header.Values("Sec-Fetch-Site"), foreign) || slices.ContainsFunc(r.Header.Values("Origin"), func(origin string) bool { return !h.isOwn(origin, r.Host) }) {
		return domain.Errorf(domain.CodeForbidden, "A console session's cookie serves requests of the console's own origin only.")
	}
	return nil
}

// isOwn reports whether an origin belongs to the console: it is the requested host, or the configured host if a proxy
// requests another one.
func (h *Handler) isOwn(origin, host string) bool {
	parsed, err := url.Parse(origin)
	return err == nil && parsed.Host != "" && (strings.EqualFold(parsed.Host, host) || h.isConfigured(parsed.Host))
}

// isKnown reports whether a Host header names the service: the configured address, or loopback, which always leads to
// this machine.
func (h *Handler) isKnown(host string) bool { return h.isConfigured(host) || isLoopback(host) }

func (h *Handler) isConfigured(host string) bool {
	return slices.ContainsFunc([]string{h.config.PublicURL, h.config.Origin}, func(known string) bool {
		parsed, err := url.Parse(known)
		return err == nil && parsed.Host != "" && strings.EqualFold(parsed.Host, host)
	})
}

// isLoopback reports whether a host, with or without a port, is a loopback name or address.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && address.Unmap().IsLoopback()
}

// site returns the origin of the console's pages that sent a request: the configured one. If none is configured, a
// browser on this machine has the origin of the requested host.
func (h *Handler) site(r *http.Request) string {
	if h.config.PublicURL == "" && isLoopback(r.Host) {
		return "http://" + r.Host
	}
	return ""
}

// Site returns the scheme and host under which the caller's browser shows the console. Passkeys belong to it.
func (c *Call) Site() string {
	if c.site != "" {
		return c.site
	}
	return c.Origin()
}

// SignIn makes a session that has just been opened the grant of the call, and stores its secret in the browser's
// cookie. Scripts cannot read the cookie. Only a browser on the service's own machine sends it without encryption.
func (c *Call) SignIn(session domain.Token, secret domain.Secret) {
	c.Grant.Token, c.audited = session, true
	c.keep(&http.Cookie{Value: secret.Reveal(), MaxAge: int(session.ExpiresAt.Sub(c.Now).Seconds())})
}

// SignOut removes the session cookie from the browser.
func (c *Call) SignOut() { c.keep(&http.Cookie{MaxAge: -1}) }

// keep sets the cookie of the session.
func (c *Call) keep(cookie *http.Cookie) {
	cookie.Name, cookie.Path, cookie.HttpOnly, cookie.SameSite = CookieName, "/", true, http.SameSiteLaxMode
	site, err := url.Parse(c.Site())
	cookie.Secure = err != nil || site.Scheme == "https" || !isLoopback(site.Host)
	c.header.Set("Set-Cookie", cookie.String())
}

// Session returns the console session that the request carries, empty if the request has no cookie. The session may be
// invalid.
func (c *Call) Session() domain.Secret {
	secret, sent := bearer(c.request.Header)
	if cookie, err := c.request.Cookie(CookieName); !sent && err == nil {
		secret = cookie.Value
	}
	if !strings.HasPrefix(secret, domain.TokenConsole.Prefix()) || !domain.WellFormedSecret(secret) {
		return ""
	}
	return domain.Secret(secret)
}
