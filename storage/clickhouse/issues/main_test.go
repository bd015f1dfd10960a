package issues

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/state"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

// The stores that fill a database, in addition to the store of issues.
type (
	blocks = block.Store
	owned  = state.Store
)

// testDB is a database for a test, with the stores that fill it.
type testDB struct {
	*Store
	*blocks
	*owned
}

func open(t testing.TB) *testDB {
	t.Helper()
	conn := clickhousetest.Open(t)
	opened, err := state.Open(deadline(t), conn, state.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := block.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	db, err := New(opened)
	if err != nil {
		t.Fatal(err)
	}
	return &testDB{db, rows, opened}
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

func insert(t testing.TB, db *testDB, token string, number uint64, b *block.Block) {
	t.Helper()
	if err := db.Insert(deadline(t), token, number, b); err != nil {
		t.Fatal(err)
	}
}

// hourly returns a block of n events, one per hour from a time on.
func hourly(t testing.TB, db *testDB, from time.Time, n int) *block.Block {
	t.Helper()
	b := db.NewBlock()
	for i := range n {
		b.Append(clickhousetest.Row(7, from.Add(time.Duration(i)*time.Hour), fmt.Sprintf("e%d", i), fmt.Sprintf("u%d", i%5), fmt.Sprintf("s%d", i)))
	}
	return b
}
