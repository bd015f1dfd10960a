package api

import (
	"svc"
	"svc/http"
)

func goalRoutes(ports Ports) []http.Route {
	goals := goals{goals: ports.Goals, results: ports.Results}
	funnels := funnels{funnels: ports.Funnels, results: ports.Results}
	return []http.Route{
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/goals", Operation: "analytics.goals", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "Conversions per goal", Handler: http.Typed(goals.counts),
		},
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/goals", Operation: "goals.list", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: http.Read, Rate: svc.RateDefault,
			Summary: "List goal definitions", Handler: http.Typed(goals.list),
		},
		{
			Surface: http.Manage, Method: "POST", Path: "/apps/{org}/{app}/goals", Operation: "goals.create", Module: svc.ModuleAnalytics, Scope: svc.ScopeWrite, Permission: svc.PermAnalyticsWrite, Effect: http.Write, Rate: svc.RateDefault,
			Summary: "Create a goal", Status: 201, Codes: []svc.Code{svc.CodeConflict}, Handler: http.Typed(goals.create),
		},
		{
			Surface: http.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/goals/{id}", Operation: "goals.delete", Module: svc.ModuleAnalytics, Scope: svc.ScopeWrite, Permission: svc.PermAnalyticsWrite, Effect: http.Destructive, Rate: svc.RateDefault,
			Summary: "Delete a goal", Status: 204, Handler: http.Typed(goals.delete),
		},
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/funnels", Operation: "funnels.list", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: http.Read, Rate: svc.RateDefault,
			Summary: "List saved funnels", Handler: http.Typed(funnels.list),
		},
		{
			Surface: http.Manage, Method: "POST", Path: "/apps/{org}/{app}/funnels", Operation: "funnels.create", Module: svc.ModuleAnalytics, Scope: svc.ScopeWrite, Permission: svc.PermAnalyticsWrite, Effect: http.Write, Rate: svc.RateDefault,
			Summary: "Save a funnel", Status: 201, Codes: []svc.Code{svc.CodeConflict}, Handler: http.Typed(funnels.create),
		},
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/funnels/{id}", Operation: "funnels.get", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: http.Read, Rate: svc.RateDefault,
			Summary: "Read one funnel", Handler: http.Typed(funnels.get),
		},
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/funnels/{id}/results", Operation: "funnels.results", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "Step-by-step conversion", Handler: http.Typed(funnels.rows),
		},
		{
			Surface: http.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/funnels/{id}", Operation: "funnels.delete", Module: svc.ModuleAnalytics, Scope: svc.ScopeWrite, Permission: svc.PermAnalyticsWrite, Effect: http.Destructive, Rate: svc.RateDefault,
			Summary: "Delete a funnel", Status: 204, Handler: http.Typed(funnels.delete),
		},
	}
}
