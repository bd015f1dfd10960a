package alerts

import (
	"embed"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/metrics"
	"svc/storage/clickhouse/state"
	"svc/storage/groupcommit"
)

//go:embed query/*.sql
var queryFiles embed.FS

// Store stores the checks of monitors, and reads the data for alerting: incidents, monitors and the counts of rules.
// Its methods may be called concurrently.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
	state   *state.Store
	latest  *groupcommit.Committer[*latestCheck]
}

// New returns the alert store of a database. Its rules and monitors are in the state of the database.
func New(db *state.Store) (*Store, error) {
	queries, err := clickhouse.LoadQueries(queryFiles, metrics.Files)
	if err != nil {
		return nil, err
	}
	s := &Store{conn: db.Conn(), queries: queries, state: db}
	s.latest = groupcommit.New(s.loadStates)
	return s, nil
}
