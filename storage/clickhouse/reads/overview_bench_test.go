package reads

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/lru"
)

// busySite stores events of 30 days. Two sessions out of three have a visitor of their own each day, like a site with a
// visitor per twenty events.
func busySite(b testing.TB, db *testDB, events int, end time.Time) {
	const perSession = 5
	from := end.AddDate(0, 0, -60)
	random := rand.New(rand.NewPCG(3, 4))
	r := clickhousetest.NewReference(1)
	block := db.NewBlock()
	step := end.Sub(from) / time.Duration(events/perSession)
	number := uint64(0)
	for i := range events / perSession {
		began := from.Add(time.Duration(i) * step)
		visitor := random.IntN(events / 20)
		for j := range perSession {
			row := r.Next(began.Add(time.Duration(j) * 40 * time.Second))
			row.Event.DistinctID = "user-" + strconv.Itoa(visitor)
			row.Event.SessionID = "sess-" + strconv.Itoa(i)
			row.SessionStartedMs = began.UnixMilli()
			row.Bounce, row.DurationMs = 0, 40000
			if j == 0 {
				row.Bounce = 1
			} else if j == 1 {
				row.Bounce = -1
			}
			block.Append(row)
		}
		if block.Rows() >= 100000 || i == events/perSession-1 {
			number++
			insert(b, db, fmt.Sprint(number), number, block)
			block.Reset()
		}
	}
}

func BenchmarkOverview(b *testing.B) {
	events := 2_000_000
	if n, err := strconv.Atoi(os.Getenv("SVC_BENCH_EVENTS")); err == nil {
		events = n
	}
	db := open(b)
	end := time.Date(2026, 11, 20, 15, 4, 5, 678e6, time.UTC)
	busySite(b, db, events, end)
	scope := analytics.Scope{Environment: domain.Environment{Number: 123456789}, Window: domain.Window{
		From: end.AddDate(0, 0, -30), To: end, Location: clickhousetest.Location(b, "Europe/Berlin"), Interval: domain.Day,
	}}
	ask := func(b *testing.B, advance time.Duration, cold bool) {
		var took []time.Duration
		used := clickhousetest.CPU()
		for i := 0; b.Loop(); i++ {
			if cold {
				db.pieces = lru.New[pieceKey, *piece](pieceBytes)
			}
			s := scope
			s.Window.From = s.Window.From.Add(time.Duration(i) * advance)
			s.Window.To = s.Window.To.Add(time.Duration(i) * advance)
			start := time.Now()
			if _, err := db.Overview(deadline(b), s, nil); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		b.ReportMetric(float64((clickhousetest.CPU()-used).Microseconds())/1000/float64(len(took)), "cpu-ms")
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
	}
	b.Run("cold", func(b *testing.B) { ask(b, time.Second, true) })
	b.Run("warm", func(b *testing.B) { ask(b, time.Second, false) })
	b.Run("series", func(b *testing.B) {
		for b.Loop() {
			if _, err := db.Timeseries(deadline(b), scope, analytics.MetricVisitors, domain.Day, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("engine", func(b *testing.B) {
		for b.Loop() {
			counts := windowCounts{buckets: map[int64]tally{}}
			if err := db.countInEngine(deadline(b), scope, localDays(scope.Window), &counts); err != nil {
				b.Fatal(err)
			}
		}
	})
}
