package reads

import (
	"os"
	"testing"

	"svc/domain/analytics"
	"svc/storage/clickhouse/clickhousetest"
)

// TestUpgradeOfHashes stores rows with the tables as they were before they had the hashes of visitors and sessions. It
// reads these rows, and later ones, with the current tables.
func TestUpgradeOfHashes(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	first, err := os.ReadFile("../migrations/20261120_01_events.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, view := range []string{"visits", "names", "aliases", "links", "arrivals", "entries", "traits", "profiles", "newcomers"} {
		exec(t, db, "DROP TABLE "+view+"_of_events SYNC")
	}
	for _, view := range []string{"aliases_of_split_events", "links_of_split_events", "arrivals_of_guests"} {
		exec(t, db, "DROP TABLE "+view+" SYNC")
	}
	for _, statement := range []string{
		"ALTER TABLE events DROP INDEX visitors, DROP COLUMN counted, DROP COLUMN visitor, DROP COLUMN session", "ALTER TABLE events ADD COLUMN session UInt64", "TRUNCATE TABLE migrations",
	} {
		exec(t, db, statement)
	}
	clickhousetest.ExecAll(t, db.conn, string(first))
	half := len(rows) / 2
	store(t, db, rows[:half], half)
	openNamed(t, db.conn.Database()) // with the current tables
	b := db.NewBlock()
	for n := half; n < len(rows); n++ {
		b.Append(&rows[n])
	}
	insert(t, db, "after the upgrade", uint64(len(rows)+1), b)
	m := model{rows}
	for _, merged := range []bool{false, true} {
		if merged {
			exec(t, db, "OPTIMIZE TABLE events FINAL")
		}
		for _, f := range filters() {
			scope := scopes(t, rows)[1]
			// Visits of bots that were under way at the upgrade count twice, because they became separate visits.
			scope.Filters, scope.IncludeBots = f, false
			got, err := db.Overview(deadline(t), scope, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := m.headline(scope, nil); got.Current != want {
				t.Errorf("merged %t, filters %q:\n got %+v\nwant %+v", merged, f, got.Current, want)
			}
			names, err := db.Names(deadline(t), analytics.EventNamesQuery{Scope: scope, Limit: 1}, nil)
			if err != nil || len(f) == 0 && len(names.Rows) != 1 {
				t.Errorf("%+v, %v", names, err)
			}
		}
	}
}
