// Package exports has the routes of exports: files of events and people, and the links to download them.
package exports

import (
	"context"
	"io"
	"net/http"
	"time"

	"svc/domain"
	"svc/domain/export"
	"svc/http/route"
)

// Exports stores the exports of applications.
type Exports interface {
	// CreateExport begins an export. It fails with conflict beyond the bounds of the application.
	CreateExport(ctx context.Context, export export.Export) (export.Export, error)
	// Export returns an export. It fails with not_found if the application has no export with the id.
	Export(ctx context.Context, app domain.AppRef, id string) (export.Export, error)
	// Exports returns the exports of an application, the newest first.
	Exports(ctx context.Context, app domain.AppRef) ([]export.Export, error)
}

// Access checks the present permission to download a file.
type Access interface {
	// Reads fails with not_found if the application does not exist, or if the person is not a member of its
	// organization. The grant has the permissions of the person's role.
	Reads(ctx context.Context, app domain.AppRef, person string) (domain.Application, domain.Grant, error)
}

// Files reads the files of completed exports.
type Files interface {
	// OpenExport returns a file, which is written while it is read.
	OpenExport(ctx context.Context, export *export.Export) (io.ReadCloser, error)
}

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct {
	Exports Exports
	Files   Files
	Links   Links
	Access  Access
	// NewID returns a new sortable id with a prefix.
	NewID func(prefix string) string
	Now   func() time.Time
}

// Routes returns the gated rows of the package.
func Routes(ports Ports) []route.Route {
	e := exports{ports}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/exports", Operation: "exports.list", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermEventsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Exports and how far they are", Handler: route.Typed(e.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/exports", Operation: "exports.create", Module: domain.ModuleAnalytics, Scope: domain.ScopeWrite, Permission: domain.PermEventsRead, Effect: route.Write, Ledger: "export.created", Rate: domain.RateDefault,
			Summary: "Export events or people of a range as NDJSON, CSV or Parquet", Status: http.StatusCreated, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(e.create),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/exports/{id}", Operation: "exports.get", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermEventsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "An export, with a link to its file that is good for an hour", Handler: route.Typed(e.get),
		},
	}
}
