package database_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain/metric"
	"svc/domain/occurrence"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/database"
	"svc/storage/clickhouse/state"
)

// countedTargets returns, for each target of a view, a query for a number that grows if a block is folded into the
// target again. Targets with only minimum, maximum and any values have none.
func countedTargets() map[string]string {
	return map[string]string{
		"traffic":        "SELECT toUInt64(sum(events)) FROM traffic",
		"visits":         "SELECT sum(events) FROM visits",
		"names":          "SELECT sum(events) FROM names",
		"event_counts":   "SELECT sum(events) FROM event_counts",
		"issues":         "SELECT sum(events) FROM issues",
		"issue_users":    "SELECT count() FROM issue_users",
		"issue_releases": "SELECT sum(events) FROM issue_releases",
		"metric_rollups": "SELECT sum(count) FROM metric_rollups",
		"metric_totals":  "SELECT sum(count) FROM metric_totals",
		"metric_hours":   "SELECT sum(count) FROM metric_hours",
		"profiles":       "SELECT sum(events) FROM profiles",
		"newcomers":      "", "metric_series": "", "arrivals": "", "entries": "", "traits": "", "links": "", "aliases": "",
	}
}

// countTargets reads the numbers of countedTargets. It fails if a view writes into another table.
func countTargets(t *testing.T, db *database.DB) map[string]uint64 {
	t.Helper()
	targets := countedTargets()
	views := ask[[]string](t, db, "SELECT groupArray(name) FROM system.tables WHERE database = currentDatabase() AND engine = 'MaterializedView'")
	for _, view := range views {
		if target, _, _ := strings.Cut(view, "_of_"); !slices.Contains(slices.Collect(maps.Keys(targets)), target) {
			t.Errorf("the view %s writes into a table that this test does not count", view)
		}
	}
	counted := map[string]uint64{}
	for target, query := range targets {
		if query != "" {
			counted[target] = ask[uint64](t, db, query)
		}
	}
	return counted
}

// TestViewsFollowWhatIsInsertedAgain checks that materialized views read only tables with a writer that repeats an
// interrupted insert under its token until it is complete, even after a crash. Only the insert of blocks does. Data
// that is derived from other tables is a projection, or is computed by the read.
func TestViewsFollowWhatIsInsertedAgain(t *testing.T) {
	db := open(t)
	repeated := []string{"events", "occurrences", "metric_points", "metric_seen", "metric_totals"} // a view fills the last table
	const query = "SELECT groupArray(name) FROM system.tables WHERE database = currentDatabase() AND arrayExists(d -> d IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'MaterializedView'), dependencies_table)"
	for _, table := range ask[[]string](t, db, query) {
		if !slices.Contains(repeated, table) {
			t.Errorf("a materialized view reads %s, whose interrupted inserts nobody completes", table)
		}
	}
}

// everything returns a block with rows of every kind.
func everything(t *testing.T, db *database.DB) *block.Block {
	t.Helper()
	b := hourly(t, db, time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC), 300)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i := range 300 {
		at, word := now.Add(-time.Duration(i)*time.Hour), fmt.Sprint(i%12)
		b.AppendOccurrence(&occurrence.Row{
			EnvironmentNumber: 7, Fingerprint: word, Issue: occurrence.IssueNumber(7, word), RetentionDays: 365,
			Occurrence: occurrence.Occurrence{ID: fmt.Sprint(i), Ts: at, ReceivedAt: at, Level: occurrence.LevelError, Name: "E", Release: word, DistinctID: word},
		})
		b.AppendMetric(&metric.Row{
			Environment: 7, Name: "latency", Series: uint64(i % 6), Kind: metric.MetricHistogram, Unit: "ms", Ts: at, ReceivedAt: now, RetentionDays: 90,
			Totals: metric.Totals{Count: 1, Sum: float64(i), Min: float64(i), Max: float64(i)},
		})
	}
	return b
}

// TestTokensOutliveUpgrades inserts one block before and after each migration that replaces views.
func TestTokensOutliveUpgrades(t *testing.T) {
	db := open(t)
	b := everything(t, db)
	insert(t, db, b)
	want := countTargets(t, db)
	files, err := filepath.Glob("../migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "OR REPLACE") {
			continue
		}
		clickhousetest.ExecAll(t, db.Conn, string(text))
		insert(t, db, b)
		if got := countTargets(t, db); !maps.Equal(got, want) {
			t.Errorf("after %s:\n got %v\nwant %v", file, got, want)
		}
	}
}

