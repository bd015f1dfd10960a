package main

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"svc/actors/apps"
	"svc/actors/enrich"
	"svc/actors/grain"
	"svc/actors/identity"
	"svc/cluster"
	"svc/domain"
	"svc/http/api/accounts"
	appsapi "svc/http/api/apps"
	"svc/http/api/metrics"
	"svc/http/ingest"
	"svc/http/outbound"
	"svc/http/route"
)

// identityModule adds people, organizations, their tokens and ledgers.
func (n *node) identityModule() module {
	return module{name: "identity", kinds: func(node *grain.Node) []cluster.Kind {
		return identity.Kinds(node, identity.Limits{Default: n.config.RateLimit, Query: min(n.config.RateLimit, domain.QueryPerMinute)})
	}, routes: func() ([]route.Route, error) {
		ports := accounts.Ports{
			Organizations: organizations{n.identity, n.apps}, Members: n.identity, Invitations: n.identity, Tokens: n.identity, Passkeys: n.identity, Sessions: n.identity, Links: n.identity,
			Seal: n.consoleSeal, Ledger: n.db, Client: n.describeClients(),
			Limits: accounts.Limits{
				PerMinute: n.config.RateLimit, AnalyticsPerMinute: min(n.config.RateLimit, domain.QueryPerMinute), ConcurrentQueries: n.concurrentQueries(),
			},
		}
		if n.config.MailServer != "" {
			ports.Letters = outbound.NewInvitations(outbound.Mail{Server: n.config.MailServer, From: n.config.MailFrom, Now: n.now}, n.consoleSite)
		}
		return accounts.Routes(ports), nil
	}}
}

// describeClients returns the function that describes browsers, so that people can distinguish their sessions.
func (n *node) describeClients() accounts.Client {
	const remembered = 256
	var mu sync.Mutex
	agents, proxies := enrich.NewUserAgents(remembered), ingest.Proxies(n.config.Proxies)
	words := func(of ...string) string {
		return strings.Join(slices.DeleteFunc(of, func(word string) bool { return word == "" }), ", ")
	}
	return func(r *http.Request) (device, place string) {
		mu.Lock()
		client := agents.Parse(r.UserAgent())
		mu.Unlock()
		if address, err := netip.ParseAddr(proxies.Address(r)); err == nil {
			at := n.places.Locate(address)
			place = words(at.City, at.Region, at.Country)
		}
		return words(client.Browser, client.OS), place
	}
}

// applicationsModule adds applications with their keys.
func (n *node) applicationsModule() module {
	return module{name: "applications", kinds: func(node *grain.Node) []cluster.Kind {
		return apps.Kinds(node, n.collectors, n.shares)
	}, snapshots: func() []apps.Snapshot {
		return []apps.Snapshot{n.deletions}
	}, routes: func() ([]route.Route, error) {
		return appsapi.Routes(appsapi.Ports{Apps: retaining{n.apps, n}, Keys: n.apps, Exclusions: n.apps, Connectors: n.connecting.connectors}), nil
	}, parts: func() []part {
		return []part{{"deletions", "It has actors forget what was deleted, so it stops before them.", n.removeDeleted}}
	}}
}

// removeDeleted removes the stored data of deleted applications and organizations.
func (n *node) removeDeleted(ctx context.Context) error {
	remover := &apps.Remover{
		Deletions: n.deletions, Apps: n.apps, Actors: n.cluster, Stored: n.db, Owns: func() bool { _, owned := n.ownership.Owned(0); return owned },
		Changed: n.db.ReadStore.Forget, Settle: n.config.ErasureDelay, Now: n.now, Logger: n.logger,
	}
	return remover.Run(ctx)
}

// organizations combines organizations with their applications.
type organizations struct {
	*identity.Identity
	apps *apps.Applications
}

// DeleteOrganization deletes an organization and its applications.
func (o organizations) DeleteOrganization(ctx context.Context, org string) error {
	records, err := o.Identity.DeleteOrganization(ctx, org)
	for _, record := range records {
		if err == nil {
			err = o.apps.Close(domain.WithCarrier(ctx, nil), record)
		}
	}
	return err
}

// DeleteApplication deletes an application.
func (o organizations) DeleteApplication(ctx context.Context, ref domain.AppRef) (domain.Application, error) {
	app, err := o.apps.Get(ctx, ref)
	if err != nil {
		return app, err
	}
	return app, o.apps.Delete(ctx, ref)
}

// metricsModule adds series of numbers; the pipeline stores them like events.
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
