package block

import (
	"fmt"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/event"
	"svc/storage/clickhouse/clickhousetest"
)

// blockOf returns a block of the next rows.
func blockOf(r *clickhousetest.Reference, db *testDB, from time.Time, step time.Duration, n int) *Block {
	b := db.NewBlock()
	for i := range n {
		b.Append(r.Next(from.Add(time.Duration(i) * step)))
	}
	return b
}

func reportPerRow(b *testing.B, rows int) {
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(rows)/float64(b.N), "µs/row")
}

func BenchmarkAppend(b *testing.B) {
	db := open(b)
	r := clickhousetest.NewReference(10000)
	const n = 100000
	rows := make([]event.Row, n)
	for i := range rows {
		rows[i] = *r.Next(time.UnixMilli(1.78e12 + int64(i)/100))
	}
	block := db.NewBlock()
	b.ReportAllocs()
	for b.Loop() {
		block.Reset()
		for i := range rows {
			block.Append(&rows[i])
		}
		block.encode(1)
	}
	reportPerRow(b, n)
}

func BenchmarkInsert(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := open(b)
			block := blockOf(clickhousetest.NewReference(10000), db, time.UnixMilli(1.78e12), 10*time.Microsecond, n)
			i, used := 0, clickhousetest.CPU()
			for b.Loop() {
				i++
				insert(b, db, fmt.Sprint(i), uint64(i), block)
			}
			reportPerRow(b, n)
			b.ReportMetric(float64((clickhousetest.CPU()-used).Microseconds())/float64(n)/float64(i), "cpu-µs/row")
		})
	}
}

func BenchmarkStoredBytes(b *testing.B) {
	for b.Loop() {
		db := open(b)
		r := clickhousetest.NewReference(10000)
		const blocks, n = 10, 100000
		for i := range blocks {
			insert(b, db, fmt.Sprint(i), uint64(i), blockOf(r, db, time.UnixMilli(1.78e12+int64(i)*1000), 10*time.Microsecond, n))
		}
		for _, table := range tables() {
			exec(b, db, "OPTIMIZE TABLE "+table+" FINAL")
		}
		sum := ask[uint64](b, db, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase() AND table != 'migrations'")
		b.ReportMetric(float64(sum)/blocks/n, "B/row")
		const columns = "SELECT table||'.'||column c, sum(column_data_compressed_bytes) FROM system.parts_columns WHERE active AND database = currentDatabase() AND table in ('events','traffic','visits','names') GROUP BY c ORDER BY 2 DESC LIMIT 25"
		err := db.conn.Read(deadline(b), "reading sizes", columns, nil, func(rows driver.Rows) (bool, error) {
			var c string
			var n uint64
			err := rows.Scan(&c, &n)
			b.Logf("%-30s %.2f", c, float64(n)/blocks/1e5)
			return true, err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
