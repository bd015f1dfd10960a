package reads

import (
	"context"
	"os"
	"testing"

	"svc/storage/clickhouse"
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
	return openNamed(t, clickhousetest.Name())
}

func openNamed(t testing.TB, name string) *testDB {
	t.Helper()
	conn := clickhousetest.OpenWith(t, clickhouse.Config{Database: name})
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

func insert(t testing.TB, db *testDB, token string, number uint64, b *block.Block) {
	t.Helper()
	if err := db.Insert(deadline(t), token, number, b); err != nil {
		t.Fatal(err)
	}
}

func deadline(t testing.TB) context.Context {
	t.Helper()
	return clickhousetest.Deadline(t)
}

func ask[T any](t testing.TB, db *testDB, query string, args ...clickhouse.Args) T {
	t.Helper()
	return clickhousetest.Ask[T](t, db.conn, query, args...)
}

// each returns the number of random cases that a test tries: all, or every third with -short.
func each(cases int) int {
	if testing.Short() {
		return (cases + 2) / 3
	}
	return cases
}

// skipped reports whether a case of a table of combinations is skipped: no case, or five of six with -short. The first
// case of a table is always tried.
func skipped(number int) bool { return testing.Short() && number%6 != 0 }

func exec(t testing.TB, db *testDB, statement string) {
	t.Helper()
	clickhousetest.Exec(t, db.conn, statement)
}
