package clickhouse

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
)

// IssueTotals returns how often issues of some environments occurred in all that is
// stored; one that never did is missing.
func (db *DB) IssueTotals(ctx context.Context, environments, issues []uint64) (out []svc.IssueTotal, err error) {
	args := arguments{"environments": environments, "issues": issues}
	err = db.read(ctx, "counting issues for alerts", db.queries["issues.Totals"], args, func(rows driver.Rows) (bool, error) {
		var total svc.IssueTotal
		err := rows.Scan(&total.Environment, &total.Issue, &total.Occurrences, &total.Name, &total.Message)
		out = append(out, total)
		return true, err
	})
	return out, err
}
