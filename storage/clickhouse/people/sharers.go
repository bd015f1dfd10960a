package people

import (
	"context"
	"maps"

	"svc/storage/clickhouse"
)

// sharing returns anonymous ids that may belong to several persons, at most one more than a page looks at.
func (db *Store) sharing(ctx context.Context, environment uint64) ([]uint64, error) {
	args := clickhouse.Args{"environment": environment, "limit": max(db.bounds.most, 0) + 1}
	return db.visitors(ctx, "looking for shared visitors", db.queries["persons.SomeSharing"], args)
}

// divides reports whether several persons may have used any visitor of an environment. A query about all persons asks for shared visitors
// in each of its parts, so it is told which they are where these are few.
func (db *Store) divides(ctx context.Context, environment uint64, rank *rankQuery) (bool, error) {
	sharing, err := db.sharing(ctx, environment)
	if err != nil || len(sharing) > db.bounds.most {
		return true, err
	}
	spans, err := db.spansOf(ctx, environment, sharing)
	maps.DeleteFunc(spans, func(_ uint64, of []span) bool { return len(of) < 2 })
	rank.sharers = spans
	return len(spans) > 0, err
}
