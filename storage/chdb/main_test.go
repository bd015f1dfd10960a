package chdb

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// childVariable makes a re-executed test binary fill the folder that it names until the process is killed.
const childVariable = "SVC_CHDB_TEST_CHILD"

// testEngine is the one engine of the test process.
var testEngine *Engine

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	if dir := os.Getenv(childVariable); dir != "" {
		return runChild(dir)
	}
	dir, err := os.MkdirTemp("", "chdb-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if testEngine, err = openEngine(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := testEngine.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func openEngine(dir string) (*Engine, error) { return openEngineAt(dir, "") }

// openEngineAt opens an engine that other processes reach at an address.
func openEngineAt(dir, address string) (*Engine, error) {
	library, err := FindLibrary(os.Getenv("SVC_CHDB_LIB"))
	if err != nil {
		return nil, err
	}
	return Open(context.Background(), Config{
		Library: library, Dir: dir, Listen: address,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
}

// openClient returns a client of e with room for many connections.
func openClient(e *Engine, database string, settings clickhouse.Settings) (driver.Conn, error) {
	return clickhouse.Open(&clickhouse.Options{
		Protocol: clickhouse.HTTP, Addr: []string{"chdb"}, DialContext: e.DialContext,
		Auth: clickhouse.Auth{Database: database}, Settings: settings, MaxOpenConns: 32, MaxIdleConns: 32,
	})
}

// testClient returns a client of the test engine, closed with the test.
func testClient(t testing.TB, database string, settings clickhouse.Settings) driver.Conn {
	t.Helper()
	c, err := openClient(testEngine, database, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// client returns a client with a database that exists only for this test.
func client(t testing.TB) driver.Conn {
	t.Helper()
	database := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	root := testClient(t, "", nil)
	run(t, root, "CREATE DATABASE "+database)
	t.Cleanup(func() {
		if err := root.Exec(context.Background(), "DROP DATABASE "+database+" SYNC"); err != nil {
			t.Errorf("dropping the test's database: %v", err)
		}
	})
	return testClient(t, database, nil)
}

// deadline returns a context that makes a hanging test fail.
func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// run runs statements that must succeed.
func run(t testing.TB, c driver.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := c.Exec(deadline(t), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// one returns the only value of a query.
func one[T any](t testing.TB, c driver.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := c.QueryRow(deadline(t), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}
