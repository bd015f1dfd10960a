package metrics

import (
	"context"
	"os"
	"testing"

	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/clickhousetest"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

// blocks stores the blocks of a database.
type blocks = block.Store

// testDB is a database for a test, with the store that fills it.
type testDB struct {
	*Store
	*blocks
}

func open(t testing.TB) *testDB {
	t.Helper()
	conn := clickhousetest.Open(t)
	store, err := New(conn)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := block.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return &testDB{store, rows}
}

func deadline(t testing.TB) context.Context {
	t.Helper()
	return clickhousetest.Deadline(t)
}
