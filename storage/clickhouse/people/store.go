package people

import (
	"embed"

	"svc/storage/clickhouse"
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
	keeper  *keeper
}

// New returns the people of a database. The connection must flush the decisions of members about people before a read.
func New(conn *clickhouse.Conn) (*Store, error) {
	queries, err := clickhouse.LoadQueries(Files)
	if err != nil {
		return nil, err
	}
	return &Store{conn: conn, queries: queries, bounds: defaultBounds(), keeper: newKeeper()}, nil
}
