package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

// Snapshot is the content of one shard at one time. Its tables are in a separate database and share the files of the
// originals.
type Snapshot struct {
	// Name is the name of the database.
	Name string `json:"name"`
	// Tables has the tables of the database. Rows has the counts of tables with rows that never change; in the other
	// tables merges reduce the number of rows.
	Tables []string          `json:"tables"`
	Rows   map[string]uint64 `json:"rows"`
	// Definitions create the objects without rows: views, and tables that feed them.
	Definitions []string `json:"definitions"`
}

// Snapshots takes a snapshot of every shard under a name, all at the same time. Writes of this process wait while the
// files are linked, so no write is in one table but missing in another. The caller must ensure that no other process
// writes.
func (db *Store) Snapshots(ctx context.Context, id string) (all []*Snapshot, err error) {
	defer func() {
		for shard, s := range all {
			if err != nil {
				err = errors.Join(err, db.DropSnapshot(ctx, shard, s.Name))
			}
		}
		if err != nil {
			all = nil
		}
	}()
	for shard := range db.conn.Shards() {
		one := db.at(shard)
		database, err := one.database(ctx)
		if err != nil {
			return all, err
		}
		s := &Snapshot{Name: database + "_backup_" + id, Rows: map[string]uint64{}}
		all = append(all, s)
		if err := one.prepareSnapshot(ctx, s); err != nil {
			return all, err
		}
	}
	if err := db.fillSnapshots(ctx, all); err != nil {
		return all, err
	}
	for shard, s := range all {
		counts, err := db.at(shard).countRows(ctx, s.Name)
		if err != nil {
			return all, err
		}
		for table := range s.Rows {
			s.Rows[table] = counts[table]
		}
	}
	return all, nil
}

// at returns the backup store of one shard.
func (db *Store) at(shard int) *Store {
	return &Store{conn: db.conn.Shards()[shard], queries: db.queries, state: db.state}
}

func (db *Store) database(ctx context.Context) (name string, err error) {
	err = db.conn.Read(ctx, "finding the database", db.queries["database.Name"], nil, func(row driver.Rows) (bool, error) { return false, row.Scan(&name) })
	return name, err
}

