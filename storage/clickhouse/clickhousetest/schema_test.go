package clickhousetest_test

import (
	"os"
	"strings"
	"testing"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

// TestACopiedDatabaseIsAMigratedOne compares a database that was created from the definitions of another one with a
// database that the migrations created: the tables, their rows, and the recorded migrations.
func TestACopiedDatabaseIsAMigratedOne(t *testing.T) {
	describe := func(conn *clickhouse.Conn) (lines []string) {
		const query = "SELECT arraySort(groupArray(concat(name, ' ', toString(total_rows), ' ', create_table_query))) FROM system.tables WHERE database = currentDatabase()"
		for _, line := range clickhousetest.Ask[[]string](t, conn, query) {
			lines = append(lines, strings.ReplaceAll(line, conn.Database()+".", "db."))
		}
		return lines
	}
	migrated, copied := describe(clickhousetest.Open(t)), describe(clickhousetest.Open(t))
	if len(migrated) < 20 || len(copied) != len(migrated) {
		t.Fatalf("%d tables migrated, %d copied", len(migrated), len(copied))
	}
	for n := range migrated {
		if copied[n] != migrated[n] {
			t.Errorf("copied:\n%s\nmigrated:\n%s", copied[n], migrated[n])
		}
	}
}
