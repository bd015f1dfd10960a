// Package assistant has the routes of the assistant: conversations, the actions it proposes,
// the approval queue, and an organization's settings.
package assistant

import (
	"slices"

	"svc/http/api"
	"svc/http/route"
)

// Ports are what the handlers call. A port may be nil only where the rows are
// listed and never served.
type Ports struct {
	Assistant Assistant
	Approvals Approvals
	Settings  AISettings
	Tools     AITools
	Passkeys  api.Passkeys
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	return slices.Concat(
		assistantRoutes(ports),
		consoleAIRoutes(ports),
		consoleApprovalRoutes(ports),
	)
}
