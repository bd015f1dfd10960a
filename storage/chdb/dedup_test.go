package chdb

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// dedupTables creates a source table, partitioned by month, and tables that materialized views fill: a sum per key and
// the distinct values. The names start with prefix.
func dedupTables(t *testing.T, c driver.Conn, prefix string) {
	t.Helper()
	run(t, c,
		fmt.Sprintf("CREATE TABLE %s_source (at DateTime, key UInt32, n UInt64) ENGINE = MergeTree PARTITION BY toYYYYMM(at) ORDER BY key SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1", prefix),
		fmt.Sprintf("CREATE TABLE %s_sums (month UInt32, key UInt32, n UInt64) ENGINE = SummingMergeTree PARTITION BY month ORDER BY key SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1", prefix),
		fmt.Sprintf("CREATE TABLE %s_uniques (key UInt32, u AggregateFunction(uniq, UInt64)) ENGINE = AggregatingMergeTree ORDER BY key SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1", prefix),
	)
	attachViews(t, c, prefix)
}

func attachViews(t *testing.T, c driver.Conn, prefix string) {
	t.Helper()
	run(t, c,
		fmt.Sprintf("CREATE MATERIALIZED VIEW %[1]s_to_sums TO %[1]s_sums AS SELECT toYYYYMM(at) AS month, key, sum(n) AS n FROM %[1]s_source GROUP BY month, key", prefix),
		fmt.Sprintf("CREATE MATERIALIZED VIEW %[1]s_to_uniques TO %[1]s_uniques AS SELECT key, uniqState(n) AS u FROM %[1]s_source GROUP BY key", prefix),
	)
}

type dedupRow struct {
	at  time.Time
	key uint32
	n   uint64
}

func month(m time.Month, key uint32, n uint64) dedupRow {
	return dedupRow{time.Date(2026, m, 3, 0, 0, 0, 0, time.UTC), key, n}
}

// insertToken inserts rows as one block with a deduplication token.
func insertToken(t *testing.T, c driver.Conn, prefix, token string, rows ...dedupRow) {
	t.Helper()
	ctx := clickhouse.Context(deadline(t), clickhouse.WithSettings(clickhouse.Settings{
		"insert_deduplication_token":                         token,
		"deduplicate_blocks_in_dependent_materialized_views": 1,
		"async_insert": 0,
	}))
	if err := sendRows(ctx, c, prefix, rows); err != nil {
		t.Fatal(err)
	}
}

func sendRows(ctx context.Context, c driver.Conn, prefix string, rows []dedupRow) error {
	batch, err := c.PrepareBatch(ctx, "INSERT INTO "+prefix+"_source (at, key, n)")
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := batch.Append(r.at, r.key, r.n); err != nil {
			return err
		}
	}
	return batch.Send()
}

// state describes the three tables: the rows of the source, the sum of one view and the distinct values of the other.
func state(t *testing.T, c driver.Conn, prefix string) string {
	t.Helper()
	return one[string](t, c, fmt.Sprintf(`SELECT concat(
		'rows ', toString((SELECT count() FROM %[1]s_source)), ', sum ', toString((SELECT sum(n) FROM %[1]s_sums)),
		', parts ', toString((SELECT count() FROM system.parts WHERE database = currentDatabase() AND table = '%[1]s_sums' AND active)),
		', uniques ', toString((SELECT uniqMerge(u) FROM %[1]s_uniques)))`, prefix))
}

func wantState(t *testing.T, c driver.Conn, prefix, step, want string) {
	t.Helper()
	if got := state(t, c, prefix); got != want {
		t.Errorf("%s: got %q, want %q", step, got, want)
	}
}

func TestRepeatedTokenIsStoredOnce(t *testing.T) {
	c := client(t)
	dedupTables(t, c, "again")
	run(t, c, "SYSTEM STOP MERGES again_sums")
	rows := []dedupRow{month(10, 1, 5), month(10, 1, 6), month(10, 2, 7)}
	insertToken(t, c, "again", "a", rows...)
	wantState(t, c, "again", "first insert", "rows 3, sum 18, parts 1, uniques 3")
	insertToken(t, c, "again", "a", rows...)
	wantState(t, c, "again", "same token, same rows", "rows 3, sum 18, parts 1, uniques 3")
	insertToken(t, c, "again", "a", month(10, 9, 100))
	wantState(t, c, "again", "same token, other rows", "rows 3, sum 18, parts 1, uniques 3")
	insertToken(t, c, "again", "b", rows...)
	wantState(t, c, "again", "other token, same rows", "rows 6, sum 36, parts 2, uniques 3")
}

func TestTokenIsComparedInEachPartition(t *testing.T) {
	c := client(t)
	dedupTables(t, c, "months")
	run(t, c, "SYSTEM STOP MERGES months_sums")
	insertToken(t, c, "months", "a", month(9, 1, 1))
	wantState(t, c, "months", "one partition", "rows 1, sum 1, parts 1, uniques 1")
	both := []dedupRow{month(9, 1, 1), month(10, 1, 10)}
	insertToken(t, c, "months", "a", both...)
	// The table of uniques is not partitioned, so it already has a block with token a. A token must stand for the same
	// rows each time.
	wantState(t, c, "months", "same token, one partition is new", "rows 2, sum 11, parts 2, uniques 1")
	insertToken(t, c, "months", "b", both...)
	wantState(t, c, "months", "other token", "rows 4, sum 22, parts 4, uniques 2")
	insertToken(t, c, "months", "b", both...)
	wantState(t, c, "months", "other token again", "rows 4, sum 22, parts 4, uniques 2")
}

