package chdb

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// childRange names the environment variable with the first and the last block that a child inserts, as "first last".
const childRange = "SVC_CHDB_TEST_BLOCKS"

// runChild opens dir in its own process and inserts the blocks of childRange, each with its own token. It prints the
// number of each acknowledged block, and at the end the content of the tables.
func runChild(dir string) int {
	if err := insertBlocks(dir); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return 0
}

func insertBlocks(dir string) error {
	var first, last int
	if _, err := fmt.Sscan(os.Getenv(childRange), &first, &last); err != nil {
		return err
	}
	e, err := openEngine(dir)
	if err != nil {
		return err
	}
	c, err := openClient(e, "", nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for _, s := range killTables() {
		if err := c.Exec(ctx, s); err != nil {
			return err
		}
	}
	for block := first; block <= last; block++ {
		if err := insertBlock(ctx, c, block); err != nil {
			return err
		}
		if err := c.Exec(ctx, "INSERT INTO kill_journal VALUES (?, 'x')", fmt.Sprint(block)); err != nil {
			return err
		}
		fmt.Println("block", block)
	}
	var state string
	if err := c.QueryRow(ctx, `SELECT concat('rows ', toString((SELECT count() FROM kill_source)),
		', blocks ', toString((SELECT uniqExact(key) FROM kill_source)), ', sum ', toString((SELECT sum(n) FROM kill_sums)),
		', journal ', toString((SELECT count() FROM kill_journal)),
		', parts lost ', toString((SELECT count() FROM system.detached_parts)))`).Scan(&state); err != nil {
		return err
	}
	fmt.Println("state", state)
	return closeAndReopen(e, dir)
}

func killTables() []string {
	return []string{
		"CREATE TABLE IF NOT EXISTS kill_source (at DateTime, key UInt32, n UInt64) ENGINE = MergeTree PARTITION BY toYYYYMM(at) ORDER BY key SETTINGS non_replicated_deduplication_window = 1000",
		"CREATE TABLE IF NOT EXISTS kill_sums (key UInt32, n UInt64) ENGINE = SummingMergeTree ORDER BY key SETTINGS non_replicated_deduplication_window = 1000",
		"CREATE MATERIALIZED VIEW IF NOT EXISTS kill_to_sums TO kill_sums AS SELECT key, sum(n) AS n FROM kill_source GROUP BY key",
		"CREATE TABLE IF NOT EXISTS kill_journal (key String, record String) ENGINE = EmbeddedRocksDB PRIMARY KEY key SETTINGS optimize_for_bulk_insert = 0",
	}
}

// insertBlock inserts 1000 rows in two partitions. The sum of the rows is 1000.
func insertBlock(ctx context.Context, c driver.Conn, block int) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": fmt.Sprint("block-", block)}))
	rows := make([]dedupRow, 1000)
	for i := range rows {
		rows[i] = month(time.Month(9+i%2), uint32(block), 1)
	}
	return sendRows(ctx, c, "kill", rows)
}

// child starts the test binary as a process that inserts blocks first to last into dir.
func child(t *testing.T, dir string, first, last int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(deadline(t), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+dir, fmt.Sprintf("%s=%d %d", childRange, first, last))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// replay opens dir in a child that inserts blocks first to last, and returns the state that the child reports at the
// end.
func replay(t *testing.T, dir string, first, last int) string {
	t.Helper()
	cmd, lines := child(t, dir, first, last)
	var line string
	for lines.Scan() {
		line = lines.Text()
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("replaying: %v, last line %q", err, line)
	}
	return strings.TrimPrefix(line, "state ")
}

func TestKilledProcessLosesAndDoublesNothing(t *testing.T) {
	dir := t.TempDir()
	acknowledged := 0
	for round := range 5 {
		cmd, lines := child(t, dir, acknowledged+1, 1_000_000)
		stop := acknowledged + 20 + round
		for acknowledged < stop && lines.Scan() {
			if _, err := fmt.Sscanf(lines.Text(), "block %d", &acknowledged); err != nil {
				t.Fatalf("unexpected line %q", lines.Text())
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // blocks that were acknowledged before the kill
			_, _ = fmt.Sscanf(lines.Text(), "block %d", &acknowledged)
		}
		_ = cmd.Wait()
	}
	last := acknowledged + 3
	got := replay(t, dir, max(1, acknowledged-50), last)
	want := fmt.Sprintf("rows %d, blocks %d, sum %d, journal %d, parts lost 0", last*1000, last, last*1000, last)
	if got != want {
		t.Errorf("after 5 kills: got %q, want %q", got, want)
	}
}

// A crash can fall between the engine's record of a token and the rename of the part. The record must not prevent the
// replay from storing the rows.
func TestNotedTokenWithoutItsPartIsReplayed(t *testing.T) {
	dir := t.TempDir()
	if got, want := replay(t, dir, 1, 2), "rows 2000, blocks 2, sum 2000, journal 2, parts lost 0"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	removed := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "202609_3_3_0" && d.Name() != "all_2_2_1" {
			return err
		}
		removed++
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		return fs.SkipDir
	})
	if err != nil || removed != 2 {
		t.Fatalf("removed %d parts, want 2: %v", removed, err)
	}
	for range 2 {
		if got, want := replay(t, dir, 1, 2), "rows 2000, blocks 2, sum 2000, journal 2, parts lost 0"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
