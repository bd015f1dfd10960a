package metrics

import (
	"embed"

	"svc/storage/clickhouse"
)

// Files has the queries of this package, for packages with queries that refer to them.
//
//go:embed query/*.sql
var Files embed.FS

// exactRows is the maximum number of rows for which all groups of a metric are read with their points.
const exactRows = 50_000

// Store answers queries about metrics. Its methods may be called concurrently.
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