func TestReplayRepairsWhatIsMissing(t *testing.T) {
	rows := []dedupRow{month(9, 1, 1), month(10, 1, 10)}
	for name, before := range map[string]struct {
		rows []dedupRow
		want string
	}{
		"views missed the whole block":     {rows, "rows 2, sum 0, parts 0, uniques 0"},
		"source holds one partition of it": {rows[:1], "rows 1, sum 0, parts 0, uniques 0"},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t)
			prefix := fmt.Sprintf("repair%d", len(before.rows))
			dedupTables(t, c, prefix)
			run(t, c, "SYSTEM STOP MERGES "+prefix+"_sums", "DROP VIEW "+prefix+"_to_sums SYNC", "DROP VIEW "+prefix+"_to_uniques SYNC")
			insertToken(t, c, prefix, "a", before.rows...)
			wantState(t, c, prefix, "without views", before.want)
			attachViews(t, c, prefix)
			for _, step := range []string{"replayed", "replayed twice"} {
				insertToken(t, c, prefix, "a", rows...)
				wantState(t, c, prefix, step, "rows 2, sum 11, parts 2, uniques 2")
			}
		})
	}
}

func TestReplayAfterAFailedView(t *testing.T) {
	c := client(t)
	dedupTables(t, c, "broken")
	run(t, c, "DROP VIEW broken_to_uniques SYNC",
		"CREATE MATERIALIZED VIEW broken_to_uniques TO broken_uniques AS SELECT key, uniqState(n) AS u FROM broken_source WHERE throwIf(n = 1) = 0 GROUP BY key")
	rows := []dedupRow{month(9, 1, 1), month(10, 1, 10)}
	ctx := clickhouse.Context(deadline(t), clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": "a"}))
	wantCode(t, sendRows(ctx, c, "broken", rows), 395)
	run(t, c, "DROP VIEW broken_to_uniques SYNC",
		"CREATE MATERIALIZED VIEW broken_to_uniques TO broken_uniques AS SELECT key, uniqState(n) AS u FROM broken_source GROUP BY key")
	for _, step := range []string{"replayed", "replayed twice"} {
		insertToken(t, c, "broken", "a", rows...)
		wantState(t, c, "broken", step, "rows 2, sum 11, parts 2, uniques 2")
	}
}

func TestTargetWithoutAWindowCountsTwice(t *testing.T) {
	c := client(t)
	run(t, c, "CREATE TABLE open_target (key UInt32, n UInt64) ENGINE = SummingMergeTree ORDER BY key")
	dedupTables(t, c, "open")
	run(t, c, "CREATE MATERIALIZED VIEW open_to_target TO open_target AS SELECT key, sum(n) AS n FROM open_source GROUP BY key")
	for range 2 {
		insertToken(t, c, "open", "a", month(9, 1, 7))
	}
	if got := one[uint64](t, c, "SELECT sum(n) FROM open_target"); got != 14 {
		t.Errorf("the sum is %d, want 14: the engine began to deduplicate without a window", got)
	}
}

func TestViewOnAViewIsStoredOnce(t *testing.T) {
	const view = "CREATE MATERIALIZED VIEW chain_to_months TO chain_months AS SELECT month, sum(n) AS n FROM chain_sums GROUP BY month"
	c := client(t)
	dedupTables(t, c, "chain")
	run(t, c, "CREATE TABLE chain_months (month UInt32, n UInt64) ENGINE = SummingMergeTree ORDER BY month SETTINGS non_replicated_deduplication_window = 1000", view)
	rows := []dedupRow{month(9, 1, 1), month(10, 1, 10)}
	for range 2 {
		insertToken(t, c, "chain", "a", rows...)
	}
	run(t, c, "DROP VIEW chain_to_months SYNC")
	insertToken(t, c, "chain", "b", rows...)
	run(t, c, view)
	for _, step := range []string{"missed by the view alone, replayed", "replayed twice"} {
		insertToken(t, c, "chain", "b", rows...)
		if got := one[uint64](t, c, "SELECT sum(n) FROM chain_months"); got != 22 {
			t.Errorf("%s: the sum is %d, want 22", step, got)
		}
	}
}

func TestWindowCountsPartsOfTheWholeTable(t *testing.T) {
	c := client(t)
	run(t, c, "CREATE TABLE window_source (at DateTime, key UInt32, n UInt64) ENGINE = MergeTree PARTITION BY toYYYYMM(at) ORDER BY n SETTINGS non_replicated_deduplication_window = 2")
	for _, step := range []struct {
		token string
		month time.Month
		rows  uint64
	}{{"a", 9, 1}, {"b", 10, 2}, {"a", 9, 2}, {"c", 10, 3}, {"a", 9, 4}} {
		insertToken(t, c, "window", step.token, month(step.month, 1, 1))
		if got := one[uint64](t, c, "SELECT count() FROM window_source"); got != step.rows {
			t.Errorf("after token %s: %d rows, want %d", step.token, got, step.rows)
		}
	}
}
