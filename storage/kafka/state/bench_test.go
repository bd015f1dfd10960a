package state

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"svc/storage/kafka/broker"
)

// processorTime returns the CPU time that this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// benched opens a broker and a log that reaches it in memory, like a single node.
func benched(b *testing.B, sync bool, partitions int) *Log {
	b.Helper()
	served := startBroker(b, broker.Config{Dir: b.TempDir(), Sync: sync, Partitions: partitions})
	c := ensured(b, &cluster{brokers: served.Addrs(), topic: testTopic, partitions: partitions})
	return c.openOver(b, "bench", served.Dial)
}

// BenchmarkSave saves values of 400 bytes from many callers in 16 partitions of one node. The broker runs in the same
// process, so the CPU time includes both.
func BenchmarkSave(b *testing.B) {
	const partitions = 16
	for _, sync := range []bool{false, true} {
		for _, callers := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("forced=%t/callers=%d", sync, callers), func(b *testing.B) {
				l := benched(b, sync, partitions)
				owners := make([]*Owner, partitions)
				for p := range owners {
					var err error
					if owners[p], err = l.Take(b.Context(), p, Position{}, func([]Entry) {}, func([]string) {}); err != nil {
						b.Fatal(err)
					}
				}
				saveBy(b, callers, owners)
			})
		}
	}
}

// saveBy saves b.N values from a number of callers.
func saveBy(b *testing.B, callers int, owners []*Owner) {
	b.Helper()
	value := bytes.Repeat([]byte("x"), 400)
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	before := processorTime(b)
	for range callers {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := owners[int(n)%len(owners)].Save(context.Background(), []Record{{fmt.Sprint("key-", n), value}}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "saves/s")
}

// BenchmarkTake takes 16 partitions of 100,000 records of 400 bytes at the same time. One case reads them whole, as a
// rebuild does. The other begins at the projected position, with 1,000 records after it.
func BenchmarkTake(b *testing.B) {
	const partitions, records, tail = 16, 100_000, 1_000
	l := benched(b, false, partitions)
	marks := fill(b, l, records, tail)
	for name, from := range map[string][]Position{"whole": make([]Position, partitions), "tail": marks} {
		b.Run(name, func(b *testing.B) {
			before := processorTime(b)
			for b.Loop() {
				var all sync.WaitGroup
				var read atomic.Int64
				for p := range partitions {
					all.Go(func() {
						_, err := l.Take(b.Context(), p, from[p], func(entries []Entry) { read.Add(int64(len(entries))) }, func([]string) {})
						if err != nil {
							b.Error(err)
						}
					})
				}
				all.Wait()
				if read.Load() < partitions*tail {
					b.Fatalf("%d records were read", read.Load())
				}
			}
			b.ReportMetric(float64((processorTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// fill saves records in every partition and returns the position before the last of them.
func fill(b *testing.B, l *Log, records, tail int) []Position {
	b.Helper()
	value := bytes.Repeat([]byte("x"), 400)
	marks := make([]Position, l.cfg.Partitions)
	var all sync.WaitGroup
	for p := range marks {
		all.Go(func() {
			o, err := l.Take(b.Context(), p, Position{}, func([]Entry) {}, func([]string) {})
			if err != nil {
				b.Error(err)
				return
			}
			defer o.Close()
			save := make([]Record, 500)
			for n := 0; n < records; n += len(save) {
				if n >= records-tail && marks[p] == (Position{}) {
					marks[p] = o.Position()
				}
				for i := range save {
					save[i] = Record{fmt.Sprint("key-", n+i), value}
				}
				if err := o.Save(b.Context(), save); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return marks
}

// BenchmarkDecode decodes the records of a broker's answer.
func BenchmarkDecode(b *testing.B) {
	records := make([]Record, 1000)
	for n := range records {
		records[n] = Record{fmt.Sprint("key-", n), bytes.Repeat([]byte("x"), 400)}
	}
	batch := encode(owned, 1, records, time.Now())
	stamp(batch, identity{1, 1, 1})
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	for b.Loop() {
		entries, err := new(cursor).read(batch)
		if err != nil || len(entries) != len(records) {
			b.Fatal(len(entries), err)
		}
	}
}
