package people

import (
	"context"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
	"svc/storage/clickhouse"
)

// People returns a page of the people of an environment.
func (db *Store) People(ctx context.Context, q svc.PersonQuery) (svc.PersonList, error) {
	return clickhouse.Whole(ctx, db.conn, func(ctx context.Context) (svc.PersonList, error) { return db.page(ctx, q) })
}

// page is People without regard to inserts under way.
func (db *Store) page(ctx context.Context, q svc.PersonQuery) (svc.PersonList, error) {
	list := svc.PersonList{Rows: []svc.Person{}}
	shared, err := db.anyShared(ctx, q.Environment.Number)
	if err != nil {
		return list, err
	}
	rank := newRank(q)
	query := rank.text(db.queries["persons.Rank"], db.queries, shared)
	args := rank.values(q.Environment.Number).With(clickhouse.Args{
		"limit": q.Limit + 1, "first_page": q.After == nil, "after_began": int64(0), "after_person": uint64(0),
	})
	if q.After != nil {
		args["after_began"], args["after_person"] = q.After.BeganMs, q.After.Number
	}
	var persons []uint64
	err = db.conn.Read(ctx, "listing people", query, args, func(rows driver.Rows) (bool, error) {
		if len(persons) == q.Limit {
			list.More = true
			return false, nil
		}
		var key svc.PersonKey
		err := rows.Scan(&key.Number, &key.BeganMs)
		list.Last, persons = key, append(persons, key.Number)
		return true, err
	})
	if err != nil {
		return list, err
	}
	list.Rows, err = db.persons(ctx, q.Environment.Number, persons)
	return list, err
}

// anyShared reports whether more than one person used any visitor.
func (db *Store) anyShared(ctx context.Context, environment uint64) (shared bool, err error) {
	err = db.conn.Read(ctx, "looking for shared visitors", db.queries["persons.AnyShared"], clickhouse.Args{"environment": environment}, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&shared)
	})
	return shared, err
}

// environmentArgs are the values by which queries find an environment and the owners of what was decided about its
// people.
func environmentArgs(environment uint64) clickhouse.Args {
	owner := "person/" + strconv.FormatUint(environment, 10)
	// The character after the slash ends the range of owners.
	return clickhouse.Args{"environment": environment, "owner_from": owner + "/", "owner_to": owner + "0"}
}

// Person returns the person who has a visitor. It fails with not_found where nobody of the environment has it.
func (db *Store) Person(ctx context.Context, environment, visitor uint64) (svc.Person, error) {
	return clickhouse.Whole(ctx, db.conn, func(ctx context.Context) (svc.Person, error) {
		number, err := db.find(ctx, environment, visitor)
		if err != nil {
			return svc.Person{}, err
		}
		rows, err := db.persons(ctx, environment, []uint64{number})
		if err != nil {
			return svc.Person{}, err
		}
		if len(rows) == 0 {
			return svc.Person{}, svc.NotFound("person")
		}
		return rows[0], nil
	})
}

// find returns the number of the person who has a visitor now.
func (db *Store) find(ctx context.Context, environment, visitor uint64) (number uint64, err error) {
	number = visitor
	args := clickhouse.Args{"environment": environment, "visitor": visitor}
	err = db.conn.Read(ctx, "finding a person", db.queries["persons.Find"], args, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&number)
	})
	return number, err
}
