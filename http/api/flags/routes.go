// Package flags has the routes by which members manage feature flags.
package flags

import (
	"slices"

	"svc/http/route"
)

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct {
	Flags    Flags
	Readings Readings
	Previews Previews
	Results  Results
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	return slices.Concat(flagRoutes(ports), previewRoutes(ports), resultRoutes(ports))
}
