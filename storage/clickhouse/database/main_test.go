package database_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/database"
	"svc/storage/clickhouse/state"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

func open(t testing.TB) *database.DB {
	t.Helper()
	return openNamed(t, clickhousetest.Name())
}

// openNamed opens the database with a name. It is closed with the test.
func openNamed(t testing.TB, name string) *database.DB {
	t.Helper()
	db, err := database.Open(deadline(t), clickhouse.Config{Engine: clickhousetest.Engine(), Database: name}, state.Config{})
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

func deadline(t testing.TB) context.Context {
	t.Helper()
	return clickhousetest.Deadline(t)
}

func ask[T any](t testing.TB, db *database.DB, query string) T {
	t.Helper()
	return clickhousetest.Ask[T](t, db.Conn, query)
}

func exec(t testing.TB, db *database.DB, statement string) {
	t.Helper()
	clickhousetest.Exec(t, db.Conn, statement)
}

// insert stores a block. All blocks of a test have the same token.
func insert(t testing.TB, db *database.DB, b *block.Block) {
	t.Helper()
	if err := db.Insert(deadline(t), "t1", 1, b); err != nil {
		t.Fatal(err)
	}
}

// hourly returns a block of n events, one per hour from a time on.
func hourly(t testing.TB, db *database.DB, from time.Time, n int) *block.Block {
	t.Helper()
	b := db.NewBlock()
	for i := range n {
		b.Append(clickhousetest.Row(7, from.Add(time.Duration(i)*time.Hour), fmt.Sprintf("e%d", i), fmt.Sprintf("u%d", i%5), fmt.Sprintf("s%d", i)))
	}
	return b
}

// stored returns a number per table that changes when a row is stored twice.
func stored(t *testing.T, db *database.DB) map[string]int64 {
	t.Helper()
	return map[string]int64{
		"events":  int64(ask[uint64](t, db, "SELECT count() FROM events")),
		"traffic": ask[int64](t, db, "SELECT sum(events) FROM traffic"),
		"visits":  int64(ask[uint64](t, db, "SELECT sum(events) FROM visits")),
		"names":   int64(ask[uint64](t, db, "SELECT sum(events) FROM names")),
	}
}
