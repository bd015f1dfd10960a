package state

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/storage/clickhouse"
)

// Put stores entities and wake-ups of one owner with their trail. All of it is durable when Put returns nil. A wake-up
// without a due time removes the wake-up of the same name. Wake-ups have the version of their entities, so a call with
// wake-ups needs an entity. With a journal, only the owner of the partition can write. After an error some or all of it
// may be stored.
func (db *Store) Put(ctx context.Context, entities []domain.Entity, wakeups []domain.Wakeup, trail domain.Trail) error {
	return db.put(ctx, Record{Key: trail.ID, Entities: entities, Wakeups: wakeups, Audit: trail.Audit, Left: trail.Entries}, false)
}

// Notes stores entities that any process may write.
type Notes struct{ *Store }

// Notes returns the store of entities that any process may write.
func (db *Store) Notes() Notes { return Notes{db} }

// Put stores entities and wake-ups like [Store.Put], regardless of the partition's owner.
func (n Notes) Put(ctx context.Context, entities []domain.Entity, wakeups []domain.Wakeup, trail domain.Trail) error {
	return n.put(ctx, Record{Key: trail.ID, Entities: entities, Wakeups: wakeups, Audit: trail.Audit, Left: trail.Entries}, true)
}

func (db *Store) put(ctx context.Context, r Record, free bool) error {
	if len(r.Entities) == 0 {
		if len(r.Wakeups) > 0 {
			return errors.New("storing wake-ups: no entity gives their version")
		}
		return nil
	}
	return db.write(ctx, r, free)
}

// write makes a record durable, in the journal or, without a journal, in its tables.
func (db *Store) write(ctx context.Context, r Record, free bool) error {
	if db.journal == nil {
		if len(r.Left) > 0 {
			return errors.New("storing entries of ledgers: without a journal nobody gives them their places")
		}
		return clickhouse.SharedError(db.inserts.Commit(ctx, r))
	}
	return db.journal.Append(ctx, r, free)
}

// Load returns the last version of every entity of an owner. It includes deleted ones, because the next write must have
// a higher version. Callers that arrive while a load is running share the next query.
func (db *Store) Load(ctx context.Context, owner string) ([]domain.Entity, error) {
	wanted := &ownerLoad{owner: owner}
	if err := clickhouse.SharedError(db.loads.Commit(ctx, wanted)); err != nil {
		return nil, err
	}
	return wanted.entities, nil
}

// ownerLoad is one call of Load and its result.
type ownerLoad struct {
	owner    string
	entities []domain.Entity
}

// loadsAtOnce limits the owners of one query.
const loadsAtOnce = 1000

// loadAll loads the owners of several callers.
func (db *Store) loadAll(ctx context.Context, loads []*ownerLoad) error {
	ctx, cancel := context.WithTimeout(ctx, clickhouse.QueryTime)
	defer cancel()
	for some := range slices.Chunk(loads, loadsAtOnce) {
		owners := make([]string, 0, len(some))
		for _, wanted := range some {
			owners = append(owners, wanted.owner)
		}
		found, err := db.load(ctx, owners, nil)
		if err != nil {
			return err
		}
		for _, wanted := range some {
			wanted.entities = found[wanted.owner]
		}
	}
	return nil
}

// load returns the entities of owners, except some kinds. It reads the journal before the table, because records only
// move from the journal to the table. It reads the table only for owners that the journal does not hold completely.
func (db *Store) load(ctx context.Context, owners, without []string) (found map[string][]domain.Entity, err error) {
	waiting := Waiting{Loaded: func(map[string][]domain.Entity) {}}
	if db.journal != nil {
		if waiting, err = db.journal.Waiting(ctx, owners, without); err != nil {
			return nil, err
		}
	}
	var asked []string
	for _, owner := range owners {
		if !waiting.Whole[owner] {
			asked = append(asked, owner)
		}
	}
	found = make(map[string][]domain.Entity, len(owners))
	if len(asked) > 0 {
		if err := db.loadStored(ctx, asked, without, found); err != nil {
			waiting.Loaded(nil)
			return nil, err
		}
	}
	for _, owner := range owners {
		found[owner] = merged(found[owner], waiting.Entities[owner], without)
	}
	waiting.Loaded(found)
	return found, nil
}

// tableTime is how long a load waits for the table if the journal can answer instead.
const tableTime = 3 * time.Second

