package clickhouse

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrate applies the migrations that are not recorded, in the order of their names. Every statement of a migration is
// idempotent. A node that starts at the same time as another one, or that died half-way, therefore completes the
// missing ones.
func (c *Conn) migrate(ctx context.Context, queries Queries) error {
	defined := newDefinitions(c.config.Cluster)
	if err := c.Exec(ctx, defined.of(queries["migrations.Create"]), nil); err != nil {
		return WriteError("making the table of migrations", err)
	}
	applied := map[string]bool{}
	err := c.ReadFirst(ctx, "listing the migrations", queries["migrations.List"], nil, func(rows driver.Rows) (bool, error) {
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
	if err := rejectUnknown(applied, names); err != nil {
		return err
	}
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".sql")
		if applied[name] {
			continue
		}
		if err := c.apply(ctx, queries, file, name); err != nil {
			return err
		}
	}
	return c.setDurable(ctx, queries)
}

// formerMigrations returns migrations of early versions that no longer have a file.
func formerMigrations() []string { return []string{"20261120_05_occurrences"} }

// shownMigrations is the maximum number of unknown migrations that an error names.
const shownMigrations = 3

// rejectUnknown returns an error if a newer version has migrated the store. This version does not know the tables that
// it would write to.
func rejectUnknown(applied map[string]bool, files []string) error {
	known := formerMigrations()
	for _, file := range files {
		known = append(known, strings.TrimSuffix(path.Base(file), ".sql"))
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(applied)) {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	shown := strings.Join(unknown[:min(len(unknown), shownMigrations)], ", ")
	if more := len(unknown) - shownMigrations; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%w (migrations %s); nothing was changed. Start that version or a later one, or restore a backup that this version made", ErrNewer, shown)
}

// ErrNewer reports a store that a newer version of the program has migrated.
var ErrNewer = errors.New("the store was migrated by a newer version of svc than this one")

// applyTries is the number of attempts to apply a migration. Its statements may be repeated. If two nodes apply it at
// the same time, one may miss an object that the other has removed.
const applyTries = 3

// apply runs one migration and records it.
func (c *Conn) apply(ctx context.Context, queries Queries, file, name string) error {
	text, err := migrationFiles.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the migration %s: %w", name, err)
	}
	for try := 1; ; try++ {
		err := c.dropLeftovers(ctx, queries)
		if err == nil {
			err = c.execAll(ctx, newDefinitions(c.config.Cluster).of(string(text)))
		}
		if err == nil {
			break
		}
		if try == applyTries || ctx.Err() != nil {
			return WriteError("applying the migration "+name, err)
		}
	}
	if err := c.Exec(ctx, queries["migrations.Append"], Args{"name": name}); err != nil {
		return WriteError("recording the migration "+name, err)
	}
	return nil
}

// dropLeftovers removes the temporary table or view that a killed replacement left. A copied table would retain rows
// that erasures do not know, and a view would write everything twice. If another node is replacing at this moment, that
// node tries again.
func (c *Conn) dropLeftovers(ctx context.Context, queries Queries) error {
	var names []string
	err := c.ReadFirst(ctx, "looking for interrupted replacements", queries["migrations.Leftovers"], nil, func(rows driver.Rows) (bool, error) {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return true, err
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.Exec(ctx, newDefinitions(c.config.Cluster).of(queries["migrations.Drop"]), Args{"table": name}); err != nil {
			return WriteError("removing an interrupted replacement", err)
		}
	}
	return nil
}

// execAll runs statements that end with a semicolon at the end of a line.
func (c *Conn) execAll(ctx context.Context, text string) error {
	for statement := range statements(text) {
		if err := c.Exec(ctx, statement, nil); err != nil {
			return err
		}
	}
	return nil
}

// statements yields the statements of a text. A semicolon at the end of a line ends a statement.
func statements(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for statement := range strings.SplitSeq(text, ";\n") {
			statement = strings.TrimSuffix(strings.TrimSpace(statement), ";")
			if statement != "" && !yield(statement) {
				return
			}
		}
	}
}

// fixed lists the tables that setDurable does not change. The table installation is always synced to disk. Two tables
// are never synced: checks of monitors, because later checks follow, and chunks of uploads, because the client sends
// missing ones again.
func fixed() []string { return []string{"installation", "checks", "upload_chunks"} }

// setDurable sets whether the tables sync inserts to disk. This is a setting of the tables, so the node that was opened
// last decides for all. It skips tables that already have the setting, because a change rewrites a file and syncs it. A
// table that another node replaces is missing for a moment, so setDurable checks the tables again.
func (c *Conn) setDurable(ctx context.Context, queries Queries) (err error) {
	for range durableRounds {
		err = c.alterDurable(ctx, queries)
		exception, answered := errors.AsType[*clickhouse.Exception](err)
		if !answered || exception.Code != codeUnknownTable && exception.Code != codeTableIsDropped {
			return err
		}
	}
	return err
}

// durableRounds is the maximum number of rounds of setDurable. It exceeds the number of nodes that may replace tables
// at a start.
const durableRounds = 10

// alterDurable is one round of setDurable.
func (c *Conn) alterDurable(ctx context.Context, queries Queries) error {
	statement := queries["tables.SetVolatile"]
	if c.config.Durable {
		statement = queries["tables.SetDurable"]
	}
	_, settings, _ := strings.Cut(strings.TrimSpace(statement), " MODIFY SETTING ")
	var altered []string
	err := c.ReadFirst(ctx, "reading the settings of the tables", queries["tables.Engines"], nil, func(rows driver.Rows) (bool, error) {
		var table, engine string
		err := rows.Scan(&table, &engine)
		if !hasSettings(engine, settings) && !slices.Contains(fixed(), table) {
			altered = append(altered, table)
		}
		return true, err
	})
	if err != nil {
		return err
	}
	defined := newDefinitions(c.config.Cluster)
	for _, table := range altered {
		if err := c.Exec(ctx, defined.of(strings.ReplaceAll(statement, "$(table)", table)), nil); err != nil {
			return WriteError("setting the durability of the tables", err)
		}
	}
	return nil
}

// hasSettings reports whether the definition of a table's engine contains every one of some settings.
func hasSettings(engine, settings string) bool {
	_, present, _ := strings.Cut(engine, " SETTINGS ")
	for setting := range strings.SplitSeq(settings, ", ") {
		if !slices.Contains(strings.Split(present, ", "), setting) {
			return false
		}
	}
	return true
}
