package mcp

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"

	"svc/domain"
	"svc/http/route"
)

// caller is the sender of a request, with the values of its headers.
type caller struct {
	secret domain.Secret
	grant  domain.Grant
	// all is true if the list of tools must be complete.
	all bool
	// gone registers a function to run when the client disconnects.
	gone func(run func()) (stop func() bool)
	// messages counts the messages of the request; the first one is charged with the request.
	messages atomic.Int64
}

type callerKey struct{}

func withCaller(ctx context.Context, who *caller) context.Context {
	return context.WithValue(ctx, callerKey{}, who)
}

func callerOf(ctx context.Context) *caller {
	who, _ := ctx.Value(callerKey{}).(*caller)
	return who
}

// admit accepts a request that comes from a permitted host and page, with a token that may read. It counts as one
// request of the token; the requests of its tools count as well.
func (s *Server) admit(w *route.Response, r *http.Request) (*caller, error) {
	if err := s.admitHost(r); err != nil {
		return nil, err
	}
	secret, err := route.AccessToken(r)
	if err != nil {
		return nil, err
	}
	grant, rate, err := s.config.Authority.Authorize(r.Context(), secret.Reveal(), domain.RateDefault, "")
	w.TellRate(rate)
	if err != nil {
		return nil, err
	}
	if !grant.HasScope(domain.ScopeRead) {
		return nil, &domain.Error{Code: domain.CodeForbidden, Required: &domain.Required{Scope: domain.ScopeRead}, Message: "The token lacks the scope read."}
	}
	ctx := r.Context()
	return &caller{
		secret: secret, grant: grant, all: r.URL.Query().Get("tools") == "all",
		gone: func(run func()) func() bool { return context.AfterFunc(ctx, run) },
	}, nil
}

// admitHost refuses requests of pages that reached this service under a foreign host name (DNS rebinding), and requests
// of pages of other sites.
func (s *Server) admitHost(r *http.Request) error {
	refused := domain.Errorf(domain.CodeForbidden, "The request comes from a page of another site, or under a name that is not this service's.")
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && isLoopback(local.String()) && !s.ownHost(r.Host) {
		return refused
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return nil
	}
	origin, err := url.Parse(origins[0])
	if len(origins) > 1 || err != nil || origin.Host == "" {
		return refused
	}
	if own, err := url.Parse(s.config.PublicURL); err == nil && own.Host != "" && origin.Scheme == own.Scheme && strings.EqualFold(origin.Host, own.Host) {
		return nil
	}
	if strings.EqualFold(origin.Host, r.Host) && s.ownHost(r.Host) {
		return nil
	}
	return refused
}

// ownHost reports whether a host name is safe from DNS rebinding: the public name, the machine's own, or an address.
func (s *Server) ownHost(host string) bool {
	name := nameOf(host)
	if own, err := url.Parse(s.config.PublicURL); err == nil && own.Host != "" && strings.EqualFold(name, own.Hostname()) {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil || strings.EqualFold(name, "localhost")
}

// nameOf returns a host without its port and brackets.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

func isLoopback(addr string) bool {
	parsed, err := netip.ParseAddr(nameOf(addr))
	return err == nil && parsed.Unmap().IsLoopback()
}

// origin returns scheme and host under which callers reach the service.
func (s *Server) origin(r *http.Request) string {
	if s.config.PublicURL != "" {
		return strings.TrimSuffix(s.config.PublicURL, "/")
	}
	return "http://" + r.Host
}

// protectedResource is the document of RFC 9728. It names no authorization server, because tokens are issued in the
// console.
type protectedResource struct {
	Resource      string         `json:"resource"`
	Name          string         `json:"resource_name"`
	Documentation string         `json:"resource_documentation"`
	Scopes        []domain.Scope `json:"scopes_supported"`
	Methods       []string       `json:"bearer_methods_supported"`
}

// describe answers with the protection of the protocol's address.
func (s *Server) describe(w *route.Response, r *http.Request) {
	origin := s.origin(r)
	body, err := json.Marshal(protectedResource{
		Resource: origin + "/mcp", Name: "svc", Documentation: origin + "/docs/mcp", Scopes: domain.Scopes(), Methods: []string{"header"},
	})
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if s.config.PublicURL == "" {
		w.Header().Set("Cache-Control", "no-store") // The document contains the host name of this request.
	} else {
		w.Header().Set("Cache-Control", "public, max-age=3600")
	}
	_, _ = w.Write(body) // If this write fails, there is no client to notify.
}
