package reads

import (
	"context"
	"strings"

	"svc/storage/clickhouse"
)

// byPerson returns the query that counts persons, and its values. If no two visitors of the environment are one person,
// it returns the query that counts visitors, which reads less and gives the same answer.
func (db *Store) byPerson(ctx context.Context, environment uint64, visitors, persons string) (string, clickhouse.Args, error) {
	parts, args, err := db.persons.WhoIs(ctx, environment)
	if err != nil || parts == nil {
		return db.queries[visitors], args, err
	}
	return withPersons(db.queries[persons], parts), args, nil
}

// withPersons replaces the placeholders for the queries that map visitors to persons.
func withPersons(query string, parts clickhouse.Queries) string {
	for name, part := range parts {
		query = strings.ReplaceAll(query, "$("+name+")", part)
	}
	return query
}