// TestTokensOutliveRestarts inserts one block, and inserts it again after every restart of the engine.
func TestTokensOutliveRestarts(t *testing.T) {
	const name = "restarted"
	var want map[string]uint64
	for life := range 3 {
		if life > 0 {
			clickhousetest.Restart(t)
		}
		db, err := database.Open(deadline(t), clickhouse.Config{Engine: clickhousetest.Engine(), Database: name}, state.Config{})
		if err != nil {
			t.Fatal(err)
		}
		b := everything(t, db)
		for range 2 {
			insert(t, db, b)
			if want == nil {
				want = countTargets(t, db)
			}
			if got := countTargets(t, db); !maps.Equal(got, want) {
				t.Errorf("life %d:\n got %v\nwant %v", life+1, got, want)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMigrationsReplaceViews finds views that a migration alters instead of replacing: see 20261122_10_repeated_blocks.
func TestMigrationsReplaceViews(t *testing.T) {
	files, err := filepath.Glob("../migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(clickhousetest.Statement(string(text)), "MODIFY QUERY") {
			t.Errorf("%s alters a view: use CREATE OR REPLACE MATERIALIZED VIEW", file)
		}
	}
}

// TestUpgradeOfRepeatedBlocks stores one block twice in names and visits and another one not at all, as interrupted
// inserts do. It then opens the database with the current program.
func TestUpgradeOfRepeatedBlocks(t *testing.T) {
	const name = "repeated"
	db := openNamed(t, name)
	insert(t, db, hourly(t, db, time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC), 300))
	want := stored(t, db)
	exec(t, db, "INSERT INTO names SELECT * FROM names LIMIT 40")
	exec(t, db, "INSERT INTO visits SELECT * FROM visits")
	exec(t, db, "ALTER TABLE migrations DELETE WHERE name = '20261122_10_repeated_blocks' SETTINGS mutations_sync = 1")
	for range 2 {
		again := openNamed(t, name)
		if got := stored(t, again); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	exec(t, db, "ALTER TABLE names DELETE WHERE visitor IN (SELECT visitor FROM names LIMIT 1) SETTINGS mutations_sync = 1")
	missing := ask[uint64](t, db, "SELECT sum(events) FROM names")
	exec(t, db, "ALTER TABLE migrations DELETE WHERE name = '20261122_10_repeated_blocks' SETTINGS mutations_sync = 1")
	openNamed(t, name)
	if got := ask[uint64](t, db, "SELECT sum(events) FROM names"); got != missing {
		t.Errorf("names count %d events, want %d: what is missing comes with its block", got, missing)
	}
}

// TestAStoreOfANewerVersionIsRefused opens a database with unknown migrations. The start fails with an error that names
// them, and nothing is migrated. Migrations of early versions without a file are known.
func TestAStoreOfANewerVersionIsRefused(t *testing.T) {
	const name = "newer"
	db := openNamed(t, name)
	exec(t, db, "INSERT INTO migrations (name) VALUES ('20260101_10_renamed'), ('20270101_10_one'), ('20270101_20_two'), ('20270101_30_three')")
	before := ask[uint64](t, db, "SELECT count() FROM migrations")
	exec(t, db, "ALTER TABLE migrations DELETE WHERE name = '20261122_10_repeated_blocks' SETTINGS mutations_sync = 1")
	_, err := database.Open(deadline(t), clickhouse.Config{Engine: clickhousetest.Engine(), Database: name}, state.Config{})
	if !errors.Is(err, clickhouse.ErrNewer) || !strings.Contains(err.Error(), "migrations 20260101_10_renamed, 20270101_10_one, 20270101_20_two and 1 more") {
		t.Errorf("got %v", err)
	}
	if got := ask[uint64](t, db, "SELECT count() FROM migrations"); got != before-1 {
		t.Errorf("%d migrations are recorded, want %d", got, before-1)
	}
	exec(t, db, "ALTER TABLE migrations DELETE WHERE name NOT LIKE '20261%' SETTINGS mutations_sync = 1")
	exec(t, db, "INSERT INTO migrations (name) VALUES ('20261120_05_occurrences')")
	openNamed(t, name)
}
