package issues

import (
	"context"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/storage/clickhouse"
)

// FormerEnvironments returns the environments that have issues of the former grouping.
func (db *Store) FormerEnvironments(ctx context.Context) (out []uint64, err error) {
	args := clickhouse.Args{"prefix": "v" + strconv.Itoa(occurrence.FingerprintVersion-1) + "-"}
	for _, shard := range db.conn.Shards() {
		err = shard.Read(ctx, "looking for issues of the former grouping", db.queries["issues.Former"], args, func(rows driver.Rows) (bool, error) {
			var environment uint64
			err := rows.Scan(&environment)
			out = append(out, environment)
			return true, err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Merged returns the number of issues of an environment that are merged into others.
func (db *Store) Merged(ctx context.Context, environment uint64) (int, error) {
	m, err := db.merges(ctx, environment)
	return len(m.members), err
}

// IssueTotals returns the number of stored occurrences of issues in some environments. Issues without occurrences are
// missing.
func (db *Store) IssueTotals(ctx context.Context, environments, issues []uint64) (out []issue.Total, err error) {
	err = clickhouse.Split(db.conn, environments, clickhouse.Environment, func(conn *clickhouse.Conn, environments []uint64) error {
		args := clickhouse.Args{"environments": environments, "issues": issues}
		return conn.Read(ctx, "counting issues for alerts", db.queries["issues.Totals"], args, func(rows driver.Rows) (bool, error) {
			var total issue.Total
			err := rows.Scan(&total.Environment, &total.Issue, &total.Occurrences, &total.Name, &total.Message)
			out = append(out, total)
			return true, err
		})
	})
	return out, err
}

// OccurrencesAfter returns the number of occurrences of issues in some environments, in blocks with higher numbers than
// block. Issues without such occurrences are missing.
func (db *Store) OccurrencesAfter(ctx context.Context, environments, issues []uint64, block uint64) (out []issue.Total, err error) {
	err = clickhouse.Split(db.conn, environments, clickhouse.Environment, func(conn *clickhouse.Conn, environments []uint64) error {
		args := clickhouse.Args{"environments": environments, "issues": issues, "block": block}
		return conn.Read(ctx, "counting issues after a block", db.queries["issues.After"], args, func(rows driver.Rows) (bool, error) {
			var total issue.Total
			err := rows.Scan(&total.Environment, &total.Issue, &total.Occurrences)
			out = append(out, total)
			return true, err
		})
	})
	return out, err
}