// loadStored adds the stored entities of owners to found: from the table or, if the store is unavailable, from the
// journal.
func (db *Store) loadStored(ctx context.Context, owners, without []string, found map[string][]domain.Entity) error {
	asking, cancel := ctx, func() {}
	if db.journal != nil {
		asking, cancel = context.WithTimeout(ctx, tableTime)
	}
	defer cancel()
	read := entityScan(func(entity domain.Entity) { found[entity.Owner] = append(found[entity.Owner], entity) })
	err := db.conn.ReadUnflushed(asking, "loading entities", db.queries["entities.Load"], clickhouse.Args{"owners": owners, "kinds": without}, read)
	if err == nil || db.journal == nil || ctx.Err() != nil || asking.Err() == nil && domain.CodeOf(err) != domain.CodeUnavailable {
		return err
	}
	recalled, failed := db.journal.Recall(ctx, owners, func(e *domain.Entity) bool {
		return slices.Contains(owners, e.Owner) && !slices.Contains(without, e.Kind)
	})
	if failed != nil {
		return errors.Join(err, failed)
	}
	clear(found)
	slices.SortFunc(recalled, func(a, b domain.Entity) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID))
	})
	for n := range recalled {
		found[recalled[n].Owner] = append(found[recalled[n].Owner], recalled[n])
	}
	return nil
}

// merged merges the stored entities of an owner, sorted by kind and id, with the ones that wait in the journal, except
// some kinds. Of each entity it returns the highest version.
func merged(stored, waiting []domain.Entity, without []string) []domain.Entity {
	for _, entity := range waiting {
		if slices.Contains(without, entity.Kind) {
			continue
		}
		at, found := slices.BinarySearchFunc(stored, entity, func(a, b domain.Entity) int {
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

// LoadKind returns the current entities of a kind of all owners, without deleted ones: from the table or, if the store
// is unavailable, from the journal.
func (db *Store) LoadKind(ctx context.Context, kind string) ([]domain.Entity, error) {
	return db.LoadKinds(ctx, []string{kind})
}

// LoadKinds is LoadKind for several kinds.
func (db *Store) LoadKinds(ctx context.Context, kinds []string) ([]domain.Entity, error) {
	var all []domain.Entity
	var err error
	for _, kind := range kinds {
		var found []domain.Entity
		if found, err = db.entities(ctx, db.queries["entities.LoadKind"], clickhouse.Args{"kind": kind}); err != nil {
			break
		}
		all = append(all, found...)
	}
	if err == nil || db.journal == nil || domain.CodeOf(err) != domain.CodeUnavailable {
		return all, err
	}
	recalled, failed := db.journal.Recall(ctx, nil, func(e *domain.Entity) bool { return slices.Contains(kinds, e.Kind) })
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	return slices.DeleteFunc(recalled, func(e domain.Entity) bool { return e.Deleted }), nil
}

func (db *Store) entities(ctx context.Context, query string, args clickhouse.Args) ([]domain.Entity, error) {
	var out []domain.Entity
	err := db.conn.ReadFirst(ctx, "loading entities", query, args, entityScan(func(entity domain.Entity) { out = append(out, entity) }))
	return out, err
}

// entityScan passes every row of a query for entities to each.
func entityScan(each func(domain.Entity)) func(driver.Rows) (bool, error) {
	return func(rows driver.Rows) (bool, error) {
		var e domain.Entity
		var version uint64
		if err := rows.Scan(&e.Owner, &e.Kind, &e.ID, &version, &e.Deleted, &e.Payload); err != nil {
			return false, err
		}
		e.Version = domain.VersionOf(version)
		each(e)
		return true, nil
	}
}

// Wakeups yields all wake-ups in the table, with the versions of their writes. It omits the ones that wait in the
// journal.
func (db *Store) Wakeups(ctx context.Context, yield func(w domain.Wakeup, version uint64)) error {
	return db.conn.ReadUnflushed(ctx, "reading wake-ups", db.queries["wakeups.List"], nil, func(rows driver.Rows) (bool, error) {
		var w domain.Wakeup
		var version uint64
		if err := rows.Scan(&w.Kind, &w.Identity, &w.Name, &w.Due, &version); err != nil {
			return false, err
		}
		yield(w, version)
		return true, nil
	})
}

// LoadUnder returns the current entities of a kind of all owners with a name prefix.
func (db *Store) LoadUnder(ctx context.Context, prefix, kind string) ([]domain.Entity, error) {
	return db.entities(ctx, db.queries["entities.LoadUnder"], clickhouse.Args{"prefix": prefix, "kind": kind})
}

// LoadWithout returns the last version of every entity of an owner, except those of some kinds.
func (db *Store) LoadWithout(ctx context.Context, owner string, kinds ...string) ([]domain.Entity, error) {
	found, err := db.load(ctx, []string{owner}, kinds)
	return found[owner], err
}
