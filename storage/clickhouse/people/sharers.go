package people

import (
	"context"
	"maps"
	"slices"

	"svc/storage/clickhouse"
)

// sharing returns anonymous ids that may belong to several persons, at most one more than the bound of pages.
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

// strays returns the known ids that share an anonymous id and of which no event is left: their persons may have nothing but a part of the
// events of a shared device. These are at most one more than the bound of pages.
func (db *Store) strays(ctx context.Context, environment uint64) ([]uint64, error) {
	sharing, err := db.sharing(ctx, environment)
	if err != nil || len(sharing) == 0 {
		return nil, err
	}
	if len(sharing) > db.bounds.most {
		args := clickhouse.Args{"environment": environment, "limit": db.bounds.most + 1}
		return db.visitors(ctx, "looking for people without events of their own", db.queries["persons.Strays"], args)
	}
	args := clickhouse.Args{"environment": environment, "visitors": sharing}
	behind, err := db.visitors(ctx, "looking for people who share devices", db.queries["persons.BehindOf"], args)
	if err != nil {
		return nil, err
	}
	var strays []uint64
	for some := range slices.Chunk(behind, max(db.bounds.most, 1)) {
		seen, err := db.visitors(ctx, "looking for people with events", db.queries["persons.Present"], clickhouse.Args{"environment": environment, "visitors": some})
		if err != nil {
			return nil, err
		}
		slices.Sort(seen)
		for _, visitor := range some {
			if _, present := slices.BinarySearch(seen, visitor); !present {
				strays = append(strays, visitor)
			}
		}
	}
	return strays, nil
}
