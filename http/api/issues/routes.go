// Package issues has the routes of errors: issues, their occurrences, and the decisions of people.
package issues

import (
	"svc/http/route"
)

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
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
