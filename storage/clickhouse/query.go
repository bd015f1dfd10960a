package clickhouse

import (
	"context"
	"embed"
	"errors"
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

// Queries are the texts of statements by name: noun.Verb.
type Queries map[string]string

// LoadQueries reads the files query/noun.Verb.sql of some folders. "$(noun.Verb)" in a query is replaced by the text of
// that query. Other placeholders of this form, such as $(where), stay for the caller to replace.
func LoadQueries(folders ...fs.FS) (Queries, error) {
	queries := Queries{}
	for _, folder := range folders {
		names, err := fs.Glob(folder, "query/*.sql")
		if err != nil {
			return nil, fmt.Errorf("listing the queries: %w", err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(folder, name)
			if err != nil {
				return nil, fmt.Errorf("reading the query %s: %w", name, err)
			}
			queries[strings.TrimSuffix(path.Base(name), ".sql")] = statement(string(text))
		}
	}
	expanded := make(Queries, len(queries))
	for name := range queries {
		expanded[name] = queries.expand(name)
	}
	return expanded, nil
}

// expand returns a query with the texts of the files that it refers to. The references of files have no cycles.
func (q Queries) expand(name string) string {
	text := q[name]
	for part := range q {
		if reference := "$(" + part + ")"; strings.Contains(text, reference) {
			text = strings.ReplaceAll(text, reference, q.expand(part))
		}
	}
	return text
}

// statement returns the text of a file without its comment lines.
func statement(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

// Args are the values of a statement's parameters by name. Times have millisecond precision.
type Args map[string]any

func (a Args) list() []any {
	list := make([]any, 0, len(a))
	for name, value := range a {
		if instant, ok := value.(time.Time); ok {
			if instant.IsZero() { // the client refuses the zero time
				instant = time.UnixMilli(0)
			}
			list = append(list, clickhouse.DateNamed(name, instant, clickhouse.MilliSeconds))
			continue
		}
		list = append(list, clickhouse.Named(name, value))
	}
	return list
}

// With returns the arguments merged with the arguments of other, which override equal names.
func (a Args) With(other Args) Args {
	sum := make(Args, len(a)+len(other))
	maps.Copy(sum, a)
	maps.Copy(sum, other)
	return sum
}

// BucketArgs returns the starts of buckets, in seconds since 1970, to which roundDown assigns times.
func BucketArgs(buckets []time.Time) Args {
	beginnings := make([]uint32, len(buckets))
	for i, t := range buckets {
		beginnings[i] = uint32(t.Unix())
	}
	return Args{"buckets": beginnings}
}

// Settings are settings of the engine for one statement.
type Settings = clickhouse.Settings

// WithSettings returns a context for a statement with its own settings.
func WithSettings(ctx context.Context, settings Settings) context.Context {
	return clickhouse.Context(ctx, clickhouse.WithSettings(settings))
}

// Scan reads one row of an answer and reports whether it wants another.
type Scan func(driver.Rows) (more bool, err error)

// readSettings returns settings that limit a read and, on a server, prevent it from changing anything.
func (c *Conn) readSettings() Settings {
	settings := Settings{
		"max_execution_time": int(QueryTime.Seconds()),
		"max_memory_usage":   queryMemory,
	}
	if c.quiet {
		settings["max_threads"], settings["max_memory_usage"] = 1, quietMemory
	}
	if filters := c.filters(); filters != "" {
		settings["additional_table_filters"] = filters
	}
	if c.server {
		settings["readonly"] = 2
		if !c.native {
			settings["cancel_http_readonly_queries_on_client_close"] = 1
		}
	}
	return settings
}

// Read runs a query for a user and calls scan for every row until scan returns false. The rows arrive as the engine
// produces them. what describes the read in errors, as a gerund with its object. At most QuestionPlaces calls run at
// once; others wait within their time. Like all reads, it runs on the shard of the environment that its arguments name.
func (c *Conn) Read(ctx context.Context, what, query string, args Args, scan Scan) error {
	ctx, cancel := context.WithTimeout(ctx, QueryTime)
	defer cancel()
	c = c.routed(args)
	if err := c.flushFor(ctx, query, args); err != nil {
		return err
	}
	select {
	case c.questions <- struct{}{}:
		defer func() { <-c.questions }()
	case <-ctx.Done():
		return ReadError(what, context.Cause(ctx))
	}
	return c.rows(ctx, what, query, args, nil, scan)
}

// ReadFirst is Read for data that the service itself needs: the state of actors, and data that writes wait for. It does
// not wait for calls of Read.
func (c *Conn) ReadFirst(ctx context.Context, what, query string, args Args, scan Scan) error {
	ctx, cancel := context.WithTimeout(ctx, QueryTime)
	defer cancel()
	return c.Stream(ctx, what, query, args, scan)
}

// Stream is ReadFirst without a time limit, for reads as large as the store.
func (c *Conn) Stream(ctx context.Context, what, query string, args Args, scan Scan) error {
	c = c.routed(args)
	if err := c.flushFor(ctx, query, args); err != nil {
		return err
	}
	return c.rows(ctx, what, query, args, first(), scan)
}

// ReadUnflushed is ReadFirst without flushing the journal. The caller has already read the journal.
func (c *Conn) ReadUnflushed(ctx context.Context, what, query string, args Args, scan Scan) error {
	ctx, cancel := context.WithTimeout(ctx, QueryTime)
	defer cancel()
	return c.routed(args).rows(ctx, what, query, args, first(), scan)
}

// first returns the settings of a read with priority. The embedded engine gives it a slot of the writes, and a server
// runs it before statements with a lower priority.
func first() Settings { return Settings{"priority": 1} }

// errUnflushed is the error of a refused read of a table that the journal fills.
var errUnflushed = errors.New("this connection does not flush the journal, whose records the query would miss")

// flushFor flushes the journal if a query reads one of its tables. On another shard than 0, it copies the rows that the
// query joins.
func (c *Conn) flushFor(ctx context.Context, query string, args Args) error {
	if !readsJournal(query) {
		return nil
	}
	if c.flush == nil {
		return errUnflushed
	}
	if err := c.flush(ctx); err != nil || c.link == c.home {
		return err
	}
	return c.bring(ctx, args)
}

// readsJournal reports whether a query reads a table that the journal fills.
func readsJournal(query string) bool {
	names := false // the next word names a table
	for word := range strings.FieldsSeq(query) {
		if names {
			switch strings.Trim(word, "(),;") {
			case "entities", "wakeups", "ledger", "audit_rows":
				return true
			}
		}
		names = strings.EqualFold(word, "FROM") || strings.EqualFold(word, "JOIN")
	}
	return false
}

// rows runs a query with the given settings.
func (c *Conn) rows(ctx context.Context, what, query string, args Args, own Settings, scan Scan) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.reading.Add(1)
	defer c.reading.Add(-1)
	defer func() { c.reportDamage(err) }()
	if c.server {
		var watched func(error) error
		ctx, watched = c.watch(ctx, what)
		defer func() { err = watched(err) }()
	}
	settings := c.readSettings()
	if _, bounded := ctx.Deadline(); !bounded {
		delete(settings, "max_execution_time")
	}
	maps.Copy(settings, own)
	rows, err := c.driver.Query(WithSettings(ctx, settings), query, args.list()...)
	if err != nil {
		return ReadError(what, err)
	}
	for rows.Next() {
		more, err := scan(rows)
		if err != nil || !more {
			cancel()
			_ = rows.Close() // its error only reports this cancellation
			return ReadError(what, err)
		}
	}
	err = rows.Err()
	if closing := rows.Close(); err == nil {
		err = closing
	}
	return ReadError(what, err)
}
