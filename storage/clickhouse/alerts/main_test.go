package alerts

import (
	"context"
	"os"
	"testing"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/state"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

// owned is the state store of a database.
type owned = state.Store

// testDB is a database for a test, with its state store.
type testDB struct {
	*Store
	*owned
}

func open(t testing.TB) *testDB {
	t.Helper()
	conn := clickhousetest.Open(t)
	opened, err := state.Open(deadline(t), conn, state.Config{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := New(opened)
	if err != nil {
		t.Fatal(err)
	}
	return &testDB{db, opened}
}

func deadline(t testing.TB) context.Context {
	t.Helper()
	return clickhousetest.Deadline(t)
}

func ask[T any](t testing.TB, db *testDB, query string, args ...clickhouse.Args) T {
	t.Helper()
	return clickhousetest.Ask[T](t, db.conn, query, args...)
}
