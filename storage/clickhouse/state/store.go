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

// Config configures a [Store].
type Config struct {
	// Journal accepts writes before they are in the tables. If it is nil, writes go to the tables at once.
	Journal Journal
}

// Store stores the state of actors, which is entities, wake-ups, ledgers and audit rows, and the facts about the
// installation. Its methods may be called concurrently.
type Store struct {
	conn    *clickhouse.Conn // flushes the journal before it reads
	queries clickhouse.Queries
	tables  *tables
	journal Journal
	// inserts writes into the tables if there is no journal.
	inserts *groupcommit.Committer[Record]
	loads   *groupcommit.Committer[*ownerLoad]
}

// Open returns the state in a database. The journal of an earlier version has then been moved to the tables, unless the
// store is unavailable: see [Store.Returned].
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

// Returned completes the opening of a store that was unavailable.
func (db *Store) Returned(ctx context.Context) error {
	if err := db.emptyFormerJournal(ctx); err != nil {
		return fmt.Errorf("opening the state in the database %s: %w", db.conn.Database(), err)
	}
	return nil
}

// Conn returns a connection for reads. A read on it finds everything that was stored before the read.
func (db *Store) Conn() *clickhouse.Conn { return db.conn }

// Flush returns once everything that was stored before the call is in its tables.
func (db *Store) Flush(ctx context.Context) error {
	if db.journal == nil {
		return nil
	}
	return db.journal.Flush(ctx)
}
