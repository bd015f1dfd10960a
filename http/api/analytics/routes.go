// Package analytics has the routes of the data about visitors: overviews, breakdowns, retention, the live view, events,
// goals, funnels, and the settings of the public page.
package analytics

import (
	"slices"

	"svc/http/route"
)

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct {
	Analytics   Analytics
	Presence    Presence
	Reads       Reads
	Events      Events
	Goals       Goals
	Funnels     Funnels
	Results     Results
	Shares      Shares
	Annotations Annotations
	Releases    Releases
	Ways        Ways
	Segments    Segments
	// Sampling may be nil: then no environment is sampled.
	Sampling Sampling
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	return slices.Concat(
		summaryRoutes(ports),
		readRoutes(ports),
		liveRoutes(ports),
		goalRoutes(ports),
		funnelRoutes(ports),
		eventRoutes(ports),
		annotationRoutes(ports),
		wayRoutes(ports),
		consoleShareRoutes(ports),
	)
}
