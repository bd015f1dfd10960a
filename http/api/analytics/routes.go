// Package analytics has the routes of what visitors do: overviews, breakdowns, retention, the
// live view, events, goals, funnels, and the settings of the public page.
package analytics

import (
	"slices"

	"svc/http/route"
)

// Ports are what the handlers call. A port may be nil only where the rows are
// listed and never served.
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
	// Sampling may be nil: no environment is sampled.
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
