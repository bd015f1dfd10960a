package state

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/storage/clickhouse"
)

// Ledger stores ledger entries as entities of an owner ledger/<organization>, with their sequences as ids.
type Ledger struct{ db *Store }

// Ledger returns the store of ledgers.
func (db *Store) Ledger() Ledger { return Ledger{db} }

// orgOf returns the organization of an owner.
func orgOf(owner string) string {
	_, org, _ := strings.Cut(owner, "/")
	return org
}

// kindEntry is the kind of the entities of ledger entries.
const kindEntry = "entry"

// Load returns the last entry of an owner's ledger, if there is one, and the owner's other entities.
func (l Ledger) Load(ctx context.Context, owner string) (out []domain.Entity, err error) {
	// The tail is read before the table: entries only move from the tail to the table.
	if out, err = l.db.Load(ctx, owner); err != nil {
		return nil, err
	}
	args := clickhouse.Args{"org": orgOf(owner)}
	err = l.db.conn.ReadUnflushed(ctx, "loading the head of a ledger", l.db.queries["ledger.Last"], args, func(rows driver.Rows) (bool, error) {
		var sequence, version uint64
		entity := domain.Entity{Owner: owner, Kind: kindEntry}
		err := rows.Scan(&sequence, &version, &entity.Payload)
		entity.ID, entity.Version = fmt.Sprint(sequence), domain.VersionOf(version)
		out = append(out, entity)
		return true, err
	})
	return out, err
}

// Put stores entries and other entities of the ledger. All of them are durable when Put returns nil. Ledgers have no
// wake-ups and no trail.
func (l Ledger) Put(ctx context.Context, entities []domain.Entity, _ []domain.Wakeup, _ domain.Trail) error {
	var r Record
	for _, entity := range entities {
		if entity.Kind == kindEntry {
			r.Sealed = append(r.Sealed, entity)
		} else {
			r.Entities = append(r.Entities, entity)
		}
	}
	return l.db.write(ctx, r, false)
}

// KnownEntries returns the given ids that an organization's ledger has.
func (db *Store) KnownEntries(ctx context.Context, org string, ids []string) (map[string]bool, error) {
	known := map[string]bool{}
	err := db.conn.ReadFirst(ctx, "looking for entries of a ledger", db.queries["ledger.Find"], clickhouse.Args{"org": org, "ids": ids}, func(rows driver.Rows) (bool, error) {
		var id string
		err := rows.Scan(&id)
		known[id] = true
		return true, err
	})
	return known, err
}

// seal returns once every change before the call is in its ledger.
func (db *Store) seal(ctx context.Context) error {
	if db.journal == nil {
		return nil
	}
	return db.journal.Seal(ctx)
}

// LedgerEntries returns a page of an organization's ledger, newest first, and reports whether more follow. The page
// ends before the sequence before; zero means the end of the ledger. An empty kind means all kinds.
func (db *Store) LedgerEntries(ctx context.Context, org string, kind domain.LedgerKind, before uint64, limit int) (page []domain.LedgerEntry, more bool, err error) {
	if before == 0 {
		before = math.MaxUint64
	}
	if err := db.seal(ctx); err != nil {
		return nil, false, err
	}
	args := clickhouse.Args{"org": org, "kind": string(kind), "before": before, "limit": limit + 1}
	err = db.readLedger(ctx, "ledger.List", args, func(entry *domain.LedgerEntry) { page = append(page, *entry) })
	if len(page) > limit {
		return page[:limit], true, err
	}
	return page, false, err
}

// CheckLedger checks the whole ledger of an organization.
func (db *Store) CheckLedger(ctx context.Context, org string) (check domain.LedgerCheck, err error) {
	if err := db.seal(ctx); err != nil {
		return check, err
	}
	err = db.readLedger(ctx, "ledger.Walk", clickhouse.Args{"org": org}, check.Add)
	return check, err
}

func (db *Store) readLedger(ctx context.Context, query string, args clickhouse.Args, each func(entry *domain.LedgerEntry)) error {
	return db.conn.ReadFirst(ctx, "reading a ledger", db.queries[query], args, func(rows driver.Rows) (bool, error) {
		var encoded []byte
		if err := rows.Scan(&encoded); err != nil {
			return false, err
		}
		var entry domain.LedgerEntry
		if err := json.Unmarshal(encoded, &entry); err != nil {
			return false, fmt.Errorf("decoding an entry of a ledger: %w", err)
		}
		each(&entry)
		return true, nil
	})
}
