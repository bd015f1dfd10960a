package backup_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"svc/storage/clickhouse/clickhousetest"
)

// TestPartsOfExportsAreNotListed writes a fact and a row of an export: the fact's part is listed with its rows, the export's, which is
// dropped with its file, is not.
func TestPartsOfExportsAreNotListed(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := db.ReplaceFact(deadline(t), "log", "a log"); err != nil {
		t.Fatal(err)
	}
	clickhousetest.Exec(t, db.Conn, "INSERT INTO export_rows SELECT 'file', 1, 1, '{}', now() + 3600")
	if got := ask[uint64](t, db, "SELECT count() FROM system.parts WHERE database = currentDatabase() AND table = 'export_rows' AND active"); got != 1 {
		t.Fatalf("the export has %d parts, want 1", got)
	}
	rows := map[string]uint64{}
	if err := db.Parts(deadline(t), func(table, _, _ string, count uint64, _ time.Time) { rows[table] += count }); err != nil {
		t.Fatal(err)
	}
	if _, listed := rows["export_rows"]; listed || rows["installation"] == 0 {
		t.Errorf("parts are listed of %v: those of installation are wanted, those of export_rows are not", slices.Sorted(maps.Keys(rows)))
	}
}
