package block

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

// keepTime bounds one change of one table: the rows of an environment in all parts.
const keepTime = time.Hour

// Retentions returns the retention in days of environments, by their numbers. It omits retentions that never changed.
func (db *Store) Retentions(ctx context.Context) (map[uint64]int, error) {
	days := map[uint64]int{}
	err := db.conn.ReadFirst(ctx, "reading the retentions", db.queries["retentions.List"], nil, func(rows driver.Rows) (bool, error) {
		var environment uint64
		var n uint32
		err := rows.Scan(&environment, &n)
		days[environment] = int(n)
		return true, err
	})
	return days, err
}

// SetRetention sets the number of days for which the rows of an environment are retained, from the time of each event.
// It also applies to rows that were stored with another number. When it returns, no read sees an expired row; later
// merges remove them from the disk. It may be repeated.
func (db *Store) SetRetention(ctx context.Context, environment uint64, days int, now time.Time) error {
	return db.conn.Change(func() error { return db.setRetention(ctx, environment, days, now) })
}

// setRetention is SetRetention after rows may be changed.
func (db *Store) setRetention(ctx context.Context, environment uint64, days int, now time.Time) error {
	args := clickhouse.Args{"environment": environment, "days": uint32(days), "today": now.UTC().Format(time.DateOnly)}
	own := db.of(environment).conn
	for _, change := range []struct {
		query string
		on    *clickhouse.Conn
	}{{"retentions.Remove", own}, {"retentions.Update", own}, {"retentions.Deliveries", db.home.Home()}} {
		for statement := range strings.SplitSeq(db.queries[change.query], ";") {
			if statement = strings.TrimSpace(statement); statement == "" {
				continue
			}
			if err := changeRows(ctx, change.on, statement, args); err != nil {
				return clickhouse.WriteError("changing for how long rows are kept", err)
			}
		}
	}
	return nil
}

// changeRows runs one change and waits for it.
func changeRows(ctx context.Context, conn *clickhouse.Conn, statement string, args clickhouse.Args) error {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	ctx = clickhouse.WithSettings(ctx, clickhouse.Settings{"mutations_sync": 1, "lightweight_deletes_sync": 1})
	return conn.Exec(ctx, statement, used(statement, args))
}

// used returns the arguments that a statement contains. The client refuses others.
func used(statement string, args clickhouse.Args) clickhouse.Args {
	some := maps.Clone(args)
	maps.DeleteFunc(some, func(name string, _ any) bool { return !strings.Contains(statement, "{"+name+":") })
	return some
}

// NoteRetention records that SetRetention has completed.
func (db *Store) NoteRetention(ctx context.Context, environment uint64, days int, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	args := clickhouse.Args{"environment": environment, "days": uint32(days), "now": now}
	return clickhouse.WriteError("noting a retention", db.conn.Exec(ctx, db.queries["retentions.Append"], args))
}
