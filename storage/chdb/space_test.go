package chdb

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHeldWrites refuses inserts and merges, and nothing else, until they are let go.
func TestHeldWrites(t *testing.T) {
	c := client(t)
	run(t, c, "CREATE TABLE held (n UInt64) ENGINE = MergeTree ORDER BY n", "INSERT INTO held SELECT 1", "INSERT INTO held SELECT 2")
	if err := testEngine.HoldWrites(true); err != nil {
		t.Fatal(err)
	}
	wantCode(t, c.Exec(deadline(t), "INSERT INTO held SELECT 3"), codeNotEnoughSpace)
	batch, err := c.PrepareBatch(deadline(t), "INSERT INTO held")
	if err != nil {
		t.Fatal(err)
	}
	if err := batch.Append(uint64(4)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, batch.Send(), codeNotEnoughSpace)
	const aborted = 236
	wantCode(t, c.Exec(deadline(t), "OPTIMIZE TABLE held FINAL"), aborted)
	if n := one[uint64](t, c, "SELECT count() FROM held"); n != 2 {
		t.Errorf("%d rows are read, want 2", n)
	}
	if err := testEngine.HoldWrites(false); err != nil {
		t.Fatal(err)
	}
	run(t, c, "INSERT INTO held SELECT 5", "OPTIMIZE TABLE held FINAL")
	if n := one[uint64](t, c, "SELECT count() FROM held"); n != 3 {
		t.Errorf("%d rows are read, want 3", n)
	}
}

// TestDamagedPartsAreFound has parts as a merge on a full disk left them, and one that the engine
// set aside, beside whole ones of the engine itself.
func TestDamagedPartsAreFound(t *testing.T) {
	c := client(t)
	run(t, c, "CREATE TABLE whole (n UInt64) ENGINE = MergeTree ORDER BY n", "INSERT INTO whole SELECT number FROM numbers(1000)",
		"CREATE TABLE emptied (n UInt64) ENGINE = MergeTree ORDER BY n", "INSERT INTO emptied SELECT 1", "TRUNCATE TABLE emptied")
	if err := testEngine.CheckParts(); err != nil {
		t.Errorf("the folder of a sound engine: %v", err)
	}
	source := one[string](t, c, "SELECT path FROM system.parts WHERE database = currentDatabase() AND table = 'whole' AND active")
	dir := t.TempDir()
	table := filepath.Join(dir, "store", "abc", "abcdef")
	copyPart := func(name string) string {
		path := filepath.Join(table, name)
		if err := os.CopyFS(path, os.DirFS(source)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	copyPart("all_1_1_0")
	copyPart("tmp_merge_all_1_2_1") // not committed
	if err := CheckParts(dir); err != nil {
		t.Errorf("a whole part: %v", err)
	}
	all := copyPart("all_2_3_1")
	files, err := os.ReadDir(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.Truncate(filepath.Join(all, file.Name()), 0); err != nil {
			t.Fatal(err)
		}
	}
	columns := copyPart("all_4_5_1")
	for _, pattern := range []string{"*.bin", "*.cbin"} {
		matches, _ := filepath.Glob(filepath.Join(columns, pattern))
		for _, file := range matches {
			if err := os.Truncate(file, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Remove(filepath.Join(copyPart("all_6_6_0"), "count.txt")); err != nil {
		t.Fatal(err)
	}
	copyPart("detached/broken-on-start_all_7_7_0")
	copyPart("detached/all_8_8_0") // by an operator
	var damage *DamageError
	err = CheckParts(dir)
	if !errors.As(err, &damage) || len(damage.Parts) != 4 {
		t.Fatalf("found %v, want four damaged parts", err)
	}
	for _, want := range []string{"all_2_3_1 (checksums.txt is empty)", "all_4_5_1 (its columns are empty)", "all_6_6_0 (count.txt is missing)", "broken-on-start_all_7_7_0 (set aside"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if _, err := openEngine(dir); !errors.As(err, &damage) {
		t.Errorf("a start with damaged parts: %v", err)
	}
}
