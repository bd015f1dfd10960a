package api

import (
	"svc"
	"svc/http/route"
)

func goalRoutes(ports Ports) []route.Route {
	goals := goals{goals: ports.Goals, results: ports.Results}
	funnels := funnels{funnels: ports.Funnels, results: ports.Results}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/goals", Operation: "analytics.goals", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Conversions per goal", Handler: route.Typed(goals.counts),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/goals", Operation: "goals.list", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List goal definitions", Handler: route.Typed(goals.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/goals", Operation: "goals.create", Module: svc.ModuleAnalytics, Scope: svc.ScopeWrite, Permission: svc.PermAnalyticsWrite, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Create a goal", Status: 201, Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(goals.create),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/goals/{id}", Operation: "goals.delete", Module: svc.ModuleAnalytics, Scope: svc.ScopeWrite, Permission: svc.PermAnalyticsWrite, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Delete a goal", Status: 204, Handler: route.Typed(goals.delete),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/funnels", Operation: "funnels.list", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List saved funnels", Handler: route.Typed(funnels.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/funnels", Operation: "funnels.create", Module: svc.ModuleAnalytics, Scope: svc.ScopeWrite, Permission: svc.PermAnalyticsWrite, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Save a funnel", Status: 201, Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(funnels.create),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/funnels/{id}", Operation: "funnels.get", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "Read one funnel", Handler: route.Typed(funnels.get),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/funnels/{id}/results", Operation: "funnels.results", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Step-by-step conversion", Handler: route.Typed(funnels.rows),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/funnels/{id}", Operation: "funnels.delete", Module: svc.ModuleAnalytics, Scope: svc.ScopeWrite, Permission: svc.PermAnalyticsWrite, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Delete a funnel", Status: 204, Handler: route.Typed(funnels.delete),
		},
	}
}
