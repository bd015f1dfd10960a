package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/actors/apps"
	"svc/actors/grain"
	"svc/actors/live"
	"svc/actors/pipeline"
	"svc/cluster"
	"svc/domain"
	domainanalytics "svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/person"
	"svc/http/api/analytics"
	"svc/http/route"
	"svc/http/share"
	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/database"
	readstore "svc/storage/clickhouse/reads"
)

// analyticsModule adds reads, goals, funnels, the live view and public pages.
func (n *node) analyticsModule() module {
	return module{
		name: "analytics",
		listeners: func() []pipeline.Listener {
			return []pipeline.Listener{&live.Listener{Subscriptions: n.subscriptions, Updates: n.updates, Logger: n.logger}}
		},
		snapshots: func() []apps.Snapshot { return []apps.Snapshot{n.shares} },
		kinds: func(node *grain.Node) []cluster.Kind {
			whole := func() bool { return n.ownership.Partitions() == n.shape().Total() }
			return []cluster.Kind{live.Kind(live.Ports{Visits: n.db, Subscriptions: n.subscriptions, Workers: node.Workers, Whole: whole, Now: n.now, Logger: n.logger})}
		},
		routes: func() ([]route.Route, error) {
			pages, err := n.sharePages()
			if err != nil {
				return nil, err
			}
			return append(analytics.Routes(analytics.Ports{
				Analytics: n.db, Presence: &live.Presence{Actors: n.cluster}, Reads: n.db, Events: personalEvents{n.db},
				Goals: n.apps, Funnels: n.apps, Results: n.db, Shares: n.apps, Annotations: n.apps, Releases: n.releases, Ways: n.db, Segments: n.segments(), Sampling: n.sampled,
			}), pages.Routes()...), nil
		},
		parts: func() []part {
			return []part{
				{"retention of rows", "It changes stored rows only; it reads the snapshot that the follower keeps.", n.applyRetentions},
				{"file of past days", "It writes what was counted of past days; nothing depends on it.", n.savePastDays},
				{"counter of past days", "It counts what the file above keeps, so it stops before the file is written for the last time.", n.countPastDays},
			}
		},
	}
}

// sharePages returns the public pages.
func (n *node) sharePages() (*share.Pages, error) {
	pages, err := share.New(share.Config{Shares: n.shares, Current: n.current, Traffic: sharedTraffic{n.db}, Now: n.now, Logger: n.logger})
	if err != nil {
		return nil, fmt.Errorf("preparing the public pages: %w", err)
	}
	return pages, nil
}

// sharedTraffic adapts the store's reads to the public page. The page shows no conversions, so it passes no goals.
type sharedTraffic struct{ db *database.DB }

func (t sharedTraffic) Overview(ctx context.Context, scope domainanalytics.Scope) (domainanalytics.Overview, error) {
	return t.db.Overview(ctx, scope, nil)
}

func (t sharedTraffic) Timeseries(ctx context.Context, scope domainanalytics.Scope, metric domainanalytics.Metric, interval domain.Interval) (domainanalytics.Series, error) {
	return t.db.Timeseries(ctx, scope, metric, interval, nil)
}

func (t sharedTraffic) Top(ctx context.Context, scope domainanalytics.Scope, dimension filter.Dimension, limit int) ([]share.Row, error) {
	found, err := t.db.Breakdown(ctx, domainanalytics.BreakdownQuery{Scope: scope, Dimension: dimension, Limit: limit}, nil)
	rows := make([]share.Row, 0, len(found.Rows))
	for i := range found.Rows {
		rows = append(rows, share.Row{Value: found.Rows[i].Value, Visitors: found.Rows[i].Visitors})
	}
	return rows, err
}

// pastDays is the file in the data directory that holds the store's counts of past days.
func (n *node) pastDays() *readstore.File {
	return &readstore.File{Store: n.db.ReadStore, Path: n.dir.Join("kept-days"), Logger: n.logger}
}

// loadPastDays loads the counts of the previous process.
func (n *node) loadPastDays(ctx context.Context) error {
	n.pastDays().Load(ctx)
	return nil
}

// savePastDays writes the file until ctx ends.
func (n *node) savePastDays(ctx context.Context) error { return n.pastDays().Run(ctx) }

// countPastDays counts past days before the first read of them.
func (n *node) countPastDays(ctx context.Context) error {
	rounds := prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_past_days_rounds_total", Help: "Rounds in which the days that are over were counted for every dimension."})
	n.registry.MustRegister(rounds)
	warmer := &readstore.Warmer{Store: n.db.ReadStore, Targets: n.countedTargets, Busy: n.sinks.Busy, Counted: rounds.Inc, Now: n.now, Logger: n.logger}
	return warmer.Run(ctx)
}

// countedTargets returns the environments of all applications.
func (n *node) countedTargets() (targets []readstore.Target) {
	for _, app := range n.collectors.Applications() {
		for _, environment := range app.Environments {
			targets = append(targets, readstore.Target{Environment: environment, Location: app.Location()})
		}
	}
	return targets
}

// applyRetentions applies the retention of each application to its stored rows. Only the owner of partition 0 does it.
func (n *node) applyRetentions(ctx context.Context) error {
	changes := &block.RetentionChanges{
		Store: n.db, Owns: func() bool { _, owned := n.ownership.Owned(0); return owned }, Apps: n.collectors.Applications, Now: n.now, Logger: n.logger,
	}
	return changes.Run(ctx)
}

// retainingTime limits how long the answer to a changed retention waits for the stored rows.
const retainingTime = 10 * time.Second

// retaining applies a changed retention to the stored rows before it answers the change, so that the next read hides
// older rows. applyRetentions repeats it for rows that are stored meanwhile, and completes changes that failed or took
// too long here.
type retaining struct {
	*apps.Applications
	node *node
}

// Update changes settings of an application.
func (r retaining) Update(ctx context.Context, ref domain.AppRef, patch domain.AppPatch, ifMatch *uint64) (domain.Application, error) {
	app, err := r.Applications.Update(ctx, ref, patch, ifMatch)
	if err != nil || patch.RetentionDays == nil {
		return app, err
	}
	bounded, cancel := context.WithTimeout(ctx, retainingTime)
	defer cancel()
	for _, environment := range app.Environments {
		if err := r.node.db.SetRetention(bounded, environment.Number, app.RetentionDays, r.node.now()); err != nil {
			r.node.logger.Warn("a retention will be applied later", "application", ref, "environment", environment.Slug, "days", app.RetentionDays, "error", err)
			break
		}
	}
	return app, nil
}

// personalEvents is the event feed with the persons of the events. The links at the time of the read determine them.
type personalEvents struct{ *database.DB }

// List returns a page of the feed.
func (e personalEvents) List(ctx context.Context, q domainanalytics.EventQuery) (page []event.Event, more bool, err error) {
	if q.PersonID != "" {
		visitor, ok := person.ParsePersonID(q.PersonID)
		if !ok {
			return nil, false, nil
		}
		stays, err := e.Stays(ctx, q.Environment.Number, visitor)
		if err != nil || len(stays.Visitors) == 0 {
			return nil, false, err
		}
		q.Stays = &stays
	}
	if page, more, err = e.ReadStore.List(ctx, q); err != nil {
		return nil, false, err
	}
	return page, more, e.NamePersons(ctx, q.Environment.Number, page)
}
