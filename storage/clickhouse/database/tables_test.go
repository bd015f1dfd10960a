package database_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documented returns the tables of storage/doc.go with what they are ordered by and whether they
// have a part for each month.
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

// TestTheTableOfTablesIsTrue holds storage/doc.go to the schema.
func TestTheTableOfTablesIsTrue(t *testing.T) {
	db := open(t)
	const query = `SELECT groupArray(format('{}={} | {}', name, if(sorting_key = '', '-', sorting_key), multiIf(partition_key = '', '-', partition_key = 'file', 'file', 'month')))
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
