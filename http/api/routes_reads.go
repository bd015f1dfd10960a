package api

import (
	"svc"
	"svc/http/route"
)

// readRoutes lists the analytic reads beside overview and timeseries.
func readRoutes(ports Ports) []route.Route {
	reads := reads{reads: ports.Reads}
	live := live{presence: ports.Presence}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/breakdown", Operation: "analytics.breakdown", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Top values for one dimension", Handler: route.Typed(reads.breakdown),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/retention", Operation: "analytics.retention", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Cohort retention", Handler: route.Typed(reads.retention),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/active-users", Operation: "analytics.activeUsers", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Active users a day, a week and a month, and their ratio", Handler: route.Typed(reads.activeUsers),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/live", Operation: "analytics.live", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Visitors active in the last five minutes", Handler: route.TypedStream(live.get, live.stream),
		},
	}
}
