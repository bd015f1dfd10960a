package api

import (
	"svc"
	"svc/http/route"
)

func errorRoutes(ports Ports) []route.Route {
	tracking := tracking{issues: ports.Issues, occurrences: ports.Occurrences, changes: ports.IssueChanges, members: ports.Members}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors", Operation: "errors.list", Module: svc.ModuleErrors, Scope: svc.ScopeRead, Permission: svc.PermErrorsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "List issues", Handler: route.Typed(tracking.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/overview", Operation: "errors.overview", Module: svc.ModuleErrors, Scope: svc.ScopeRead, Permission: svc.PermErrorsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Counts and noisiest issues in a range", Handler: route.Typed(tracking.overview),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/{issueId}", Operation: "errors.get", Module: svc.ModuleErrors, Scope: svc.ScopeRead, Permission: svc.PermErrorsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "One issue in full", Handler: route.Typed(tracking.get),
		},
		{
			Surface: route.Manage, Method: "PATCH", Path: "/apps/{org}/{app}/errors/{issueId}", Operation: "errors.update", Module: svc.ModuleErrors, Scope: svc.ScopeWrite, Permission: svc.PermErrorsWrite, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Resolve, ignore, reopen or assign an issue", Handler: route.Typed(tracking.update),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/{issueId}/events", Operation: "errors.events", Module: svc.ModuleErrors, Scope: svc.ScopeRead, Permission: svc.PermErrorsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Occurrences of an issue, newest first", Handler: route.Typed(tracking.events),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/errors/{issueId}/events/{eventId}", Operation: "errors.event", Module: svc.ModuleErrors, Scope: svc.ScopeRead, Permission: svc.PermErrorsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "One occurrence in full", Handler: route.Typed(tracking.event),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/errors/{issueId}/merge", Operation: "console.errors.merge", Module: svc.ModuleErrors, Scope: svc.ScopeWrite, Permission: svc.PermErrorsWrite, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Make issues part of another one", Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(tracking.merge),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/errors/{issueId}/unmerge", Operation: "console.errors.unmerge", Module: svc.ModuleErrors, Scope: svc.ScopeWrite, Permission: svc.PermErrorsWrite, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Take issues out of another one", Handler: route.Typed(tracking.unmerge),
		},
	}
}
