package clickhouse

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
)

// RecentIDs calls yield with the id of every event that was received at or after an
// instant, except those of one block, in no particular order, until yield returns false.
func (db *DB) RecentIDs(ctx context.Context, since time.Time, exceptBlock uint64,
	yield func(environment uint64, distinctID, anonymousID, id string) bool,
) error {
	args := arguments{"since": since, "block": exceptBlock}
	return db.stream(ctx, "loading recent ids", db.queries["state.RecentIDs"], args, func(rows driver.Rows) (bool, error) {
		var environment uint64
		var distinctID, anonymousID, id string
		if err := rows.Scan(&environment, &distinctID, &anonymousID, &id); err != nil {
			return false, err
		}
		return yield(environment, distinctID, anonymousID, id), nil
	})
}

// OpenSessions calls yield with every session of which an event was received at or after
// an instant, until yield returns false. A session is folded over all its events, also
// the older ones; the events of one block count nowhere.
func (db *DB) OpenSessions(ctx context.Context, since time.Time, exceptBlock uint64, yield func(svc.OpenSession) bool) error {
	args := arguments{"since": since, "block": exceptBlock}
	return db.stream(ctx, "loading open sessions", db.queries["state.OpenSessions"], args, func(rows driver.Rows) (bool, error) {
		var s svc.OpenSession
		err := rows.Scan(&s.Environment, &s.DistinctID, &s.AnonymousID, &s.ID, &s.Started, &s.First, &s.Last,
			&s.Pageviews, &s.Interactive, &s.EngagedMs)
		if err != nil {
			return false, err
		}
		return yield(s), nil
	})
}
