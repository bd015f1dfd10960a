package state

import (
	"context"
	"embed"
	"fmt"

	"svc/storage/clickhouse"
	"svc/storage/groupcommit"
)

//go:embed query/*.sql
var queryFiles embed.FS

// Config says what is beside the tables.
type Config struct {
	// Journal takes writes before they are in the tables; nil has them go there at once.
	Journal Journal
}

// Store stores what actors own: entities, wake-ups, ledgers and audit rows, and the facts of
// the installation. Its methods may be called from any number of goroutines at the same time.
type Store struct {
	conn    *clickhouse.Conn // flushes the journal before it reads
	queries clickhouse.Queries
	tables  *tables
	journal Journal
	// inserts writes into the tables where there is no journal.
	inserts *groupcommit.Committer[Record]
	loads   *groupcommit.Committer[*ownerLoad]
}

// Open returns the state in a database. What the journal of an earlier version holds is in the
// tables then, unless the store is away: see [Store.Returned].
func Open(ctx context.Context, conn *clickhouse.Conn, cfg Config) (*Store, error) {
	queries, err := clickhouse.LoadQueries(queryFiles)
	if err != nil {
		return nil, err
	}
	t := &tables{conn: conn, queries: queries}
	flush := func(context.Context) error { return nil }
	if cfg.Journal != nil {
		flush = cfg.Journal.Flush
	}
	db := &Store{conn: conn.Flushing(flush), queries: queries, tables: t, journal: cfg.Journal, inserts: groupcommit.New(t.writeWhole)}
	db.loads = groupcommit.New(db.loadAll)
	if conn.Away(0) {
		return db, nil
	}
	if err := db.Returned(ctx); err != nil {
		return nil, err
	}
	return db, nil
}

// Returned completes the opening of a store that was away.
func (db *Store) Returned(ctx context.Context) error {
	if err := db.emptyFormerJournal(ctx); err != nil {
		return fmt.Errorf("opening the state in the database %s: %w", db.conn.Database(), err)
	}
	return nil
}

// Conn returns the connection on which reads find all that was stored before them.
func (db *Store) Conn() *clickhouse.Conn { return db.conn }

// Flush returns once all that was stored before the call is in its tables.
func (db *Store) Flush(ctx context.Context) error {
	if db.journal == nil {
		return nil
	}
	return db.journal.Flush(ctx)
}
