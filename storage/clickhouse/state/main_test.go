package state

import (
	"context"
	"os"
	"testing"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

// testDB is a database for a test, with its connection.
type testDB struct {
	*Store
	conn *clickhouse.Conn
}

func open(t testing.TB) *testDB {
	t.Helper()
	return openWith(t, clickhouse.Config{Database: clickhousetest.Name()}, Config{})
}

// openNamed opens the database with a name.
func openNamed(t testing.TB, name string) *testDB {
	t.Helper()
	return openWith(t, clickhouse.Config{Database: name}, Config{})
}

// openWith opens a database with the given configuration.
func openWith(t testing.TB, cfg clickhouse.Config, owned Config) *testDB {
	t.Helper()
	conn := clickhousetest.OpenWith(t, cfg)
	db, err := Open(deadline(t), conn, owned)
	if err != nil {
		t.Fatal(err)
	}
	return &testDB{db, conn}
}

func deadline(t testing.TB) context.Context {
	t.Helper()
	return clickhousetest.Deadline(t)
}

func ask[T any](t testing.TB, db *testDB, query string, args ...clickhouse.Args) T {
	t.Helper()
	return clickhousetest.Ask[T](t, db.conn, query, args...)
}

func exec(t testing.TB, db *testDB, statement string) {
	t.Helper()
	clickhousetest.Exec(t, db.conn, statement)
}