// prepareSnapshot creates the empty tables.
func (db *Store) prepareSnapshot(ctx context.Context, s *Snapshot) error {
	if err := db.conn.Exec(ctx, db.queries["snapshot.Create"], clickhouse.Args{"snapshot": s.Name}); err != nil {
		return clickhouse.WriteError("making a snapshot", err)
	}
	err := db.conn.Read(ctx, "listing the tables", db.queries["snapshot.Tables"], nil, func(rows driver.Rows) (bool, error) {
		var name, engine, definition string
		if err := rows.Scan(&name, &engine, &definition); err != nil {
			return false, err
		}
		switch {
		case strings.HasSuffix(engine, "MergeTree"):
			s.Tables = append(s.Tables, name)
			if engine == "MergeTree" {
				s.Rows[name] = 0
			}
		default:
			s.Definitions = append(s.Definitions, definition)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, table := range s.Tables {
		if err := db.execOn(ctx, "snapshot.CreateTable", s.Name, table); err != nil {
			return clickhouse.WriteError("making a snapshot of "+table, err)
		}
	}
	return nil
}

// execOn runs a statement about a table of a snapshot. The names are part of the text, since the engine accepts no
// parameters there.
func (db *Store) execOn(ctx context.Context, query, snapshot, table string) error {
	if !plain(snapshot) || !plain(table) {
		return fmt.Errorf("the names %q and %q are not made of letters and digits", snapshot, table)
	}
	return db.conn.Exec(ctx, strings.NewReplacer("$(snapshot)", snapshot, "$(table)", table).Replace(db.queries[query]), nil)
}

// plain reports whether a name may appear in a statement unquoted.
func plain(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// keptPeople is the table of folded people for fast answers. It can be computed again, so it is empty in a snapshot.
const keptPeople = "person_folds"

// fillSnapshots links the parts of all tables of all shards while nothing is written.
func (db *Store) fillSnapshots(ctx context.Context, all []*Snapshot) error {
	if err := db.state.Flush(ctx); err != nil {
		return err
	}
	return db.conn.WithoutWrites(func() error {
		for shard, s := range all {
			one := db.at(shard)
			for _, table := range s.Tables {
				if table == keptPeople {
					continue
				}
				if err := one.execOn(ctx, "snapshot.Attach", s.Name, table); err != nil {
					return clickhouse.WriteError("making a snapshot of "+table, err)
				}
			}
		}
		return nil
	})
}

// countRows counts the stored rows of the tables of a database.
func (db *Store) countRows(ctx context.Context, database string) (map[string]uint64, error) {
	counts := map[string]uint64{}
	err := db.conn.Read(ctx, "counting rows", db.queries["snapshot.Count"], clickhouse.Args{"database": database}, func(rows driver.Rows) (bool, error) {
		var table string
		var count uint64
		err := rows.Scan(&table, &count)
		counts[table] = count
		return true, err
	})
	return counts, err
}

// DropSnapshot removes a snapshot from a shard.
func (db *Store) DropSnapshot(ctx context.Context, shard int, name string) error {
	return clickhouse.WriteError("removing a snapshot", db.at(shard).conn.Exec(context.WithoutCancel(ctx), db.queries["snapshot.Drop"], clickhouse.Args{"snapshot": name}))
}

// DropSnapshots removes the snapshots that ended processes left. No other process may take a snapshot meanwhile.
func (db *Store) DropSnapshots(ctx context.Context) (err error) {
	for shard, conn := range db.conn.Shards() {
		var left []string
		err = errors.Join(err, conn.Read(ctx, "looking for snapshots", db.queries["snapshot.Left"], nil, func(rows driver.Rows) (bool, error) {
			var name string
			err := rows.Scan(&name)
			left = append(left, name)
			return true, err
		}))
		for _, name := range left {
			err = errors.Join(err, db.DropSnapshot(ctx, shard, name))
		}
	}
	return err
}

// copyPause is the pause between two checks of a copy in the background.
const copyPause = 100 * time.Millisecond

// CopySnapshot makes a shard copy its snapshot. The syntax of place is the store's: File('/path'), Disk('name', 'path')
// or S3(…).
func (db *Store) CopySnapshot(ctx context.Context, shard int, s *Snapshot, place, id string) error {
	return db.at(shard).copyInBackground(ctx, "backup.Make", copying{snapshot: s.Name, place: place, id: id})
}

// copying describes a copy: its snapshot, its database, its place, and the id of the operation.
type copying struct{ snapshot, database, place, id string }

// copyInBackground starts a copy and waits for its end.
func (db *Store) copyInBackground(ctx context.Context, query string, c copying) error {
	if !plain(c.id) || !plain(c.snapshot) || c.database != "" && !plain(c.database) {
		return fmt.Errorf("the names %q, %q and %q are not made of letters and digits", c.id, c.snapshot, c.database)
	}
	text := strings.NewReplacer("$(place)", c.place, "$(id)", c.id, "$(snapshot)", c.snapshot, "$(database)", c.database).Replace(db.queries[query])
	if err := db.conn.Exec(ctx, text, nil); err != nil {
		return clickhouse.WriteError("beginning the copy", err)
	}
	for {
		var status, problem string
		err := db.conn.Read(ctx, "looking at the copy", db.queries["backup.Status"], clickhouse.Args{"id": c.id}, func(row driver.Rows) (bool, error) {
			return false, row.Scan(&status, &problem)
		})
		if err != nil {
			return err
		}
		switch status {
		case "BACKUP_CREATED", "RESTORED":
			return nil
		case "CREATING_BACKUP", "RESTORING":
		default:
			return fmt.Errorf("copying the store: %s: %s", status, problem)
		}
		select {
		case <-time.After(copyPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Restore creates the database of a snapshot that was copied to a place. It fails if the database has tables. It
// returns the number of rows in each table that it created.
func Restore(ctx context.Context, cfg clickhouse.Config, s *Snapshot, place, id string) (_ map[string]uint64, err error) {
	name := cfg.DatabaseName()
	cfg.Database = "default"
	queries, err := clickhouse.LoadQueries(queryFiles)
	if err != nil {
		return nil, err
	}
	conn, err := clickhouse.Connect(cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	db := &Store{conn: conn, queries: queries}
	var tables uint64
	err = conn.Read(ctx, "looking at the store", queries["backup.Database"], clickhouse.Args{"database": name}, func(row driver.Rows) (bool, error) {
		return false, row.Scan(&tables)
	})
	if err != nil {
		return nil, err
	}
	if tables > 0 {
		return nil, fmt.Errorf("the database %s has %d tables; a backup is restored where there are none", name, tables)
	}
	if err := db.copyInBackground(ctx, "backup.Restore", copying{snapshot: s.Name, database: name, place: place, id: id}); err != nil {
		return nil, err
	}
	for _, definition := range s.Definitions {
		if err := conn.Exec(ctx, definition, nil); err != nil {
			return nil, clickhouse.WriteError("making a view again", err)
		}
	}
	return db.countRows(ctx, name)
}
