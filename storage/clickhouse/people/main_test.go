package people_test

import (
	"os"
	"testing"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/people"
	"svc/storage/clickhouse/state"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

// testDB is a test database with the means to fill it.
type testDB struct {
	*people.Store
	blocks *block.Store
	state  *state.Store
	conn   *clickhouse.Conn
}

func open(t testing.TB) *testDB {
	t.Helper()
	conn := clickhousetest.OpenWith(t, clickhouse.Config{Database: clickhousetest.Name()})
	kept, err := state.Open(clickhousetest.Deadline(t), conn, state.Config{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := people.New(kept.Conn())
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := block.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return &testDB{store, blocks, kept, conn}
}

// seeds returns how many random histories a test tries: n, or a third of it with -short, at least one.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return max(n/3, 1)
	}
	return n
}
