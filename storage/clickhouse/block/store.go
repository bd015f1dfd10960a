package block

import (
	"embed"

	"svc/storage/clickhouse"
)

//go:embed query/*.sql
var queryFiles embed.FS

// Store stores blocks and reads back what intakes need after a restart. Its methods may be
// called from any number of goroutines at the same time.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
	// catalogue notes what this process has written to metric_series.
	catalogue seriesNotes
	suspects  suspects
}

// New returns the store of blocks of a database.
func New(conn *clickhouse.Conn) (*Store, error) {
	queries, err := clickhouse.LoadQueries(queryFiles)
	if err != nil {
		return nil, err
	}
	return &Store{conn: conn, queries: queries}, nil
}
