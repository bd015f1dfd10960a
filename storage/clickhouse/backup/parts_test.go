package backup_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"svc/storage/clickhouse/clickhousetest"
)

// TestPartsThatAreDroppedAreNotListed writes a fact, a row of an export and a folded person. The part of the fact is
// listed with its rows. The other parts are not listed, because a running node drops them.
func TestPartsThatAreDroppedAreNotListed(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := db.ReplaceFact(deadline(t), "log", "a log"); err != nil {
		t.Fatal(err)
	}
	clickhousetest.Exec(t, db.Conn, "INSERT INTO export_rows SELECT 'file', 1, 1, '{}', now() + 3600")
	clickhousetest.Exec(t, db.Conn, "INSERT INTO person_folds (number, person) SELECT 1, 1")
	if got := ask[uint64](t, db, "SELECT count() FROM system.parts WHERE database = currentDatabase() AND table IN ('export_rows', 'person_folds') AND active"); got != 2 {
		t.Fatalf("the export and the person have %d parts, want 2", got)
	}
	rows := map[string]uint64{}
	if err := db.Parts(deadline(t), func(table, _, _ string, count uint64, _ time.Time) { rows[table] += count }); err != nil {
		t.Fatal(err)
	}
	if rows["export_rows"]+rows["person_folds"] > 0 || rows["installation"] == 0 {
		t.Errorf("parts are listed of %v: those of installation are wanted, those of export_rows and person_folds are not", slices.Sorted(maps.Keys(rows)))
	}
}
