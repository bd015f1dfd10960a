// Package alerting has the routes of monitors, alert rules, incidents and channels.
package alerting

import (
	"slices"

	"svc/http/route"
)

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct {
	Monitors  Monitors
	Alerts    Alerts
	Incidents Incidents
	Channels  Channels
	Changes   ChannelChanges
	Silences  Silences
	Previews  Previews
	Details   Details
	Checker   Checker
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	return slices.Concat(
		monitorRoutes(ports),
		detailRoutes(ports),
		silenceRoutes(ports),
		previewRoutes(ports),
		alertRoutes(ports),
		incidentRoutes(ports),
		channelRoutes(ports),
	)
}
