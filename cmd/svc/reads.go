package main

import (
	"fmt"

	"svc/http/share"

	"context"

	"svc"
	"svc/actors"
	"svc/storage/clickhouse/database"
)

// reads is http's view of the store's breakdowns, cohorts and rolling uniques.
type reads struct {
	*database.DB
	apps *actors.Applications
}

func (r reads) Breakdown(ctx context.Context, query svc.BreakdownQuery) (svc.Breakdown, error) {
	goals, err := r.apps.Goals(ctx, query.App)
	if err != nil {
		return svc.Breakdown{}, err
	}
	return r.DB.Breakdown(ctx, query, svc.Matchers(goals))
}

// sharePages returns the public pages.
func (n *node) sharePages() (*share.Pages, error) {
	pages, err := share.New(share.Config{Shares: n.shares, Traffic: sharedTraffic{n.db}, Now: n.now, Logger: n.logger})
	if err != nil {
		return nil, fmt.Errorf("preparing the public pages: %w", err)
	}
	return pages, nil
}

// sharedTraffic is the public page's view of the store's answers. The page shows
// no conversions, so no goals are passed.
type sharedTraffic struct{ db *database.DB }

func (t sharedTraffic) Overview(ctx context.Context, scope svc.AnalyticsScope) (svc.Overview, error) {
	return t.db.Overview(ctx, scope, nil)
}

func (t sharedTraffic) Timeseries(ctx context.Context, scope svc.AnalyticsScope, metric svc.Metric, interval svc.Interval) (svc.Series, error) {
	return t.db.Timeseries(ctx, scope, metric, interval, nil)
}

func (t sharedTraffic) Top(ctx context.Context, scope svc.AnalyticsScope, dimension svc.Dimension, limit int) ([]share.Row, error) {
	found, err := t.db.Breakdown(ctx, svc.BreakdownQuery{AnalyticsScope: scope, Dimension: dimension, Limit: limit}, nil)
	rows := make([]share.Row, 0, len(found.Rows))
	for i := range found.Rows {
		rows = append(rows, share.Row{Value: found.Rows[i].Value, Visitors: found.Rows[i].Visitors})
	}
	return rows, err
}
