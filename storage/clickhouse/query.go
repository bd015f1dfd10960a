package clickhouse

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

//go:embed query/*.sql
var queryFiles embed.FS

// loadQueries reads the query files by the names before their suffix. "$(noun.Verb)" in a
// query stands for the text of another file; $(where) stays for the condition of a request.
func loadQueries() (map[string]string, error) {
	names, err := fs.Glob(queryFiles, "query/*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing the queries: %w", err)
	}
	queries := make(map[string]string, len(names))
	for _, name := range names {
		text, err := queryFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading the query %s: %w", name, err)
		}
		queries[strings.TrimSuffix(path.Base(name), ".sql")] = statement(string(text))
	}
	expanded := make(map[string]string, len(queries))
	for name := range queries {
		expanded[name] = expand(queries, name)
	}
	return expanded, nil
}

// expand returns a query with the texts of the files that it refers to. Files refer to
// each other without a circle.
func expand(queries map[string]string, name string) string {
	text := queries[name]
	for part := range queries {
		if reference := "$(" + part + ")"; strings.Contains(text, reference) {
			text = strings.ReplaceAll(text, reference, expand(queries, part))
		}
	}
	return text
}

// statement is the text of a file without its comment lines.
func statement(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

// arguments are the values of a query's parameters by name. Times have milliseconds.
type arguments map[string]any

func (a arguments) list() []any {
	list := make([]any, 0, len(a))
	for name, value := range a {
		if instant, ok := value.(time.Time); ok {
			if instant.IsZero() { // the client refuses it
				instant = time.UnixMilli(0)
			}
			list = append(list, clickhouse.DateNamed(name, instant, clickhouse.MilliSeconds))
			continue
		}
		list = append(list, clickhouse.Named(name, value))
	}
	return list
}

// with returns the arguments with those of other added.
func (a arguments) with(other arguments) arguments {
	sum := make(arguments, len(a)+len(other))
	for name, value := range a {
		sum[name] = value
	}
	for name, value := range other {
		sum[name] = value
	}
	return sum
}

// readSettings bound a read and, on a server, keep it from changing anything.
func (db *DB) readSettings() clickhouse.Settings {
	settings := clickhouse.Settings{
		"max_execution_time": int(queryTime.Seconds()),
		"max_memory_usage":   queryMemory,
	}
	if db.quiet {
		settings["max_threads"], settings["max_memory_usage"] = 1, keeperMemory
	}
	if db.server {
		settings["readonly"] = 2
		if !db.native {
			settings["cancel_http_readonly_queries_on_client_close"] = 1
		}
	}
	return settings
}

// read answers a question: it runs a query and calls scan for every row until scan returns
// false. The rows arrive as the engine produces them. what names the read in errors. Only
// questionPlaces questions run at once, and others wait within their time.
func (db *DB) read(ctx context.Context, what, query string, args arguments, scan func(driver.Rows) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	if err := db.settleFor(ctx, query); err != nil {
		return err
	}
	select {
	case db.questions <- struct{}{}:
		defer func() { <-db.questions }()
	case <-ctx.Done():
		return readError(what, context.Cause(ctx))
	}
	return db.rows(ctx, what, query, args, nil, scan)
}

// readFirst is read for what the service itself needs to go on: what actors own, and what
// writes wait for. It waits for no question.
func (db *DB) readFirst(ctx context.Context, what, query string, args arguments, scan func(driver.Rows) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	return db.stream(ctx, what, query, args, scan)
}

// stream is readFirst without a bound on the time, for reads whose size is the store's.
func (db *DB) stream(ctx context.Context, what, query string, args arguments, scan func(driver.Rows) (bool, error)) error {
	if err := db.settleFor(ctx, query); err != nil {
		return err
	}
	return db.rows(ctx, what, query, args, first(), scan)
}

// first are the settings of a read that goes before others: the embedded engine gives it a
// place of the writes, and a server runs it before what has a lower priority.
func first() clickhouse.Settings { return clickhouse.Settings{"priority": 1} }

// settleFor settles the journal where a query reads one of its tables.
func (db *DB) settleFor(ctx context.Context, query string) error {
	if !readsJournal(query) {
		return nil
	}
	return db.journal.settle(ctx)
}

// rows runs a query with settings of its own. The journal is settled, or needs not be.
func (db *DB) rows(ctx context.Context, what, query string, args arguments, own clickhouse.Settings, scan func(driver.Rows) (bool, error)) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	db.reading.Add(1)
	defer db.reading.Add(-1)
	settings := db.readSettings()
	if _, bounded := ctx.Deadline(); !bounded {
		delete(settings, "max_execution_time")
	}
	maps.Copy(settings, own)
	rows, err := db.conn.Query(clickhouse.Context(ctx, clickhouse.WithSettings(settings)), query, args.list()...)
	if err != nil {
		return readError(what, err)
	}
	for rows.Next() {
		more, err := scan(rows)
		if err != nil || !more {
			cancel()
			_ = rows.Close() // reports the cancellation that was just asked for
			return readError(what, err)
		}
	}
	err = rows.Err()
	if closing := rows.Close(); err == nil {
		err = closing
	}
	return readError(what, err)
}
