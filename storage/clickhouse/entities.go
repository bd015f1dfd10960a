package clickhouse

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
)

// writeTime bounds a write that callers share.
const writeTime = 30 * time.Second

// Put stores entities and wake-ups of one owner; both are durable when it returns nil.
// A wake-up without a due time removes the one of its name. Wake-ups have the version of
// the entities they come with, so a call with wake-ups needs an entity. After an error
// anything may be stored, but nothing is sent that svc.HoldOf does not let through.
func (db *DB) Put(ctx context.Context, entities []svc.Entity, wakeups []svc.Wakeup) error {
	if len(entities) == 0 {
		if len(wakeups) > 0 {
			return errors.New("storing wake-ups: no entity gives their version")
		}
		return nil
	}
	return db.keep(ctx, record{Entities: entities, Wakeups: wakeups})
}

// keep makes a record durable: in the journal, or in its tables where there is none that this
// process may append to.
func (db *DB) keep(ctx context.Context, r record) error {
	r.key = newKey()
	r.holds = svc.HoldOf(ctx)
	if db.journal == nil || !db.journal.open {
		return db.stores.commit(ctx, r)
	}
	return db.journal.append(ctx, r)
}

// storeWhole stores what callers wrote, of which a snapshot has all or nothing.
func (db *DB) storeWhole(ctx context.Context, records []record) error {
	db.writes.RLock()
	defer db.writes.RUnlock()
	return db.store(ctx, records)
}

// store inserts records into their tables.
//
// Wake-ups that call are stored before the entities and removals after them: a crash in
// between leaves a wake-up too many, never one too few.
func (db *DB) store(ctx context.Context, records []record) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	for _, insert := range []func() error{
		func() error { return db.writeWakeups(ctx, records, false) },
		func() error { return db.writeEntities(ctx, records) },
		func() error { return db.writeLedger(ctx, records) },
		func() error { return db.writeAudit(ctx, records) },
		func() error { return db.writeWakeups(ctx, records, true) },
	} {
		if err := insert(); err != nil {
			return err
		}
	}
	return nil
}

// writeEntities stores the entities of records.
func (db *DB) writeEntities(ctx context.Context, records []record) error {
	var rows inserts
	for i := range records {
		if records[i].Ledger {
			continue
		}
		for j := range records[i].Entities {
			e := &records[i].Entities[j]
			if err := rows.append(ctx, db, "entities.Append", entityColumns(), e.Owner, e.Kind, e.ID, e.Version.Number(), e.Deleted, e.Payload); err != nil {
				return writeError("storing entities", err)
			}
		}
	}
	return writeError("storing entities", rows.send(records))
}

// writeWakeups stores the wake-ups of records that call, or those that are removed.
func (db *DB) writeWakeups(ctx context.Context, records []record, removed bool) error {
	var rows inserts
	for i := range records {
		version := records[i].version()
		for _, w := range records[i].Wakeups {
			if w.Due.IsZero() != removed {
				continue
			}
			due := w.Due
			if removed {
				due = time.UnixMilli(0)
			}
			if err := rows.append(ctx, db, "wakeups.Append", wakeupColumns(), w.Kind, w.Identity, w.Name, due.UnixMilli(), version, removed); err != nil {
				return writeError("storing wake-ups", err)
			}
		}
	}
	return writeError("storing wake-ups", rows.send(records))
}

// version is the highest one of the entities of a record.
func (r *record) version() uint64 {
	var version uint64
	for i := range r.Entities {
		version = max(version, r.Entities[i].Version.Number())
	}
	return version
}

// inserts is an insert that begins with its first row. The zero value has none.
type inserts struct{ batch driver.Batch }

// append adds a row of the named query.
func (n *inserts) append(ctx context.Context, db *DB, query string, columns []clickhouse.ColumnNameAndType, values ...any) (err error) {
	if n.batch == nil {
		if n.batch, err = db.batch(ctx, query, columns); err != nil {
			return err
		}
	}
	if err = n.batch.Append(values...); err != nil {
		_ = n.batch.Close() // the row is refused already
	}
	return asRow(err)
}

// send ends the insert of records; without a row it does nothing.
func (n *inserts) send(records []record) error {
	if n.batch == nil {
		return nil
	}
	if err := held(records); err != nil {
		return errors.Join(err, n.batch.Abort())
	}
	return n.batch.Send()
}

// batch begins an insert of the named query. columns spare the question for them.
func (db *DB) batch(ctx context.Context, query string, columns []clickhouse.ColumnNameAndType) (driver.Batch, error) {
	ctx = clickhouse.Context(ctx, clickhouse.WithColumnNamesAndTypes(columns))
	return db.conn.PrepareBatch(ctx, db.queries[query])
}

