package backup

import (
	"embed"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/state"
)

//go:embed query/*.sql
var queryFiles embed.FS

// Store takes snapshots of a database and lists its parts.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
	state   *state.Store
}

// New returns the backup store of a database with its state.
func New(db *state.Store) (*Store, error) {
	queries, err := clickhouse.LoadQueries(queryFiles)
	if err != nil {
		return nil, err
	}
	return &Store{conn: db.Conn(), queries: queries, state: db}, nil
}
