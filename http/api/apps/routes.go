// Package apps has the routes of applications, their ingest keys, their connectors, and the guide to install.
package apps

import (
	"slices"

	"svc/http/route"
)

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct {
	Apps       Apps
	Keys       Keys
	Exclusions Exclusions
	Connectors Connectors
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	return slices.Concat(
		appRoutes(ports),
		keyRoutes(ports),
		exclusionRoutes(ports),
		connectorRoutes(ports),
	)
}
