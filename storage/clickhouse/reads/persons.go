package reads

import (
	"context"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

// byPerson returns the query that counts persons: where no two visitors of the environment are one person, the one
// that counts visitors, which reads less and answers the same.
func (db *Store) byPerson(ctx context.Context, environment uint64, visitors, persons string) (string, error) {
	var linked bool
	args := clickhouse.Args{"environment": environment}
	err := db.conn.Read(ctx, "looking for linked visitors", db.people["persons.AnyLink"], args, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&linked)
	})
	if err != nil || !linked {
		return db.queries[visitors], err
	}
	return db.linked(db.queries[persons]), nil
}

// linked puts the queries that find who is one person in their places.
func (db *Store) linked(query string) string {
	for _, part := range []string{"persons.Links", "persons.Shared", "persons.SharedVisitors", "persons.At"} {
		query = strings.ReplaceAll(query, "$("+part+")", db.people[part])
	}
	return query
}
