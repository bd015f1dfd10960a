package tools

import (
	"net/http"
	"strings"

	"svc/domain/conversation"
	"svc/http/route"
)

// readByHolders reports whether a route outside the assistant's tools is a tool of holders of a token: a read that is
// not about the assistant and answers one object.
func readByHolders(row *route.Route) bool {
	return row.Surface == route.Manage && row.Handler.Input != nil && row.Effect == conversation.EffectRead && !row.Handler.Lined() && !strings.HasPrefix(row.Operation, "ai.")
}

// Need is the address that a call of a tool requires in addition to its input.
type Need string

// The needs.
const (
	NeedsNothing      Need = ""
	NeedsOrganization Need = "organization"
	NeedsApplication  Need = "application"
)

// Need returns the address that a call of a tool requires in addition to its input; an application is named together
// with its organization.
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

// Repeatable reports whether a second identical call of a tool has no further effect.
func (r *Registry) Repeatable(name string) bool {
	found := r.byName[name]
	return found != nil && found.method != http.MethodPost && found.method != http.MethodPatch
}
