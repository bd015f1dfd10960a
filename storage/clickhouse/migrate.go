package clickhouse

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrate applies the migrations that are not recorded, in the order of their names.
// Every statement of a migration may be repeated without harm, so a node that starts
// beside another one, or that died half-way, does what is missing.
func (db *DB) migrate(ctx context.Context, durable bool) error {
	if err := db.conn.Exec(ctx, db.queries["migrations.Create"]); err != nil {
		return writeError("making the table of migrations", err)
	}
	applied := map[string]bool{}
	err := db.readFirst(ctx, "listing the migrations", db.queries["migrations.List"], nil, func(rows driver.Rows) (bool, error) {
		var name string
		err := rows.Scan(&name)
		applied[name] = true
		return true, err
	})
	if err != nil {
		return err
	}
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return fmt.Errorf("listing the migration files: %w", err)
	}
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".sql")
		if applied[name] {
			continue
		}
		if err := db.apply(ctx, file, name); err != nil {
			return err
		}
	}
	return db.setDurable(ctx, durable)
}

// apply runs one migration and records it.
func (db *DB) apply(ctx context.Context, file, name string) error {
	text, err := migrationFiles.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the migration %s: %w", name, err)
	}
	if err := db.execAll(ctx, string(text)); err != nil {
		return writeError("applying the migration "+name, err)
	}
	if err := db.conn.Exec(ctx, db.queries["migrations.Append"], clickhouse.Named("name", name)); err != nil {
		return writeError("recording the migration "+name, err)
	}
	return nil
}

// execAll runs statements that are separated by a semicolon at the end of a line.
func (db *DB) execAll(ctx context.Context, text string) error {
	for statement := range strings.SplitSeq(text, ";\n") {
		statement = strings.TrimSuffix(strings.TrimSpace(statement), ";")
		if statement == "" {
			continue
		}
		if err := db.conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// setDurable decides whether the tables force what is inserted to disk. It is a setting
// of the tables, so the node that was opened last decides for all.
func (db *DB) setDurable(ctx context.Context, durable bool) error {
	name := "tables.SetVolatile"
	if durable {
		name = "tables.SetDurable"
	}
	if err := db.execAll(ctx, db.queries[name]); err != nil {
		return writeError("setting the durability of the tables", err)
	}
	return nil
}
