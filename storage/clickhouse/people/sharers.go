package people

import (
	"context"
	"maps"

	"svc/storage/clickhouse"
)

// divides reports whether several persons may have used any visitor of an environment. A query about all persons asks for shared visitors
// in each of its parts, so it is told which they are where these are few.
func (db *Store) divides(ctx context.Context, environment uint64, rank *rankQuery) (bool, error) {
	args := clickhouse.Args{"environment": environment, "limit": max(db.bounds.most, 0) + 1}
	sharing, err := db.visitors(ctx, "looking for shared visitors", db.queries["persons.SomeSharing"], args)
	if err != nil || len(sharing) > db.bounds.most {
		return true, err
	}
	spans, err := db.spansOf(ctx, environment, sharing)
	maps.DeleteFunc(spans, func(_ uint64, of []span) bool { return len(of) < 2 })
	rank.sharers = spans
	return len(spans) > 0, err
}
