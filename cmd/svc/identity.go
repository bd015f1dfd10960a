package main

import (
	"svc"
	"svc/http/api/accounts"
	"svc/http/api/apps"
	"svc/http/api/metrics"
	"svc/http/route"
)

// identityModule is people, organizations, their tokens and ledgers.
func (n *node) identityModule() module {
	return module{name: "identity", routes: func() ([]route.Route, error) {
		return accounts.Routes(accounts.Ports{
			Organizations: n.identity, Members: n.identity, Invitations: n.identity, Tokens: n.identity, Passkeys: n.identity, Ledger: n.db,
			Limits: accounts.Limits{
				PerMinute: n.config.RateLimit, AnalyticsPerMinute: min(n.config.RateLimit, svc.QueryPerMinute), ConcurrentQueries: n.concurrentQueries(),
			},
		}), nil
	}}
}

// applicationsModule is applications with their keys.
func (n *node) applicationsModule() module {
	return module{name: "applications", routes: func() ([]route.Route, error) {
		return apps.Routes(apps.Ports{Apps: n.apps, Keys: n.apps}), nil
	}}
}

// metricsModule is series of numbers; the pipeline stores them as it stores events.
func (n *node) metricsModule() module {
	return module{name: "metrics", routes: func() ([]route.Route, error) {
		return metrics.Routes(metrics.Ports{Metrics: n.db}), nil
	}}
}
