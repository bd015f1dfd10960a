package api

import (
	"svc"
	"svc/http"
)

func metricRoutes(ports Ports) []http.Route {
	metrics := metrics{metrics: ports.Metrics}
	return []http.Route{
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/metrics/names", Operation: "metrics.names", Module: svc.ModuleMetrics, Scope: svc.ScopeRead, Permission: svc.PermMetricsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "Metric names, kinds and units", Handler: http.Typed(metrics.names),
		},
		{
			Surface: http.Manage, Method: "GET", Path: "/apps/{org}/{app}/metrics/series", Operation: "metrics.series", Module: svc.ModuleMetrics, Scope: svc.ScopeRead, Permission: svc.PermMetricsRead, Effect: http.Read, Rate: svc.RateQuery,
			Summary: "One metric aggregated into buckets", Handler: http.Typed(metrics.series),
		},
	}
}
