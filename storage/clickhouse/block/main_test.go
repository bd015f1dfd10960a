package block

import (
	"context"
	"os"
	"testing"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

// testDB is a database of a test.
type testDB struct{ *Store }

func open(t testing.TB) *testDB {
	t.Helper()
	db, err := New(clickhousetest.Open(t))
	if err != nil {
		t.Fatal(err)
	}
	return &testDB{db}
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
