package state

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"svc/storage/clickhouse"
	"svc/storage/groupcommit"
)

//go:embed query/*.sql
var queryFiles embed.FS

// Config says how the journal is used.
type Config struct {
	// Alone says that no other process uses the database.
	Alone bool
	// TableDir returns the folder of a table on this machine by its uuid; nil where the
	// store's files are elsewhere.
	TableDir func(uuid string) string
}

// Store stores what actors own: entities, wake-ups, ledgers and audit rows, and the facts of
// the installation. Its methods may be called from any number of goroutines at the same time.
type Store struct {
	conn    *clickhouse.Conn // flushes the journal before it reads
	queries clickhouse.Queries
	// journal takes small writes; nil where the store has no engine for it.
	journal *journal
	// inserts writes into the tables where the journal cannot be used.
	inserts *groupcommit.Committer[record]
	loads   *groupcommit.Committer[*ownerLoad]
}

// Open returns the state in a database, and begins to flush its journal in the background
// until Close.
func Open(ctx context.Context, conn *clickhouse.Conn, cfg Config) (*Store, error) {
	queries, err := clickhouse.LoadQueries(queryFiles)
	if err != nil {
		return nil, err
	}
	t := &tables{conn: conn, queries: queries}
	journal, err := openJournal(ctx, t, cfg)
	if err != nil {
		return nil, fmt.Errorf("opening the journal of the database %s: %w", conn.Database(), err)
	}
	db := &Store{conn: conn.Flushing(journal.flush), queries: queries, journal: journal, inserts: groupcommit.New(t.writeWhole)}
	db.loads = groupcommit.New(db.loadAll)
	return db, nil
}

// Conn returns the connection on which reads find all that was stored before them.
func (db *Store) Conn() *clickhouse.Conn { return db.conn }

// Flush moves what the journal holds to its tables. The caller keeps writes away with
// [clickhouse.Conn.WithoutWrites].
func (db *Store) Flush(ctx context.Context) error {
	if db.journal == nil {
		return nil
	}
	return db.journal.moveAll(ctx)
}

// Close flushes the journal. The connection must still be open.
func (db *Store) Close() error {
	if err := db.journal.close(); err != nil {
		return errors.Join(errors.New("closing the journal"), err)
	}
	return nil
}
