package main

import (
	"context"

	"svc"
	"svc/actors"
	"svc/storage/clickhouse"
)

// reads is http's view of the store's breakdowns, cohorts and rolling uniques.
type reads struct {
	*clickhouse.DB
	apps *actors.Applications
}

func (r reads) Breakdown(ctx context.Context, query svc.BreakdownQuery) (svc.Breakdown, error) {
	goals, err := r.apps.Goals(ctx, query.App)
	if err != nil {
		return svc.Breakdown{}, err
	}
	return r.DB.Breakdown(ctx, query, svc.Matchers(goals))
}
