package people

import (
	"context"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/person"
	"svc/storage/clickhouse"
)

// People returns a page of the people of an environment.
func (db *Store) People(ctx context.Context, q person.Query) (person.List, error) {
	return clickhouse.Whole(ctx, db.conn.Of(q.Environment.Number), func(ctx context.Context) (person.List, error) {
		list, held, err := db.page(ctx, newFinder(db, q))
		if err != nil || held {
			return list, err
		}
		other := newFinder(db, q)
		other.unkept = true
		list, _, err = db.page(ctx, other)
		return list, err
	})
}

// page is one attempt of People that ignores concurrent inserts. held is false if the page came from materialized
// profiles that were dropped during the read; the caller then reads again.
func (db *Store) page(ctx context.Context, f *finder) (list person.List, held bool, err error) {
	defer db.noteSlow(f.q.Environment.Number, time.Now())
	list = person.List{Rows: []person.Person{}}
	keys, err := f.find(ctx)
	if err != nil {
		return list, false, err
	}
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		held, err = db.held(both, f.folds)
		return err
	})
	if len(keys) > 0 {
		list.More = len(keys) > f.q.Limit
		keys = keys[:min(len(keys), f.q.Limit)]
		list.Last = keys[len(keys)-1]
		persons := make([]uint64, len(keys))
		for i, key := range keys {
			persons[i] = key.Number
		}
		group.Go(func() (err error) {
			list.Rows, err = f.rows(both, persons)
			return err
		})
	}
	return list, held, group.Wait()
}

// environmentArgs returns the parameters that select an environment and the owners of the decisions about its people.
func environmentArgs(environment uint64) clickhouse.Args {
	owner := "person/" + strconv.FormatUint(environment, 10)
	// The character after the slash ends the range of owners.
	return clickhouse.Args{"environment": environment, "owner_from": owner + "/", "owner_to": owner + "0"}
}

// Person returns the person of a visitor. It fails with not_found if no person of the environment has it.
func (db *Store) Person(ctx context.Context, environment, visitor uint64) (person.Person, error) {
	return clickhouse.Whole(ctx, db.conn.Of(environment), func(ctx context.Context) (person.Person, error) {
		number, members, err := db.whoIs(ctx, environment, visitor)
		if err != nil {
			return person.Person{}, err
		}
		rows, err := db.rowsOf(ctx, environment, []uint64{number}, members)
		if err != nil {
			return person.Person{}, err
		}
		if len(rows) == 0 {
			return person.Person{}, domain.NotFound("person")
		}
		return rows[0], nil
	})
}

// seen reports whether the store still has any event of a person.
func (db *Store) seen(ctx context.Context, environment, p uint64, of members) (bool, error) {
	r := &personRows{db: db, environment: environment, members: of}
	parts := map[share]*person.Visitor{}
	own, shared := of.lists()
	if err := r.readSeen(ctx, own, parts); err != nil {
		return false, err
	}
	if len(parts) == 0 && len(shared) > 0 {
		if err := r.readShared(ctx, shared, parts); err != nil {
			return false, err
		}
	}
	for one, part := range parts {
		if one.person == p && part.Events > 0 {
			return true, nil
		}
	}
	return false, nil
}

// linkRounds bounds how often whoIs repeats its reads while people are being merged.
const linkRounds = 8

// whoIs returns the number of the person that a visitor resolves to, and the visitors of this person. If a new link
// arrives between the two reads, the person of the first read may no longer exist; whoIs then reads again.
func (db *Store) whoIs(ctx context.Context, environment, visitor uint64) (person uint64, of members, err error) {
	for range linkRounds {
		spans, err := db.spansOf(ctx, environment, []uint64{visitor})
		if err != nil {
			return 0, nil, err
		}
		person = visitor
		if len(spans) > 0 {
			person = spans.home(visitor)
		}
		if of, err = db.membersOf(ctx, environment, []uint64{person}, spans.with([]uint64{visitor})); err != nil || len(of[visitor]) > 0 && of.home(visitor) == person {
			return person, of, err
		}
	}
	return person, of, nil
}
