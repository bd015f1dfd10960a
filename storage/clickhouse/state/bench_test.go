package state

import (
	"fmt"
	"testing"

	"svc/domain"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

// BenchmarkPut measures a write without a journal.
func BenchmarkPut(b *testing.B) {
	for _, durable := range []bool{false, true} {
		b.Run(fmt.Sprintf("durable=%t", durable), func(b *testing.B) {
			db := openWith(b, clickhouse.Config{Database: clickhousetest.Name(), Durable: durable}, Config{})
			i, used := uint32(0), clickhousetest.CPU()
			defer func() { b.ReportMetric(float64((clickhousetest.CPU()-used).Microseconds())/float64(i), "cpu-µs/put") }()
			for b.Loop() {
				i++
				if err := db.Put(deadline(b), []domain.Entity{entity("app/1", "goal", "g", 1, i, "{}")}, nil, domain.Trail{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
