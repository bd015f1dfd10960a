package tools

import (
	"net/http"
	"strings"

	"svc"
	"svc/http/route"
)

// NewForHolders makes the tools for clients that hold an access token themselves. They have the
// tools of the assistant and every other read except those about the assistant; changes of tokens,
// keys and members and the settings of the assistant are left out. It fails as New does.
func NewForHolders(routes []route.Route, handler http.Handler) (*Registry, error) {
	return newRegistry(routes, handler, func(row *route.Route) bool {
		assistant := strings.HasPrefix(row.Operation, "ai.")
		reads := row.Surface == route.Manage && row.Handler.Input != nil && row.Effect == svc.EffectRead && !assistant
		return excluded(row) && !reads
	})
}

// Need names what a call of a tool needs beside its input.
type Need string

// The needs.
const (
	NeedsNothing      Need = ""
	NeedsOrganization Need = "organization"
	NeedsApplication  Need = "application"
)

// Need returns what a call of a tool needs beside its input; an application is named
// together with its organization.
func (r *Registry) Need(name string) Need {
	found := r.byName[name]
	switch {
	case found == nil:
	case strings.Contains(found.path, "{app}"):
		return NeedsApplication
	case strings.Contains(found.path, "{org}"):
		return NeedsOrganization
	}
	return NeedsNothing
}

// Repeatable reports whether calling a tool twice in the same way has the effect of
// calling it once.
func (r *Registry) Repeatable(name string) bool {
	found := r.byName[name]
	return found != nil && found.method != http.MethodPost && found.method != http.MethodPatch
}
