// Package metrics has the routes that read metrics.
package metrics

import (
	"svc/http/route"
)

// Ports are what the handlers call. A port may be nil only where the rows are
// listed and never served.
type Ports struct {
	Metrics Metrics
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	return metricRoutes(ports)
}
