package issues

import (
	"embed"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/state"
)

//go:embed query/*.sql
var queryFiles embed.FS

// Store answers queries about issues and their occurrences, and stores source maps. Its methods may be called
// concurrently.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
	state   *state.Store
}

// New returns the issues of a database. Their decided states are in its state.
func New(db *state.Store) (*Store, error) {
	queries, err := clickhouse.LoadQueries(queryFiles)
	if err != nil {
		return nil, err
	}
	return &Store{conn: db.Conn(), queries: queries, state: db}, nil
}
