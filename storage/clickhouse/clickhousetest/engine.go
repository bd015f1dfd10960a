// Package clickhousetest gives each test its own database in one embedded engine, and rows to store in it.
package clickhousetest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/chdb"
	"svc/storage/clickhouse"
)

// suite is shared by the tests of a process.
type suite struct {
	engine    *chdb.Engine
	dir       string
	databases atomic.Int64
	schema    schema
}

//nolint:gochecknoglobals // the engine's library allows one engine a process
var shared suite

// Main opens the engine, runs the tests of a package and returns the exit code.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "clickhouse-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder in the system's temporary folder
	shared.dir = dir
	if err := shared.start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := shared.engine.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// start opens the engine.
func (s *suite) start() error {
	library, err := chdb.FindLibrary(os.Getenv("SVC_CHDB_LIB"))
	if err != nil {
		return err
	}
	s.engine, err = chdb.Open(context.Background(), chdb.Config{
		Library: library, Dir: s.dir, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Settings: map[string]string{"backups.allowed_path": "/"},
	})
	return err
}

// Engine returns the engine of the process.
func Engine() *chdb.Engine { return shared.engine }

// Dir returns the folder of the engine.
func Dir() string { return shared.dir }

// Restart closes the engine and opens it again. No database in it may be open.
func Restart(t testing.TB) {
	t.Helper()
	if err := shared.engine.Close(); err != nil {
		t.Fatal(err)
	}
	if err := shared.start(); err != nil {
		t.Fatal(err)
	}
}

// namePrefix is the prefix of the names that [Name] returns.
const namePrefix = "own_of_test_"

// Name returns a unique database name.
func Name() string { return fmt.Sprintf("%s%d", namePrefix, shared.databases.Add(1)) }

// Open returns a connection to a new database.
func Open(t testing.TB) *clickhouse.Conn {
	t.Helper()
	return OpenWith(t, clickhouse.Config{Database: Name()})
}

// OpenWith returns a connection to a database in the engine. It is closed with the test.
func OpenWith(t testing.TB, cfg clickhouse.Config) *clickhouse.Conn {
	t.Helper()
	cfg.Engine = Engine()
	if err := shared.schema.copyInto(Deadline(t), cfg); err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(Deadline(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.schema.learn(Deadline(t), conn, cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// Deadline returns a context that makes a hanging test fail.
func Deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Ask returns the only value of a query. The query reads the current content of the tables.
func Ask[T any](t testing.TB, conn *clickhouse.Conn, query string, args ...clickhouse.Args) T {
	t.Helper()
	var value T
	all := clickhouse.Args{}
	for _, some := range args {
		all = all.With(some)
	}
	err := conn.ReadUnflushed(Deadline(t), "asking", query, all, func(row driver.Rows) (bool, error) { return false, row.Scan(&value) })
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// Exec runs a statement that must succeed.
func Exec(t testing.TB, conn *clickhouse.Conn, statement string) {
	t.Helper()
	if err := conn.Exec(Deadline(t), statement, nil); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// ExecAll runs the statements of a migration.
func ExecAll(t testing.TB, conn *clickhouse.Conn, text string) {
	t.Helper()
	for statement := range strings.SplitSeq(text, ";\n") {
		if statement = strings.TrimSuffix(strings.TrimSpace(statement), ";"); statement != "" {
			Exec(t, conn, statement)
		}
	}
}

// Statement returns the text of a file of statements without its comment lines.
func Statement(text string) string {
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool { return strings.HasPrefix(line, "--") })
	return strings.Join(lines, "")
}

// Explain lets the engine plan every query on empty tables. fill replaces the placeholders of a query; it returns no
// text for parts that are not complete queries. args has the values of all parameters by the noun in the query's name;
// the values of the empty noun apply to all queries.
func Explain(t *testing.T, conn *clickhouse.Conn, queries clickhouse.Queries, args map[string]clickhouse.Args, fill func(name, text string) string) {
	t.Helper()
	for name, text := range queries {
		if !strings.HasPrefix(text, "SELECT") && !strings.HasPrefix(text, "WITH") {
			continue
		}
		if fill != nil {
			text = fill(name, text)
		}
		noun, _, _ := strings.Cut(name, ".")
		err := conn.ReadUnflushed(Deadline(t), "planning", "EXPLAIN indexes = 1 "+text, args[""].With(args[noun]), func(driver.Rows) (bool, error) { return false, nil })
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
