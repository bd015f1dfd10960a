package reads

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/analytics"
	"svc/domain/event"
	"svc/storage/clickhouse"
)

// LiveVisits calls yield with every event of an environment since a time and the number of the event's block, until
// yield returns false. It excludes bots. The order is unspecified.
func (db *Store) LiveVisits(ctx context.Context, environment uint64, since time.Time, yield func(visit analytics.LiveVisit, block uint64) bool) error {
	args := clickhouse.Args{"environment": environment, "since": since}
	return db.conn.Stream(ctx, "loading live visits", db.queries["live.Visits"], args, func(rows driver.Rows) (bool, error) {
		var visit analytics.LiveVisit
		var name string
		var block uint64
		if err := rows.Scan(&visit.TsMs, &visit.Visitor, &name, &visit.Path, &visit.Source, &visit.Country, &visit.Device, &block); err != nil {
			return false, err
		}
		visit.Pageview = event.IsPageview(name)
		return yield(visit, block), nil
	})
}
