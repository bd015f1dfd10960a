package flags

import (
	"os"
	"testing"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/state"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

func open(t testing.TB) (*Store, *clickhouse.Conn) {
	t.Helper()
	conn := clickhousetest.OpenWith(t, clickhouse.Config{Database: clickhousetest.Name()})
	kept, err := state.Open(clickhousetest.Deadline(t), conn, state.Config{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := New(kept)
	if err != nil {
		t.Fatal(err)
	}
	return store, conn
}
