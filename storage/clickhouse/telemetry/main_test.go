package telemetry

import (
	"os"
	"testing"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

func open(t testing.TB) (*Store, *clickhouse.Conn) {
	t.Helper()
	conn := clickhousetest.Open(t)
	store, err := New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return store, conn
}
