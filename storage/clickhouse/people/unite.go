package people

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/person"
	"svc/storage/clickhouse"
)

// Unite computes the roots of all alias edges of an environment and stores the new ones. A root that was computed from
// more edges always wins, so any number of callers may call it at any time, and again.
func (db *Store) Unite(ctx context.Context, environment uint64) error {
	aliases, err := db.aliases(ctx, environment)
	if err != nil || len(aliases) == 0 {
		return err
	}
	noted := map[uint64]person.Root{}
	err = db.conn.ReadFirst(ctx, "reading roots", db.queries["roots.List"], clickhouse.Args{"environment": environment}, func(rows driver.Rows) (bool, error) {
		var root person.Root
		err := rows.Scan(&root.Visitor, &root.Root, &root.Edges)
		noted[root.Visitor] = root
		return true, err
	})
	if err != nil {
		return err
	}
	return db.noteRoots(ctx, environment, person.Roots(aliases), noted)
}

// aliases returns the stored alias edges of an environment.
func (db *Store) aliases(ctx context.Context, environment uint64) (aliases []person.Alias, err error) {
	err = db.conn.ReadFirst(ctx, "reading aliases", db.queries["aliases.List"], clickhouse.Args{"environment": environment}, func(rows driver.Rows) (bool, error) {
		var alias person.Alias
		err := rows.Scan(&alias.Low, &alias.High)
		aliases = append(aliases, alias)
		return true, err
	})
	return aliases, err
}

// noteRoots stores the roots that are not stored yet.
func (db *Store) noteRoots(ctx context.Context, environment uint64, roots []person.Root, noted map[uint64]person.Root) error {
	ctx, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	return clickhouse.WriteError("noting roots", db.conn.WriteOf(environment, func(conn *clickhouse.Conn) error {
		var rows clickhouse.Rows
		for _, root := range roots {
			if noted[root.Visitor].Edges >= root.Edges {
				continue
			}
			if err := rows.Append(ctx, conn, db.queries["roots.Append"], rootColumns(), environment, root.Visitor, root.Root, root.Edges); err != nil {
				return err
			}
		}
		return rows.Send()
	}))
}

func rootColumns() []clickhouse.Column {
	return []clickhouse.Column{{Name: "environment", Type: "UInt64"}, {Name: "visitor", Type: "UInt64"}, {Name: "root", Type: "UInt64"}, {Name: "edges", Type: "UInt32"}}
}

func aliasColumns() []clickhouse.Column {
	return []clickhouse.Column{{Name: "environment", Type: "UInt64"}, {Name: "low", Type: "UInt64"}, {Name: "high", Type: "UInt64"}, {Name: "first", Type: "DateTime64(3, 'UTC')"}}
}

// UniteAll runs Unite for every environment of a shard that has alias edges.
func (db *Store) UniteAll(ctx context.Context, shard int) error {
	var environments []uint64
	err := db.conn.Shards()[shard].ReadFirst(ctx, "listing the environments that have aliases", db.queries["aliases.Environments"], nil, func(rows driver.Rows) (bool, error) {
		var environment uint64
		err := rows.Scan(&environment)
		environments = append(environments, environment)
		return true, err
	})
	for _, environment := range environments {
		err = errors.Join(err, db.Unite(ctx, environment))
	}
	return err
}

// TieMerged ties the visitors that members merged, if they are not tied yet. A tie is missing if the call was
// interrupted; all are missing if the tables were refilled from the log. It may be repeated.
func (db *Store) TieMerged(ctx context.Context) error {
	type merge struct {
		one, other uint64
		at         time.Time
	}
	decided := map[uint64][]merge{}
	err := errors.Join(db.splitDecided(ctx), db.conn.ReadFirst(ctx, "reading merges", db.queries["merges.Decided"], nil, func(rows driver.Rows) (bool, error) {
		var environment, visitor uint64
		var merged, at string
		err := rows.Scan(&environment, &visitor, &merged, &at)
		when, _ := time.Parse(time.RFC3339, at) // the zero time is before any split
		if other, is := person.ParsePersonID(merged); is && other != visitor {
			decided[environment] = append(decided[environment], merge{visitor, other, when})
		}
		return true, err
	}))
	for environment, merges := range decided {
		splits, failed := db.splitsOf(ctx, environment)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		var aliases []person.Alias
		for _, one := range merges {
			if alias, holds := nodes(splits, one.one, one.other, one.at); holds {
				aliases = append(aliases, alias)
			}
		}
		err = errors.Join(err, db.tie(ctx, environment, aliases))
	}
	return err
}

// tie adds the alias edges that an environment does not have yet.
func (db *Store) tie(ctx context.Context, environment uint64, aliases []person.Alias) error {
	there, err := db.aliases(ctx, environment)
	if err != nil {
		return err
	}
	known := make(map[person.Alias]bool, len(there))
	for _, alias := range there {
		known[alias] = true
	}
	return db.noteAliases(ctx, environment, slices.DeleteFunc(aliases, func(alias person.Alias) bool { return known[alias] }), time.Now())
}

// noteAliases stores alias edges and the resulting roots.
func (db *Store) noteAliases(ctx context.Context, environment uint64, aliases []person.Alias, now time.Time) error {
	writing, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	err := db.conn.WriteOf(environment, func(conn *clickhouse.Conn) error {
		var rows clickhouse.Rows
		for _, alias := range aliases {
			if err := rows.Append(writing, conn, db.queries["aliases.Append"], aliasColumns(), environment, alias.Low, alias.High, now); err != nil {
				return err
			}
		}
		return rows.Send()
	})
	if err != nil {
		return clickhouse.WriteError("tying visitors together", err)
	}
	return db.Unite(ctx, environment)
}

// Merge makes the persons of two visitors one person. When Merge returns, the change is durable and every later read
// shows it. Merge may be repeated.
func (db *Store) Merge(ctx context.Context, environment, one, other uint64, now time.Time) error {
	splits, err := db.splitsOf(ctx, environment, one, other)
	if err != nil {
		return err
	}
	alias, holds := nodes(splits, one, other, now)
	if !holds {
		return domain.Errorf(domain.CodeConflict, "One of the ids was removed from a person at a later time.")
	}
	return db.noteAliases(ctx, environment, []person.Alias{alias}, now)
}
