// Package assistant has the routes of the assistant: conversations, the actions it proposes,
// the approval queue, and an organization's settings.
package assistant

import (
	"slices"

	"svc/http/api"
	"svc/http/route"
)

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
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
