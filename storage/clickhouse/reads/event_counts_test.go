package reads

import (
	"testing"

	"svc/storage/clickhouse/clickhousetest"
)

// TestUpgradeOfEventCounts stores rows in the form before they were counted. It then upgrades twice, like a node that
// died before the migration was recorded, and stores the other rows.
func TestUpgradeOfEventCounts(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	exec(t, db, "DROP TABLE event_counts_of_events SYNC")
	exec(t, db, "DROP TABLE event_counts SYNC")
	half := len(rows) / 2
	store(t, db, rows[:half], 500)
	for range 2 {
		exec(t, db, "TRUNCATE TABLE migrations")
		openNamed(t, db.conn.Database())
	}
	b := db.NewBlock()
	for i := half; i < len(rows); i++ {
		b.Append(&rows[i])
	}
	insert(t, db, "after the upgrade", uint64(len(rows)), b)
	for i, goals := range goalSets() {
		scope := scopes(t, rows)[i]
		got, err := db.Overview(deadline(t), scope, goals)
		if err != nil {
			t.Fatal(err)
		}
		if want := (model{rows}).headline(scope, goals); got.Current != want {
			t.Errorf("goals %v:\n got %+v\nwant %+v", goals, got.Current, want)
		}
	}
}
