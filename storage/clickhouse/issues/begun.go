package issues

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/occurrence"
	"svc/storage/clickhouse"
)

// maxBegun limits the issues of one preview of a rule.
const maxBegun = 5_000

// BegunIssues returns the notifications that a rule about new issues would have received since a time, oldest first:
// issues that began, and issues that regressed, each at its last regression.
func (db *Store) BegunIssues(ctx context.Context, environment uint64, since, now time.Time) ([]alert.Measurement, error) {
	m, err := db.merges(ctx, environment)
	if err != nil {
		return nil, err
	}
	var out []alert.Measurement
	args := m.arguments().With(stateArguments(environment, now)).With(clickhouse.Args{
		"environment": environment, "since_ms": since.UnixMilli(), "limit": maxBegun,
	})
	err = db.conn.Read(ctx, "listing issues that began", db.queries["issues.Begun"], args, func(rows driver.Rows) (bool, error) {
		var number uint64
		var ms int64
		one := alert.Measurement{Known: true}
		var name, message string
		err := rows.Scan(&number, &ms, &one.Regressed, &name, &message)
		one.At, one.Issue, one.IssueTitle = time.UnixMilli(ms).UTC(), occurrence.IssueID(number), domain.MaskShapes(occurrence.IssueTitle(name, message))
		out = append(out, one)
		return true, err
	})
	return out, err
}
