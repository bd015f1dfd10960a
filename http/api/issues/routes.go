// Package issues has the routes of errors: issues, their occurrences, and what people decide.
package issues

import (
	"svc/http/route"
)

// Ports are what the handlers call. A port may be nil only where the rows are
// listed and never served.
type Ports struct {
	Issues      Issues
	Occurrences Occurrences
	Changes     IssueChanges
	People      People
	Artifacts   Artifacts
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	return errorRoutes(ports)
}
