package chdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHeldWrites checks that held writes refuse inserts and merges, and nothing else, until they are released.
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

// TestDamagedPartsAreFound checks parts as a merge on a full disk leaves them, a part that the engine detached, and
// complete parts of the engine itself.
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
	copyPart("detached/all_8_8_0") // detached by an operator
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

// TestSourcesOfMergesAreKept merges parts while sources are retained, then allows the cleanup again. Sources older than
// their usual lifetime are then removed.
func TestSourcesOfMergesAreKept(t *testing.T) {
	c := client(t)
	t.Cleanup(func() {
		if err := testEngine.command("SYSTEM START CLEANUP"); err != nil {
			t.Error(err)
		}
	})
	sources := func(table string) uint64 {
		t.Helper()
		return one[uint64](t, c, "SELECT count() FROM system.parts WHERE database = currentDatabase() AND table = '"+table+"' AND NOT active")
	}
	for _, table := range []string{"let_go", "kept"} { // both tables must exist when cleaning stops, because it stops table by table
		run(t, c, "CREATE TABLE "+table+" (n UInt64) ENGINE = MergeTree ORDER BY n SETTINGS old_parts_lifetime = 1, merge_tree_clear_old_parts_interval_seconds = 1, "+
			"cleanup_delay_period = 1, max_cleanup_delay_period = 1, cleanup_delay_period_random_add = 0, cleanup_thread_preferred_points_per_iteration = 0")
	}
	merge := func(table string) {
		t.Helper()
		run(t, c, "INSERT INTO "+table+" SELECT 1", "INSERT INTO "+table+" SELECT 2", "OPTIMIZE TABLE "+table+" FINAL")
	}
	removed := func(table string) time.Duration {
		t.Helper()
		began := time.Now()
		for sources(table) > 0 {
			if time.Since(began) > time.Minute {
				t.Fatalf("the sources of %s are there after a minute", table)
			}
			time.Sleep(20 * time.Millisecond) // the engine removes them in the background, without a notice
		}
		return time.Since(began)
	}
	merge("let_go")
	took := removed("let_go")
	if err := testEngine.KeepSources(); err != nil {
		t.Fatal(err)
	}
	merge("kept")
	for began := time.Now(); time.Since(began) < 2*took; time.Sleep(20 * time.Millisecond) {
		if n := sources("kept"); n != 2 {
			t.Fatalf("%d sources are there %s after the merge, want 2", n, time.Since(began))
		}
	}
	if err := testEngine.command("SYSTEM START CLEANUP"); err != nil {
		t.Fatal(err)
	}
	removed("kept")
}

// TestACutPartIsFound cuts off the end of a file in a part. The engine leaves such a file if the disk fills up during a
// merge: it drops the error of the last write and accepts the part.
func TestACutPartIsFound(t *testing.T) {
	c := client(t)
	for table, settings := range map[string]string{"compact": "min_bytes_for_wide_part = 1000000000", "wide": "min_bytes_for_wide_part = 0"} {
		run(t, c, "CREATE TABLE "+table+" (n UInt64, s LowCardinality(String), PROJECTION p (SELECT s, count() GROUP BY s)) ENGINE = MergeTree ORDER BY n SETTINGS "+settings,
			"INSERT INTO "+table+" SELECT number, toString(number % 7) FROM numbers(1000)", "INSERT INTO "+table+" SELECT number, toString(number % 7) FROM numbers(1000)", "OPTIMIZE TABLE "+table+" FINAL")
		source := one[string](t, c, "SELECT path FROM system.parts WHERE database = currentDatabase() AND table = '"+table+"' AND active")
		dir := t.TempDir()
		part := filepath.Join(dir, "store", "abc", "abcdef", "all_1_2_1")
		if err := os.CopyFS(part, os.DirFS(source)); err != nil {
			t.Fatal(err)
		}
		if err := CheckParts(dir); err != nil {
			t.Fatalf("a whole %s part: %v", table, err)
		}
		data, err := filepath.Glob(filepath.Join(part, "*.bin"))
		if err != nil || len(data) == 0 {
			t.Fatalf("%d files of data, %v", len(data), err)
		}
		info, err := os.Stat(data[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(data[0], info.Size()-1); err != nil {
			t.Fatal(err)
		}
		var damage *DamageError
		want := fmt.Sprintf("%s has %d of %d bytes", filepath.Base(data[0]), info.Size()-1, info.Size())
		if err := CheckParts(dir); !errors.As(err, &damage) || len(damage.Parts) != 1 || damage.Parts[0].Reason != want {
			t.Errorf("a cut %s part: %v, want %s", table, err, want)
		}
		if err := os.Remove(data[0]); err != nil {
			t.Fatal(err)
		}
		if err := CheckParts(dir); err == nil {
			t.Errorf("a %s part without %s is taken for whole", table, filepath.Base(data[0]))
		}
	}
}
