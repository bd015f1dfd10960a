package issues

import (
	"embed"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/state"
)

//go:embed query/*.sql
var queryFiles embed.FS

// Store answers questions about issues and their occurrences, and keeps source maps. Its
// methods may be called from any number of goroutines at the same time.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
	state   *state.Store
}

// New returns the issues of a database, whose decided states are in its state.
func New(db *state.Store) (*Store, error) {
	queries, err := clickhouse.LoadQueries(queryFiles)
	if err != nil {
		return nil, err
	}
	return &Store{conn: db.Conn(), queries: queries, state: db}, nil
}
