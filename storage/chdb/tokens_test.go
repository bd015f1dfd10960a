package chdb

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGrownLogsAreForced grows, adds and removes deduplication logs.
func TestGrownLogsAreForced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "store", "abc", "abc-def", "deduplication_logs")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	logs, forced := newTokenLogs(dir), []string{}
	var broken error
	logs.sync = func(name string) error {
		forced = append(forced, filepath.Base(name))
		return broken
	}
	expect := func(when string, failure error, want ...string) {
		t.Helper()
		forced = nil
		if err := logs.force(); !errors.Is(err, failure) || !slices.Equal(forced, want) {
			t.Errorf("%s: forced %v, %v; want %v, %v", when, forced, err, want, failure)
		}
	}
	expect("without a log", nil)
	write("deduplication_log_1.txt", "1\ta\tb\n")
	expect("with a new log", nil, "deduplication_log_1.txt", "deduplication_logs")
	expect("unchanged", nil)
	write("deduplication_log_1.txt", "1\ta\tb\n1\tc\td\n")
	broken = errors.New("the disk is broken")
	expect("grown on a broken disk", broken, "deduplication_log_1.txt")
	broken = nil
	expect("repeated", nil, "deduplication_log_1.txt")
	expect("unchanged again", nil)
	write("deduplication_log_2.txt", "1\te\tf\n")
	if err := os.Remove(filepath.Join(folder, "deduplication_log_1.txt")); err != nil {
		t.Fatal(err)
	}
	expect("with another log", nil, "deduplication_log_2.txt", "deduplication_logs")
	if err := (*tokenLogs)(nil).force(); err != nil {
		t.Error(err)
	}
}

// TestATokenIsForcedBeforeItsInsertIsAnswered inserts into a table with a view while the disk refuses to sync, and
// repeats the insert.
func TestATokenIsForcedBeforeItsInsertIsAnswered(t *testing.T) {
	c := client(t)
	run(t, c,
		"CREATE TABLE rows (n UInt64) ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 100",
		"CREATE TABLE sums (n UInt64) ENGINE = SummingMergeTree ORDER BY tuple() SETTINGS non_replicated_deduplication_window = 100",
		"CREATE MATERIALIZED VIEW rows_to_sums TO sums AS SELECT sum(n) AS n FROM rows",
	)
	h := newHandler(testEngine.pool, nil, func() bool { return false })
	h.tokens = newTokenLogs(testEngine.dir)
	var broken error
	forced := map[string]int64{}
	h.tokens.sync = func(name string) error {
		info, err := os.Stat(name)
		if err == nil && broken == nil {
			forced[name] = info.Size()
		}
		return errors.Join(err, broken)
	}
	insert := func() int {
		values := url.Values{
			"database": {one[string](t, c, "SELECT currentDatabase()")}, "query": {"INSERT INTO rows FORMAT CSV"},
			"insert_deduplication_token": {"token"}, "deduplicate_blocks_in_dependent_materialized_views": {"1"},
		}
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/?"+values.Encode(), strings.NewReader("1\n2\n")))
		return answer.Code
	}
	broken = errors.New("the disk is broken")
	if code := insert(); code == http.StatusOK {
		t.Error("an insert is acknowledged whose token may be lost")
	}
	broken = nil
	for range 2 {
		if code := insert(); code != http.StatusOK {
			t.Fatalf("the insert is answered with %d", code)
		}
	}
	for _, table := range []string{"rows", "sums"} {
		uuid := one[string](t, c, "SELECT toString(uuid) FROM system.tables WHERE database = currentDatabase() AND name = '"+table+"'")
		logs, err := filepath.Glob(filepath.Join(testEngine.TableDir(uuid), "deduplication_logs", "*.txt"))
		if err != nil || len(logs) == 0 {
			t.Fatalf("%s has no log, %v", table, err)
		}
		for _, log := range logs {
			if info, err := os.Stat(log); err != nil || forced[log] != info.Size() {
				t.Errorf("of %d bytes of the tokens of %s %d are forced, %v", info.Size(), table, forced[log], err)
			}
		}
	}
	if rows, sum := one[uint64](t, c, "SELECT count() FROM rows"), one[uint64](t, c, "SELECT sum(n) FROM sums"); rows != 2 || sum != 3 {
		t.Errorf("%d rows with the sum %d, want 2 with 3", rows, sum)
	}
}
