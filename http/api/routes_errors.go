package api

import (
	"svc"
	"svc/http"
)

func errorRoutes(ports Ports) []http.Route {
	tracking := tracking{issues: ports.Issues, occurrences: ports.Occurrences, changes: ports.IssueChanges, members: ports.Members}
	return []http.Route{
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors", Operation: "errors.list", Module: svc.ModuleErrors, Scope: svc.ScopeRead, Permission: svc.PermErrorsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "List issues", Handler: http.Typed(tracking.list),
		},
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/overview", Operation: "errors.overview", Module: svc.ModuleErrors, Scope: svc.ScopeRead, Permission: svc.PermErrorsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "Counts and noisiest issues in a range", Handler: http.Typed(tracking.overview),
		},
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/{issueId}", Operation: "errors.get", Module: svc.ModuleErrors, Scope: svc.ScopeRead, Permission: svc.PermErrorsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "One issue in full", Handler: http.Typed(tracking.get),
		},
		{
			Surface: http.Manage, Method: "PATCH", Path: "/apps/{org}/{app}/errors/{issueId}", Operation: "errors.update", Module: svc.ModuleErrors, Scope: svc.ScopeWrite, Permission: svc.PermErrorsWrite, Effect: http.Write, Rate: svc.RateDefault,
			Summary: "Resolve, ignore, reopen or assign an issue", Handler: http.Typed(tracking.update),
		},
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/{issueId}/events", Operation: "errors.events", Module: svc.ModuleErrors, Scope: svc.ScopeRead, Permission: svc.PermErrorsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "Occurrences of an issue, newest first", Handler: http.Typed(tracking.events),
		},
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/{issueId}/events/{eventId}", Operation: "errors.event", Module: svc.ModuleErrors, Scope: svc.ScopeRead, Permission: svc.PermErrorsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "One occurrence in full", Handler: http.Typed(tracking.event),
		},
		{
			Surface: http.Console, Method: "POST", Path: "/apps/{org}/{app}/errors/{issueId}/merge", Operation: "console.errors.merge", Module: svc.ModuleErrors, Scope: svc.ScopeWrite, Permission: svc.PermErrorsWrite, Effect: http.Write, Rate: svc.RateDefault,
			Summary: "Make issues part of another one", Codes: []svc.Code{svc.CodeConflict}, Handler: http.Typed(tracking.merge),
		},
		{
			Surface: http.Console, Method: "POST", Path: "/apps/{org}/{app}/errors/{issueId}/unmerge", Operation: "console.errors.unmerge", Module: svc.ModuleErrors, Scope: svc.ScopeWrite, Permission: svc.PermErrorsWrite, Effect: http.Write, Rate: svc.RateDefault,
			Summary: "Take issues out of another one", Handler: http.Typed(tracking.unmerge),
		},
	}
}
