package database_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain/event"
	"svc/storage/clickhouse/clickhousetest"
)

// documented returns the tables of storage/doc.go, with their order and their parts.
func documented(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "//\ttable ")
	if !found {
		t.Fatal("storage/doc.go has no table of tables")
	}
	gap := regexp.MustCompile(` {2,}`)
	tables := map[string]string{}
	for line := range strings.Lines(list) {
		if row, isRow := strings.CutPrefix(line, "//\t"); isRow {
			cells := gap.Split(strings.TrimSpace(row), -1)
			if len(cells) != 5 {
				t.Fatalf("the row %q has %d cells", row, len(cells))
			}
			tables[cells[0]] = cells[1] + " | " + cells[2]
		}
	}
	return tables
}

// TestTheTableOfTablesIsTrue compares storage/doc.go with the schema.
func TestTheTableOfTablesIsTrue(t *testing.T) {
	db := open(t)
	const query = `SELECT groupArray(format('{}={} | {}', name, if(sorting_key = '', '-', sorting_key), multiIf(partition_key = '', '-', partition_key IN ('file', 'number'), partition_key, 'month')))
		FROM system.tables WHERE database = currentDatabase() AND engine != 'MaterializedView'`
	there := map[string]string{}
	for _, row := range ask[[]string](t, db, query) {
		name, order, _ := strings.Cut(row, "=")
		there[name] = order
	}
	written := documented(t)
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if written[name] != there[name] {
			t.Errorf("%s is %q, storage/doc.go has %q", name, there[name], written[name])
		}
	}
	for name := range written {
		if there[name] == "" {
			t.Errorf("storage/doc.go has %s, which is no table", name)
		}
	}
}

// TestAKilledReplacementLeavesNothing repeats the migration that recreates tables, after a kill that left its
// unfinished copies, and compares the rows.
func TestAKilledReplacementLeavesNothing(t *testing.T) {
	db := open(t)
	b, at := hourly(t, db, time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), 30), time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	told := clickhousetest.Row(7, at, "told", "u1", "s30")
	told.Name, told.Properties = event.IdentifyEvent, []byte(`{"plan":"pro","seats":3,"$set_once":{"first":1}}`)
	b.Append(told)
	insert(t, db, b)
	const rows = `SELECT arrayMap(x -> toUInt64(assumeNotNull(x)), [(SELECT groupBitXor(cityHash64(visitor, id, finalizeAggregation(sessions), finalizeAggregation(first_touch), finalizeAggregation(last_touch), finalizeAggregation(place))) FROM arrivals FINAL),
		(SELECT groupBitXor(cityHash64(visitor, identified, email, toString(mapSort(traits)), toString(mapSort(once)))) FROM traits FINAL), (SELECT count() FROM arrivals FINAL), (SELECT sum(length(traits)) FROM traits FINAL)])`
	want := ask[[]uint64](t, db, rows)
	for _, statement := range []string{
		"CREATE TABLE _tmp_replace_1 AS arrivals", "INSERT INTO _tmp_replace_1 SELECT * FROM arrivals",
		"CREATE MATERIALIZED VIEW _tmp_replace_2 TO arrivals AS SELECT environment, visitor, any(id) AS id FROM events GROUP BY environment, visitor",
		"ALTER TABLE migrations DELETE WHERE name = '20261126_50_people_granules' SETTINGS mutations_sync = 1",
	} {
		exec(t, db, statement)
	}
	openNamed(t, db.Database())
	if left := ask[[]string](t, db, "SELECT groupArray(name) FROM system.tables WHERE database = currentDatabase() AND name LIKE '%replace%'"); len(left) > 0 {
		t.Errorf("there are still %q", left)
	}
	if got := ask[[]uint64](t, db, rows); !slices.Equal(got, want) || got[2] != 5 || got[3] != 2 {
		t.Errorf("after the second migration the rows are %d, want %d", got, want)
	}
	// Later inserts must reach the recreated tables.
	later := db.NewBlock()
	later.Append(clickhousetest.Row(7, at, "later", "u9", "s31"))
	if err := db.Insert(deadline(t), "t2", 2, later); err != nil {
		t.Fatal(err)
	}
	if got := ask[[]uint64](t, db, rows); got[2] != want[2]+1 {
		t.Errorf("%d visitors after another one, %d before", got[2], want[2])
	}
}
