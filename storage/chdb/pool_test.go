package chdb

import (
	"context"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// TestWritesBesideSlowReads fills every read slot with statements that end only when they are cancelled, and lets twice
// as many wait.
func TestWritesBesideSlowReads(t *testing.T) {
	c := client(t)
	run(t, c, "CREATE TABLE rows (n UInt64) ENGINE = MergeTree ORDER BY n")
	ctx, cancel := context.WithCancel(t.Context())
	const reads = 3 * defaultConnections
	ended := make(chan error, reads)
	for range reads {
		go func() {
			ended <- c.QueryRow(ctx, "SELECT count() FROM numbers(100000) WHERE sleepEachRow(0.5) = 0 SETTINGS max_block_size = 1").Scan(new(uint64))
		}()
	}
	waitFor(t, "SELECT count() FROM system.processes WHERE query LIKE 'SELECT count() FROM numbers(100000)%'", defaultConnections-writePlaces)
	for n := range 5 {
		batch, err := c.PrepareBatch(deadline(t), "INSERT INTO rows")
		if err != nil {
			t.Fatal(err)
		}
		if err := batch.Append(uint64(n)); err != nil {
			t.Fatal(err)
		}
		if err := batch.Send(); err != nil {
			t.Fatal(err)
		}
	}
	first := clickhouse.Context(deadline(t), clickhouse.WithSettings(clickhouse.Settings{"priority": 1}))
	var n uint64
	if err := c.QueryRow(first, "SELECT count() FROM rows").Scan(&n); err != nil || n != 5 {
		t.Errorf("%d rows are stored, want 5 (%v)", n, err)
	}
	cancel()
	for range reads {
		if err := <-ended; err == nil {
			t.Error("a read ended before it was cancelled")
		}
	}
}
