package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/storage/clickhouse"
)

// Record is one write: the changes of an actor, and the trail of the change.
type Record struct {
	// Key identifies the audit row and the entries in Left.
	Key      string          `json:"-"`
	Entities []domain.Entity `json:",omitempty"`
	Wakeups  []domain.Wakeup `json:",omitempty"`
	// Version is the version of wake-ups that come without the entities of their write.
	Version domain.Version `json:"-"`
	// Sealed has ledger entries that have their places.
	Sealed []domain.Entity  `json:",omitempty"`
	Audit  *domain.AuditRow `json:",omitempty"`
	// Left has ledger entries without a place. They have no table: the journal passes them to the actors of their
	// ledgers.
	Left []domain.LedgerEntry `json:",omitempty"`
}

// formerRecord is a record in the journal of earlier versions, which stored ledger entries as entities.
type formerRecord struct {
	Record
	Ledger bool
}

// record returns the record in the current form.
func (f *formerRecord) record() Record {
	if f.Ledger {
		f.Sealed, f.Entities = f.Entities, nil
	}
	return f.Record
}

// Waiting has the entities of some owners that a journal has not moved to the table yet.
type Waiting struct {
	// Entities has the waiting entities by owner.
	Entities map[string][]domain.Entity
	// Whole has the owners for which the table has nothing more.
	Whole map[string]bool
	// Loaded must be called once with the loaded entities of the other owners, or with nil if there is no result.
	Loaded func(found map[string][]domain.Entity)
}

// Journal accepts writes before they are in the tables.
type Journal interface {
	// Append makes a record durable. A free record belongs to no owner. Any other record is refused unless this process
	// may write the partition of its owner. After an error the record may be durable.
	Append(ctx context.Context, r Record, free bool) error
	// Waiting returns the data of owners in the journal: everything that was appended before the call and may not be in
	// its table yet. It may omit entities of some kinds.
	Waiting(ctx context.Context, owners, without []string) (Waiting, error)
	// Recall returns the last versions of the entities that keep selects, including deleted ones, as of the call. It
	// covers the given owners, or all owners if owners is nil. It needs no tables, but takes time.
	Recall(ctx context.Context, owners []string, keep func(e *domain.Entity) bool) ([]domain.Entity, error)
	// Seal returns once every ledger entry that a change left before the call has its place in its ledger.
	Seal(ctx context.Context) error
	// Flush returns once everything that was appended before the call is in its tables.
	Flush(ctx context.Context) error
}

// movedAtOnce limits the records of one insert.
const movedAtOnce = 2000

// emptyFormerJournal moves the journal of earlier versions, a table of the database, to the current tables and removes
// it. It may stop at any point and be called again.
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
