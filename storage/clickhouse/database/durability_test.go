package database_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/database"
	"svc/storage/clickhouse/state"
)

// TestAStartAltersNoTableThatIsAsItShallBe opens a database again. With the same durability no table definition is
// written. With the other one, the definitions of all tables that sync their inserts are written.
func TestAStartAltersNoTableThatIsAsItShallBe(t *testing.T) {
	name := clickhousetest.Name()
	before := definitions(t, openDurable(t, name, true))
	db := openDurable(t, name, true)
	all := ask[[]string](t, db, "SELECT groupArray(name) FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'")
	for _, table := range all {
		_, forced := before[table]
		if mayBeLost := table == "checks" || table == "upload_chunks"; forced == mayBeLost {
			t.Errorf("%s is forced to disk: %t", table, forced)
		}
	}
	for table, changed := range definitions(t, openDurable(t, name, true)) {
		if !changed.Equal(before[table]) {
			t.Errorf("the second start altered %s", table)
		}
	}
	if forced := definitions(t, openDurable(t, name, false)); len(forced) != 1 { // installation is synced in every case
		t.Errorf("after a start without durability these are forced to disk: %v", forced)
	}
	if forced := definitions(t, openDurable(t, name, true)); len(forced) != len(before) {
		t.Errorf("after a start with durability %d tables are forced to disk, of %d", len(forced), len(before))
	}
}

func openDurable(t *testing.T, name string, durable bool) *database.DB {
	t.Helper()
	db, err := database.Open(deadline(t), clickhouse.Config{Engine: clickhousetest.Engine(), Database: name, Durable: durable}, state.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// definitions returns the time of the last definition of each table that syncs its inserts.
func definitions(t *testing.T, db *database.DB) map[string]time.Time {
	t.Helper()
	changed := map[string]time.Time{}
	query := "SELECT name, engine_full, metadata_path FROM system.tables WHERE database = currentDatabase()"
	err := db.ReadUnflushed(deadline(t), "reading definitions", query, nil, func(rows driver.Rows) (bool, error) {
		var table, engine, path string
		if err := rows.Scan(&table, &engine, &path); err != nil || !strings.Contains(engine, "fsync_after_insert = 1") {
			return true, err
		}
		file, err := os.Stat(filepath.Join(clickhousetest.Dir(), path))
		if err == nil {
			changed[table] = file.ModTime()
		}
		return true, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return changed
}
