package main

import (
	"svc"
	"svc/actors/apps"
	"svc/actors/grain"
	"svc/actors/identity"
	"svc/cluster"
	"svc/http/api/accounts"
	appsapi "svc/http/api/apps"
	"svc/http/api/metrics"
	"svc/http/route"
)

// identityModule is people, organizations, their tokens and ledgers.
func (n *node) identityModule() module {
	return module{name: "identity", kinds: func(node *grain.Node) []cluster.Kind {
		return identity.Kinds(node, identity.Limits{Default: n.config.RateLimit, Query: min(n.config.RateLimit, svc.QueryPerMinute)})
	}, routes: func() ([]route.Route, error) {
		return accounts.Routes(accounts.Ports{
			Organizations: n.identity, Members: n.identity, Invitations: n.identity, Tokens: n.identity, Passkeys: n.identity, Sessions: n.identity, Links: n.identity,
			Seal: n.consoleSeal, Ledger: n.db,
			Limits: accounts.Limits{
				PerMinute: n.config.RateLimit, AnalyticsPerMinute: min(n.config.RateLimit, svc.QueryPerMinute), ConcurrentQueries: n.concurrentQueries(),
			},
		}), nil
	}}
}

// applicationsModule is applications with their keys.
func (n *node) applicationsModule() module {
	return module{name: "applications", kinds: func(node *grain.Node) []cluster.Kind {
		return apps.Kinds(node, n.collectors, n.shares)
	}, routes: func() ([]route.Route, error) {
		return appsapi.Routes(appsapi.Ports{Apps: n.apps, Keys: n.apps, Exclusions: n.apps}), nil
	}}
}

// metricsModule is series of numbers; the pipeline stores them as it stores events.
func (n *node) metricsModule() module {
	return module{
		name: "metrics",
		routes: func() ([]route.Route, error) {
			return metrics.Routes(metrics.Ports{Metrics: n.db}), nil
		},
		parts: func() []part {
			return []part{{"series", "It reads the series of environments whose points requests bring, so it runs for as long as there are requests.", n.cardinality.Run}}
		},
	}
}
