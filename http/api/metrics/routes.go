package metrics

import (
	"svc/http/route"
)

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct {
	Metrics Metrics
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	return metricRoutes(ports)
}
