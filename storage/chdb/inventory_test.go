package chdb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// noted returns the current parts of a table.
func noted(t *testing.T, c driver.Conn, table string) (parts []NotedPart) {
	t.Helper()
	rows, err := c.Query(deadline(t), "SELECT p.table, toString(t.uuid), p.name, p.rows FROM system.parts AS p INNER JOIN system.tables AS t ON t.database = p.database AND t.name = p.table WHERE p.database = currentDatabase() AND p.active AND p.table = '"+table+"'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var part NotedPart
		if err := rows.Scan(&part.Table, &part.UUID, &part.Name, &part.Rows); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	return parts
}

// TestWhatWasDeletedIsNotMissing deletes all rows of a part, at once and by marking them, and waits until the engine
// has dropped the part. The part is not missing, whether or not it had rows when it was noted. A part that is lost
// afterwards is missing.
func TestWhatWasDeletedIsNotMissing(t *testing.T) {
	c := client(t)
	const quick = "old_parts_lifetime = 1, merge_tree_clear_old_parts_interval_seconds = 1, cleanup_delay_period = 1, max_cleanup_delay_period = 1, cleanup_delay_period_random_add = 0, cleanup_thread_preferred_points_per_iteration = 0"
	for name, remove := range map[string][]string{
		"mutated": {"ALTER TABLE %s DELETE WHERE p = 1 SETTINGS mutations_sync = 1"},
		"marked":  {"DELETE FROM %s WHERE p = 1 SETTINGS lightweight_deletes_sync = 1", "OPTIMIZE TABLE %s PARTITION 1 FINAL"},
	} {
		t.Run(name, func(t *testing.T) {
			table := "removed_" + name
			run(t, c, "CREATE TABLE "+table+" (p UInt64, n UInt64) ENGINE = MergeTree PARTITION BY p ORDER BY n SETTINGS "+quick,
				"INSERT INTO "+table+" SELECT 1, number FROM numbers(10)", "INSERT INTO "+table+" SELECT 2, number FROM numbers(10)")
			before := noted(t, c, table)
			for _, statement := range remove {
				run(t, c, fmt.Sprintf(statement, table))
			}
			emptied := noted(t, c, table)
			for began := time.Now(); ; time.Sleep(50 * time.Millisecond) { // the engine drops the part in the background, without a notice
				lying, err := listParts(tableDir(testEngine.dir, before[0].UUID))
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(lying, func(p part) bool { return p.partition == "1" }) {
					break
				}
				if time.Since(began) > time.Minute {
					t.Fatalf("the part is there after a minute: %v", lying)
				}
			}
			for _, parts := range [][]NotedPart{before, emptied} {
				if missing, err := MissingParts(testEngine.dir, parts, time.Now()); err != nil || len(missing) > 0 {
					t.Errorf("%v are missing of %v, %v", missing, parts, err)
				}
			}
			run(t, c, "INSERT INTO "+table+" SELECT 3, number FROM numbers(10)")
			for _, part := range noted(t, c, table) { // one part that was mutated, and one that was inserted later
				part.Name = strings.Replace(part.Name, "_", "0_", 1) // a partition that does not exist
				if missing, err := MissingParts(testEngine.dir, []NotedPart{part}, time.Now()); err != nil || len(missing) != 1 {
					t.Errorf("%v are missing of the lost part %v, %v", missing, part, err)
				}
			}
		})
	}
}
