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

// Store keeps the checks of monitors, and reads what alerting needs: incidents, monitors and
// what the counters of rules count. Its methods may be called from any number of goroutines at
// the same time.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
	state   *state.Store
	latest  *groupcommit.Committer[*latestCheck]
}

// New returns the alerts of a database, whose rules and monitors are in its state.
func New(db *state.Store) (*Store, error) {
	queries, err := clickhouse.LoadQueries(queryFiles, metrics.Files)
	if err != nil {
		return nil, err
	}
	s := &Store{conn: db.Conn(), queries: queries, state: db}
	s.latest = groupcommit.New(s.loadStates)
	return s, nil
}
