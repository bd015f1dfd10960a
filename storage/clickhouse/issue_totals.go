package clickhouse

import (
	"context"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
)

// FormerEnvironments returns the environments that have issues of the former grouping.
func (db *DB) FormerEnvironments(ctx context.Context) (out []uint64, err error) {
	args := arguments{"prefix": "v" + strconv.Itoa(svc.FingerprintVersion-1) + "-"}
	err = db.read(ctx, "looking for issues of the former grouping", db.queries["issues.Former"], args, func(rows driver.Rows) (bool, error) {
		var environment uint64
		err := rows.Scan(&environment)
		out = append(out, environment)
		return true, err
	})
	return out, err
}

// Merged returns how many issues of an environment are part of others.
func (db *DB) Merged(ctx context.Context, environment uint64) (int, error) {
	m, err := db.merges(ctx, environment)
	return len(m.members), err
}

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
