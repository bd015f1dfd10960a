package api

import (
	"svc"
	"svc/http"
)

// readRoutes lists the analytic reads beside overview and timeseries.
func readRoutes(ports Ports) []http.Route {
	reads := reads{reads: ports.Reads}
	live := live{presence: ports.Presence}
	return []http.Route{
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/breakdown", Operation: "analytics.breakdown", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "Top values for one dimension", Handler: http.Typed(reads.breakdown),
		},
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/retention", Operation: "analytics.retention", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "Cohort retention", Handler: http.Typed(reads.retention),
		},
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/active-users", Operation: "analytics.activeUsers", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "Active users a day, a week and a month, and their ratio", Handler: http.Typed(reads.activeUsers),
		},
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/live", Operation: "analytics.live", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "Visitors active in the last five minutes", Handler: http.TypedStream(live.get, live.stream),
		},
	}
}
