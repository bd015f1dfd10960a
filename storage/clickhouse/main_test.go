package clickhouse

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"svc/storage/chdb"
)

// suite is what the tests of the process share: libchdb allows one engine.
type suite struct {
	engine    *chdb.Engine
	dir       string
	databases atomic.Int64
}

var shared suite

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "clickhouse-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
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

// restart closes the engine, of which no database is open, and opens it again.
func (s *suite) restart(t testing.TB) {
	t.Helper()
	if err := s.engine.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// open returns a database of its own for a test.
func open(t testing.TB) *DB {
	return openNamed(t, fmt.Sprintf("test%d", shared.databases.Add(1)), false)
}

func openNamed(t testing.TB, name string, durable bool) *DB {
	t.Helper()
	db, err := Open(deadline(t), Config{Engine: shared.engine, Database: name, Durable: durable})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// deadline is a context that fails a test which hangs.
func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// ask returns the only value of a statement.
func ask[T any](t testing.TB, db *DB, statement string, args ...any) T {
	t.Helper()
	var value T
	if err := db.conn.QueryRow(deadline(t), statement, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

// exec runs a statement that must succeed.
func exec(t testing.TB, db *DB, statement string) {
	t.Helper()
	if err := db.conn.Exec(deadline(t), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
