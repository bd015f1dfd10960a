package pipeline

import (
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"svc/domain/event"
	"svc/protos"
)

type nowhere struct{}

func (nowhere) Locate(netip.Addr) (country, region, city string) { return "", "", "" }

// dropped is a block that drops its rows.
type dropped struct{}

func (dropped) append(int32, recordRange, *folded) {}

// freshRecord is a record of bulky items of a new visitor.
func freshRecord(t *testing.T, n int, bulk string) event.LogRecord {
	t.Helper()
	ms := int64(1_000_000_000 + n)
	value, err := protos.AppendRecord(nil, &protos.Event{
		Environment: 1, Id: fmt.Sprint("e", n), Name: event.PageView, TsMs: ms, ReceivedMs: ms, AnonymousId: fmt.Sprint("a", n), SessionId: fmt.Sprint("c", n),
		Url: fmt.Sprintf("https://example.com/%d?utm_source=s%d&utm_campaign=c%d&gclid=g%d", n, n, n, n), Referrer: fmt.Sprintf("https://news%d.example/", n),
		UserAgent: fmt.Sprint("Mozilla/5.0 ", n), Properties: []byte(bulk),
	})
	if err != nil {
		t.Fatal(err)
	}
	rest := protos.Record{
		Occurrences: []*protos.Occurrence{{Environment: 1, Id: fmt.Sprint("o", n), Issue: uint64(n), Name: "Error", Release: fmt.Sprint("r", n), UserAgent: fmt.Sprint("curl/", n)}},
		Points: []*protos.MetricPoint{{
			Environment: 1, Id: fmt.Sprint("p", n), Name: fmt.Sprint("requests", n%200), Series: uint64(n % 200), Cumulative: true, StartNs: 5, TsMs: ms, ReceivedMs: ms,
			Sum: float64(n), Labels: []string{"n", fmt.Sprint(n)}, Kind: "counter",
		}},
	}
	more, err := rest.MarshalVT()
	if err != nil {
		t.Fatal(err)
	}
	return event.LogRecord{Offset: int64(n), Value: append(value, more...)}
}

// TestFoldedRecordsAreFreed folds records of fresh sessions, series and clients. The memory in use must not exceed the
// state that an intake remembers of each.
func TestFoldedRecordsAreFreed(t *testing.T) {
	const records, perRecord = 1500, 3 << 10
	i := newIntake(IntakeConfig{
		Locator: func() Locator { return nowhere{} }, Metrics: NewIntakeMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	}, 0, dropped{})
	i.onBegin(&begin{
		generation: 1, ids: newDedup(RecentIDs), errorIDs: newDedup(RecentErrors), metricIDs: newDedup(RecentMetrics), billings: newSaid(RecentBillings),
		sessions: newSessionizer(), deltas: newDeltas(),
	})
	bulk := `{"bulk":"` + strings.Repeat("x", 50<<10) + `"}`
	before := liveHeap()
	for n := range records {
		if err := i.foldAll(1, []event.LogRecord{freshRecord(t, n, bulk)}); err != nil {
			t.Fatal(err)
		}
	}
	if grown := liveHeap() - before; grown > records*perRecord {
		t.Errorf("%d records of %d bytes left %d bytes in memory, want at most %d", records, len(bulk), grown, records*perRecord)
	}
	runtime.KeepAlive(i)
}

// TestLongRecordsAreFreed folds records of fewer and fewer events: the rows of a long one are in memory that the
// shorter ones after it do not use.
func TestLongRecordsAreFreed(t *testing.T) {
	i := newIntake(IntakeConfig{
		Locator: func() Locator { return nowhere{} }, Metrics: NewIntakeMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	}, 0, dropped{})
	i.onBegin(&begin{
		generation: 1, ids: newDedup(RecentIDs), errorIDs: newDedup(RecentErrors), metricIDs: newDedup(RecentMetrics), billings: newSaid(RecentBillings),
		sessions: newSessionizer(), deltas: newDeltas(),
	})
	bulk := []byte(`{"bulk":"` + strings.Repeat("x", 1<<20) + `"}`)
	before := liveHeap()
	for n := range 20 {
		var value []byte
		for ev := range 20 - n {
			e := &protos.Event{Environment: 1, Id: fmt.Sprint(n, "-", ev), Name: event.PageView, TsMs: 1, ReceivedMs: 1, AnonymousId: "a"}
			if ev == 0 {
				e.Properties = bulk
			}
			var err error
			if value, err = protos.AppendRecord(value, e); err != nil {
				t.Fatal(err)
			}
		}
		if err := i.foldAll(1, []event.LogRecord{{Offset: int64(n), Value: value}}); err != nil {
			t.Fatal(err)
		}
	}
	if grown := liveHeap() - before; grown > 1<<20 {
		t.Errorf("20 records of 1 MiB left %d bytes in memory", grown)
	}
	runtime.KeepAlive(i)
}

// liveHeap returns the number of reachable bytes.
func liveHeap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
