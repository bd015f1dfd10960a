package api

import (
	"slices"

	"svc/http/route"
)

// Ports is everything that the handlers reach for.
type Ports struct {
	Organizations Organizations
	Members       Members
	Invitations   Invitations
	Tokens        Tokens
	Apps          Apps
	Keys          Keys
	Analytics     Analytics
	Presence      Presence
	Reads         Reads
	Events        Events
	Docs          Docs
	Ledger        Ledger
	Goals         Goals
	Funnels       Funnels
	Results       Results
	Monitors      Monitors
	Alerts        Alerts
	Incidents     Incidents
	Channels      Channels
	Shares        Shares
	Issues        Issues
	Occurrences   Occurrences
	IssueChanges  IssueChanges
	Assistant     Assistant
	Approvals     Approvals
	Passkeys      Passkeys
	AISettings    AISettings
	AITools       AITools
	Metrics       Metrics
	// Limits is shown by GET /me.
	Limits Limits
}

// Routes returns every gated row of the table.
func Routes(ports Ports) []route.Route {
	return slices.Concat(
		meRoutes(ports), appRoutes(ports), keyRoutes(ports), summaryRoutes(ports), readRoutes(ports), liveRoutes(ports), goalRoutes(ports), funnelRoutes(ports), eventRoutes(ports), docRoutes(ports),
		errorRoutes(ports), metricRoutes(ports),
		consoleOrgRoutes(ports), consoleMemberRoutes(ports), consoleInvitationRoutes(ports), consoleTokenRoutes(ports), ledgerRoutes(ports),
		consoleShareRoutes(ports),
		monitorRoutes(ports), alertRoutes(ports), incidentRoutes(ports), channelRoutes(ports),
		assistantRoutes(ports), consoleAIRoutes(ports), consoleApprovalRoutes(ports), consolePasskeyRoutes(ports),
	)
}
