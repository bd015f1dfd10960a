package tools

import (
	"net/http"
	"strings"

	"svc"
	"svc/http/route"
)

// readByHolders reports whether a route that the assistant must not have is a tool of holders of a token: a read
// that is not about the assistant and answers one object.
func readByHolders(row *route.Route) bool {
	return row.Surface == route.Manage && row.Handler.Input != nil && row.Effect == svc.EffectRead && !row.Handler.Lined() && !strings.HasPrefix(row.Operation, "ai.")
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
