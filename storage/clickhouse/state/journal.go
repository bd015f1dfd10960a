package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
	"svc/storage/clickhouse"
)

// Record is one write: what an actor changed, and what the change left.
type Record struct {
	// Key names the audit row and the entries that are left.
	Key      string       `json:"-"`
	Entities []svc.Entity `json:",omitempty"`
	Wakeups  []svc.Wakeup `json:",omitempty"`
	// Version is that of wake-ups which come without the entities of their write.
	Version svc.Version `json:"-"`
	// Sealed are entries of ledgers that have their places.
	Sealed []svc.Entity  `json:",omitempty"`
	Audit  *svc.AuditRow `json:",omitempty"`
	// Left are entries without a place. They have no table: the journal hands them to the actors of
	// their ledgers.
	Left []svc.LedgerEntry `json:",omitempty"`
}

// formerRecord is a record of the journal of earlier versions, which had entries of ledgers as its
// entities.
type formerRecord struct {
	Record
	Ledger bool
}

// record returns what the record means now.
func (f *formerRecord) record() Record {
	if f.Ledger {
		f.Sealed, f.Entities = f.Entities, nil
	}
	return f.Record
}

// Waiting holds the entities of some owners that a journal has not put into the table yet.
type Waiting struct {
	// Entities are by owner.
	Entities map[string][]svc.Entity
	// Whole names the owners of which the table has nothing more.
	Whole map[string]bool
	// Loaded must be called once, with what was loaded of the other owners; nil says nothing.
	Loaded func(found map[string][]svc.Entity)
}

// Journal takes writes before they are in the tables.
type Journal interface {
	// Append makes a record durable. A free record belongs to no owner; any other is refused
	// unless this process may write what its owner's partition holds. After an error it may
	// be durable.
	Append(ctx context.Context, r Record, free bool) error
	// Waiting returns what the journal knows of owners: all that was appended before the call and
	// may not be in its table yet. Entities of some kinds may be left out.
	Waiting(ctx context.Context, owners, without []string) (Waiting, error)
	// Recall returns the last versions of the entities that keep names, also the deleted ones, of some owners or, where
	// these are nil, of all, as they were appended before the call. It needs no tables, and takes time.
	Recall(ctx context.Context, owners []string, keep func(e *svc.Entity) bool) ([]svc.Entity, error)
	// Seal returns once every entry that a change left before the call has its place in its ledger.
	Seal(ctx context.Context) error
	// Flush returns once all that was appended before the call is in its tables.
	Flush(ctx context.Context) error
}

// movedAtOnce bounds the records that go to their tables in one insert.
const movedAtOnce = 2000

// emptyFormerJournal moves what the journal of earlier versions holds, a table of the database,
// to the tables that it is for, and removes it. It may end at any point and be called again.
func (db *Store) emptyFormerJournal(ctx context.Context) error {
	var there uint64
	err := db.conn.ReadFirst(ctx, "looking for the former journal", db.queries["journal.There"], nil, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&there)
	})
	for more := err == nil && there > 0; more; {
		if more, err = db.moveFormer(ctx); err != nil {
			return err
		}
	}
	if err != nil || there == 0 {
		return err
	}
	return clickhouse.WriteError("removing the former journal", db.conn.Exec(ctx, db.queries["journal.Drop"], nil))
}

// moveFormer moves some records of the former journal and reports whether there may be more.
func (db *Store) moveFormer(ctx context.Context) (more bool, err error) {
	var keys []string
	var records []Record
	var refused []refusal
	args := clickhouse.Args{"limit": movedAtOnce}
	err = db.conn.ReadFirst(ctx, "reading the former journal", db.queries["journal.Read"], args, func(rows driver.Rows) (bool, error) {
		var r formerRecord
		var encoded []byte
		if err := rows.Scan(&r.Key, &encoded); err != nil {
			return false, err
		}
		keys = append(keys, r.Key)
		if err := json.Unmarshal(encoded, &r); err != nil {
			refused = append(refused, refusal{r.Key, encoded, fmt.Errorf("decoding a record of the journal: %w", err)})
			return true, nil
		}
		records = append(records, r.record())
		return true, nil
	})
	if err != nil || len(keys) == 0 {
		return false, err
	}
	if err := errors.Join(db.refuse(ctx, refused), db.Move(ctx, records)); err != nil {
		return false, err
	}
	err = db.conn.Exec(ctx, db.queries["journal.Remove"], clickhouse.Args{"keys": keys})
	return len(keys) == movedAtOnce, clickhouse.WriteError("removing records of the former journal", err)
}
