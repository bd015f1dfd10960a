package reads

import (
	"context"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

// byPerson returns the query that counts persons, and values of it: where no two visitors of the environment are one person, the one
// that counts visitors, which reads less and answers the same.
func (db *Store) byPerson(ctx context.Context, environment uint64, visitors, persons string) (string, clickhouse.Args, error) {
	var linked bool
	args := clickhouse.Args{"environment": environment}
	err := db.conn.Read(ctx, "looking for linked visitors", db.people["persons.AnyLink"], args, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&linked)
	})
	if err != nil || !linked {
		return db.queries[visitors], clickhouse.Args{}, err
	}
	parts, args, err := db.persons.WhoIs(ctx, environment)
	return withPersons(db.queries[persons], parts), args, err
}

// withPersons puts the queries that find who is one person in their places.
func withPersons(query string, parts clickhouse.Queries) string {
	for name, part := range parts {
		query = strings.ReplaceAll(query, "$("+name+")", part)
	}
	return query
}
