package main

import (
	"context"

	"svc"
	"svc/actors/apps"
	"svc/storage/clickhouse/database"
)

// The types below answer reads of the store that need an application's goals or funnels,
// which its actor keeps. Asking it costs microseconds, and what was just made counts.

// overviews is http's view of the store's answers.
type overviews struct {
	db   *database.DB
	apps *apps.Applications
}

func (a overviews) Overview(ctx context.Context, scope svc.AnalyticsScope) (svc.Overview, error) {
	goals, err := a.apps.Goals(ctx, scope.App)
	if err != nil {
		return svc.Overview{}, err
	}
	return a.db.Overview(ctx, scope, svc.Matchers(goals))
}

func (a overviews) Timeseries(ctx context.Context, scope svc.AnalyticsScope, metric svc.Metric, interval svc.Interval) (svc.Series, error) {
	if metric != svc.MetricConversions {
		return a.db.Timeseries(ctx, scope, metric, interval, nil)
	}
	goals, err := a.apps.Goals(ctx, scope.App)
	if err != nil {
		return svc.Series{}, err
	}
	return a.db.Timeseries(ctx, scope, metric, interval, svc.Matchers(goals))
}

// events is http's view of the feed.
type events struct {
	*database.DB
	apps *apps.Applications
}

func (e events) Names(ctx context.Context, query svc.EventNamesQuery) (svc.EventNames, error) {
	goals, err := e.apps.Goals(ctx, query.App)
	if err != nil {
		return svc.EventNames{}, err
	}
	return e.DB.Names(ctx, query, svc.Matchers(goals))
}

// results is http's view of what goals and funnels have come to.
type results struct {
	db   *database.DB
	apps *apps.Applications
}

func (r results) GoalCounts(ctx context.Context, scope svc.AnalyticsScope) (svc.GoalCounts, error) {
	goals, err := r.apps.Goals(ctx, scope.App)
	if err != nil {
		return svc.GoalCounts{}, err
	}
	return r.db.GoalCounts(ctx, scope, goals)
}

func (r results) FunnelResult(ctx context.Context, scope svc.AnalyticsScope, id string) (svc.Funnel, svc.FunnelResult, error) {
	funnel, err := r.apps.Funnel(ctx, scope.App, id)
	if err != nil {
		return svc.Funnel{}, svc.FunnelResult{}, err
	}
	result, err := r.db.FunnelResult(ctx, scope, funnel)
	return funnel, result, err
}
