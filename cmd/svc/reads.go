package main

import (
	"context"

	"svc"
	"svc/storage/clickhouse"
)

// reads is http's view of the store's breakdowns, cohorts and rolling uniques.
type reads struct{ *clickhouse.DB }

func (r reads) Breakdown(ctx context.Context, query svc.BreakdownQuery) (svc.Breakdown, error) {
	return r.DB.Breakdown(ctx, query, nil)
}