func entityColumns() []clickhouse.ColumnNameAndType {
	return []clickhouse.ColumnNameAndType{
		{Name: "owner", Type: "String"},
		{Name: "kind", Type: "LowCardinality(String)"},
		{Name: "id", Type: "String"},
		{Name: "version", Type: "UInt64"},
		{Name: "deleted", Type: "Bool"},
		{Name: "payload", Type: "String"},
	}
}

func wakeupColumns() []clickhouse.ColumnNameAndType {
	return []clickhouse.ColumnNameAndType{
		{Name: "kind", Type: "LowCardinality(String)"},
		{Name: "identity", Type: "String"},
		{Name: "name", Type: "LowCardinality(String)"},
		{Name: "due", Type: "DateTime64(3, 'UTC')"},
		{Name: "version", Type: "UInt64"},
		{Name: "deleted", Type: "Bool"},
	}
}

// Load returns the last version of every entity of an owner. Deleted ones are among
// them: the next write must have a higher version than they. What several callers ask for
// while a load is under way is loaded by one query.
func (db *DB) Load(ctx context.Context, owner string) ([]svc.Entity, error) {
	wanted := &ownerLoad{owner: owner}
	if err := db.loads.commit(ctx, wanted); err != nil {
		return nil, err
	}
	return wanted.entities, nil
}

// ownerLoad is what one call of Load asks for and gets.
type ownerLoad struct {
	owner    string
	entities []svc.Entity
}

// loadsAtOnce bounds the owners of one query.
const loadsAtOnce = 1000

// loadAll loads what several callers ask for: what the journal has and then what the table
// has, in this order, since records only go from the one to the other.
func (db *DB) loadAll(ctx context.Context, loads []*ownerLoad) error {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	waiting, err := db.journal.waiting(ctx)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(loads, loadsAtOnce) {
		owners := make([]string, 0, len(some))
		for _, wanted := range some {
			owners = append(owners, wanted.owner)
		}
		owned := map[string][]svc.Entity{}
		read := entityScan(func(entity svc.Entity) { owned[entity.Owner] = append(owned[entity.Owner], entity) })
		if err := db.rows(ctx, "loading entities", db.queries["entities.Load"], arguments{"owners": owners}, first(), read); err != nil {
			return err
		}
		for _, wanted := range some {
			wanted.entities = merged(owned[wanted.owner], waiting[wanted.owner])
		}
	}
	return nil
}

// merged returns entities of an owner, ordered by kind and id, with others of it: of each
// that of the highest version.
func merged(stored, waiting []svc.Entity) []svc.Entity {
	for _, entity := range waiting {
		at, found := slices.BinarySearchFunc(stored, entity, func(a, b svc.Entity) int {
			return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID))
		})
		switch {
		case !found:
			stored = slices.Insert(stored, at, entity)
		case stored[at].Version.Number() < entity.Version.Number():
			stored[at] = entity
		}
	}
	return stored
}

// LoadKind returns the present entities of a kind of all owners, without the deleted
// ones.
func (db *DB) LoadKind(ctx context.Context, kind string) ([]svc.Entity, error) {
	return db.entities(ctx, db.queries["entities.LoadKind"], arguments{"kind": kind})
}

// OwnersSince returns the owners of entities of some kinds that were written in a
// version or a later one.
func (db *DB) OwnersSince(ctx context.Context, kinds []string, since svc.Version) ([]string, error) {
	var out []string
	args := arguments{"kinds": kinds, "version": since.Number()}
	err := db.readFirst(ctx, "listing changed owners", db.queries["entities.OwnersSince"], args, func(rows driver.Rows) (bool, error) {
		var owner string
		err := rows.Scan(&owner)
		out = append(out, owner)
		return true, err
	})
	return out, err
}

func (db *DB) entities(ctx context.Context, query string, args arguments) ([]svc.Entity, error) {
	var out []svc.Entity
	err := db.readFirst(ctx, "loading entities", query, args, entityScan(func(entity svc.Entity) { out = append(out, entity) }))
	return out, err
}

// entityScan hands every row of a query for entities to each.
func entityScan(each func(svc.Entity)) func(driver.Rows) (bool, error) {
	return func(rows driver.Rows) (bool, error) {
		var e svc.Entity
		var version uint64
		if err := rows.Scan(&e.Owner, &e.Kind, &e.ID, &version, &e.Deleted, &e.Payload); err != nil {
			return false, err
		}
		e.Version = svc.VersionOf(version)
		each(e)
		return true, nil
	}
}

// Due yields wake-ups that are due at an instant, the longest due first, until yield
// returns false.
func (db *DB) Due(ctx context.Context, at time.Time, yield func(svc.Wakeup) bool) error {
	return db.readFirst(ctx, "listing due wake-ups", db.queries["wakeups.Due"], arguments{"at": at}, func(rows driver.Rows) (bool, error) {
		var w svc.Wakeup
		if err := rows.Scan(&w.Kind, &w.Identity, &w.Name, &w.Due); err != nil {
			return false, err
		}
		return yield(w), nil
	})
}
