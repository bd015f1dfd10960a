package kafka

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

const (
	benchPartitions = 16
	benchCallers    = 64
	benchPayload    = 600
)

// fsyncEach opens a broker that syncs each batch alone, for comparison.
func fsyncEach(t testing.TB, _ string, _ int) []string {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(t.TempDir()), kfake.SyncWrites())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()
}

// BenchmarkProduce measures acknowledged single events of many concurrent callers.
func BenchmarkProduce(b *testing.B) {
	over := func(open openCluster) func(testing.TB) *fixture {
		return func(t testing.TB) *fixture { return newFixture(t, open, benchPartitions) }
	}
	inMemory := func(sync bool) func(testing.TB) *fixture {
		return func(t testing.TB) *fixture { return newMemoryFixture(t, sync, benchPartitions) }
	}
	for _, mode := range []struct {
		name string
		open func(testing.TB) *fixture
	}{
		{"unforced", over(embedded(false))},
		{"forced", over(embedded(true))},
		{"fsync-each", over(fsyncEach)},
		{"unforced-in-memory", inMemory(false)},
		{"forced-in-memory", inMemory(true)},
	} {
		b.Run(mode.name, func(b *testing.B) {
			f := mode.open(b)
			b.ReportAllocs()
			b.ResetTimer()
			measure(b, f, 0)
			b.StopTimer()
			ends, err := f.admin.Ends(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			records := int64(0)
			for _, end := range ends {
				records += end
			}
			b.ReportMetric(float64(b.N)/float64(records), "events/record")
		})
	}
}

// BenchmarkProduceAtRate measures the delay at 2,000 events a second.
func BenchmarkProduceAtRate(b *testing.B) {
	for name, sync := range map[string]bool{"unforced": false, "forced": true} {
		b.Run(name, func(b *testing.B) {
			f := newFixture(b, embedded(sync), benchPartitions)
			b.ResetTimer()
			measure(b, f, benchCallers*time.Second/2000)
		})
	}
}

// measure produces b.N events from many callers. If pace is set, each caller produces at that pace.
func measure(b *testing.B, f *fixture, pace time.Duration) {
	var next atomic.Int64
	delays := make([][]time.Duration, benchCallers)
	used, began := cpuTime(), time.Now()
	var wg sync.WaitGroup
	for c := range benchCallers {
		wg.Go(func() {
			payload := make([]byte, benchPayload)
			due := began.Add(time.Duration(c) * pace / benchCallers)
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if pace > 0 {
					time.Sleep(time.Until(due))
					due = due.Add(pace)
				}
				sent := time.Now()
				if err := f.producer.Produce(b.Context(), []Part{{Partition: int(i % benchPartitions), Payload: payload}}); err != nil {
					b.Error(err)
					return
				}
				delays[c] = append(delays[c], time.Since(sent))
			}
		})
	}
	wg.Wait()
	took, used := time.Since(began), cpuTime()-used
	all := slices.Sorted(slices.Values(slices.Concat(delays...)))
	if len(all) == 0 {
		return
	}
	b.ReportMetric(float64(len(all))/took.Seconds(), "events/s")
	b.ReportMetric(float64(used.Microseconds())/float64(len(all)), "cpu-µs/event")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkConsume measures records of 100 events each.
func BenchmarkConsume(b *testing.B) {
	f := newFixture(b, embedded(false), benchPartitions)
	payload := make([]byte, 100*benchPayload)
	var wg sync.WaitGroup
	for c := range benchPartitions {
		wg.Go(func() {
			for i := c; i < b.N; i += benchPartitions {
				f.produce(Part{Partition: c, Payload: payload})
			}
		})
	}
	wg.Wait()
	r := new(counter)
	b.ReportAllocs()
	b.ResetTimer()
	began := time.Now()
	start(b, f.consumer(r, nil).Run)
	eventually(b, "all records", func() bool { return r.n.Load() == int64(b.N) }, func() string { return fmt.Sprint(r.n.Load()) })
	b.ReportMetric(100*float64(b.N)/time.Since(began).Seconds(), "events/s")
}

// BenchmarkDeliver measures the delay from Produce to Records on an idle topic.
func BenchmarkDeliver(b *testing.B) {
	f := newFixture(b, embedded(false), benchPartitions)
	got := make(chan struct{}, 1)
	r := &counter{got: got}
	start(b, f.consumer(r, nil).Run)
	for i := range b.N {
		f.produce(Part{Partition: i % benchPartitions, Payload: eventValue(uint64(i))})
		<-got
	}
}

// BenchmarkIdle reports the load of an idle broker, producer and consumer. Run it with -benchtime=1x.
func BenchmarkIdle(b *testing.B) {
	f := newFixture(b, embedded(true), benchPartitions)
	r := new(recorder)
	start(b, f.consumer(r, func(cfg *ConsumerConfig) { cfg.Heartbeat = 0 }).Run)
	eventually(b, "assignment", func() bool { return len(r.owned()) == benchPartitions }, r.state)
	const span = 10 * time.Second
	var used time.Duration
	for b.Loop() {
		used = cpuTime()
		time.Sleep(span)
		used = cpuTime() - used
	}
	b.ReportMetric(100*float64(used)/float64(span), "cpu-%")
}

// counter is a handler that counts events and drops them.
type counter struct {
	n   atomic.Int64
	got chan struct{}
}

func (c *counter) Assigned(context.Context, Assignment) (map[int]int64, error) { return nil, nil }

func (c *counter) Records(_ context.Context, _ int, records []Record, _ int64) error {
	c.n.Add(int64(len(records)))
	if c.got != nil {
		c.got <- struct{}{}
	}
	return nil
}

func (c *counter) Ending(context.Context, int32) {}

func (c *counter) Revoked(int32) {}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
