package chdb

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// wideTable creates a table of 40 columns like the tables of raw events, and returns the column types in order.
func wideTable(b *testing.B, c driver.Conn, name string) []string {
	b.Helper()
	var kinds, columns []string
	for i := range 40 {
		kind := []string{"UInt64", "LowCardinality(String)", "DateTime64(3)", "String", "Float64"}[i%5]
		kinds = append(kinds, kind)
		columns = append(columns, fmt.Sprintf("c%d %s", i, kind))
	}
	run(b, c, "DROP TABLE IF EXISTS "+name+" SYNC",
		"CREATE TABLE "+name+" ("+strings.Join(columns, ", ")+") ENGINE = MergeTree ORDER BY c0 SETTINGS non_replicated_deduplication_window = 1000")
	return kinds
}

// wideColumns returns the values of a number of rows, column by column.
func wideColumns(kinds []string, rows int) []any {
	values := make([]any, len(kinds))
	for i, kind := range kinds {
		switch kind {
		case "UInt64":
			values[i] = fill(rows, func(row int) uint64 { return uint64(row * i) })
		case "DateTime64(3)":
			values[i] = fill(rows, func(row int) time.Time { return time.UnixMilli(1790000000000 + int64(row)) })
		case "Float64":
			values[i] = fill(rows, func(row int) float64 { return float64(row) / 3 })
		case "String":
			values[i] = fill(rows, func(row int) string { return fmt.Sprintf("/path/to/page/%d?utm_source=%d", row, i) })
		default:
			values[i] = fill(rows, func(row int) string { return fmt.Sprintf("value-%d", row%50) })
		}
	}
	return values
}

func fill[T any](n int, value func(int) T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = value(i)
	}
	return list
}

func BenchmarkInsert(b *testing.B) {
	for _, rows := range []int{1, 1000, 50_000} {
		b.Run(fmt.Sprintf("%d rows of 40 columns", rows), func(b *testing.B) {
			c := client(b)
			values := wideColumns(wideTable(b, c, "bench_insert"), rows)
			run(b, c, "SYSTEM STOP MERGES bench_insert")
			n := 0
			b.ResetTimer()
			for b.Loop() {
				n++
				ctx := clickhouse.Context(deadline(b), clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": fmt.Sprint(n)}))
				batch, err := c.PrepareBatch(ctx, "INSERT INTO bench_insert")
				if err != nil {
					b.Fatal(err)
				}
				for i, v := range values {
					if err := batch.Column(i).Append(v); err != nil {
						b.Fatal(err)
					}
				}
				if err := batch.Send(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n*rows), "µs/row")
		})
	}
}

func BenchmarkPointQuery(b *testing.B) {
	c := client(b)
	run(b, c, "DROP TABLE IF EXISTS bench_point SYNC",
		"CREATE TABLE bench_point (id UInt64, name String) ENGINE = MergeTree ORDER BY id",
		"INSERT INTO bench_point SELECT number, toString(number) FROM numbers(1000000)")
	for name, sql := range map[string]string{
		"SELECT 1": "SELECT '77'",
		"by key":   "SELECT name FROM bench_point WHERE id = {id:UInt64}",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if got := one[string](b, c, sql, clickhouse.Named("id", 77)); got != "77" {
					b.Fatal(got)
				}
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	const rows = 1_000_000
	c := client(b)
	for b.Loop() {
		result, err := c.Query(deadline(b), "SELECT number, toString(number) FROM numbers({n:UInt64})", clickhouse.Named("n", rows))
		if err != nil {
			b.Fatal(err)
		}
		n, id, name := 0, uint64(0), ""
		for result.Next() {
			if err := result.Scan(&id, &name); err != nil {
				b.Fatal(err)
			}
			n++
		}
		if err := result.Err(); err != nil || n != rows {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
}
