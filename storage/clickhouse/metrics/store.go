package metrics

import (
	"embed"

	"svc/storage/clickhouse"
)

// Files hold the queries of this package, for packages whose queries refer to them.
//
//go:embed query/*.sql
var Files embed.FS

// exactRows bounds the groups of a metric of which all points are read, in rows.
const exactRows = 50_000

// Store answers questions about metrics. Its methods may be called from any number of
// goroutines at the same time.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
	// rowsAtOnce is exactRows, or less in tests.
	rowsAtOnce uint64
}

// New returns the metrics of a database.
func New(conn *clickhouse.Conn) (*Store, error) {
	queries, err := clickhouse.LoadQueries(Files)
	if err != nil {
		return nil, err
	}
	return &Store{conn: conn, queries: queries, rowsAtOnce: exactRows}, nil
}
