package people

import (
	"embed"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/state"
)

// Files are the queries of this package, for packages that count people.
//
//go:embed query/*.sql
var Files embed.FS

// Store answers questions about people. Its methods may be called from any number of goroutines at the
// same time.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
	bounds  bounds
}

// New returns the people of a database; what members decided about them is in its state.
func New(db *state.Store) (*Store, error) {
	queries, err := clickhouse.LoadQueries(Files)
	if err != nil {
		return nil, err
	}
	return &Store{conn: db.Conn(), queries: queries, bounds: defaultBounds()}, nil
}
