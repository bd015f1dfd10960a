// Package people has the routes of people: their records, and the decisions of members about them.
package people

import (
	"slices"

	"svc/http/route"
)

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct {
	People    People
	Changes   Changes
	Timelines Timelines
	Merges    Merges
	Splits    Splits
	Segments  Segments
	Tallies   Tallies
	Companies Companies
	Erasures  Erasures
	DropOffs  DropOffs
	// NewID returns a new sortable id with a prefix.
	NewID func(prefix string) string
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	return slices.Concat(
		personRoutes(ports),
		activityRoutes(ports),
		splitRoutes(ports),
		exportRoutes(ports),
		segmentRoutes(ports),
		companyRoutes(ports),
		erasureRoutes(ports),
	)
}
