package api

import (
	"svc"
	"svc/http/route"
)

func metricRoutes(ports Ports) []route.Route {
	metrics := metrics{metrics: ports.Metrics}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/metrics/names", Operation: "metrics.names", Module: svc.ModuleMetrics, Scope: svc.ScopeRead, Permission: svc.PermMetricsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Metric names, kinds and units", Handler: route.Typed(metrics.names),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/metrics/series", Operation: "metrics.series", Module: svc.ModuleMetrics, Scope: svc.ScopeRead, Permission: svc.PermMetricsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "One metric aggregated into buckets", Handler: route.Typed(metrics.series),
		},
	}
}
