package reads

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/funnel"
	"svc/domain/goal"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

// busyShop stores events of 60 days: sessions of five page views on 200 paths. One in five adds to the cart, one in 20
// signs up and one in 50 buys.
func busyShop(b testing.TB, db *testDB, events int, end time.Time) {
	b.Helper()
	const perSession = 5
	random := rand.New(rand.NewPCG(3, 4))
	r := clickhousetest.NewReference(1)
	block := db.NewBlock()
	from := end.AddDate(0, 0, -60)
	step := end.Sub(from) / time.Duration(events/perSession)
	number := uint64(0)
	for i := range events / perSession {
		began := from.Add(time.Duration(i) * step)
		visitor := random.IntN(events / 20)
		for j := range perSession {
			row := r.Next(began.Add(time.Duration(j) * 40 * time.Second))
			row.Event.Name = "$pageview"
			switch {
			case j == 2 && random.IntN(5) == 0:
				row.Event.Name = "add_to_cart"
			case j == 3 && random.IntN(20) == 0:
				row.Event.Name = "signup"
			case j == 4 && random.IntN(50) == 0:
				row.Event.Name = "purchase"
			}
			row.Event.DistinctID, row.Event.SessionID = "user-"+strconv.Itoa(visitor), "sess-"+strconv.Itoa(i)
			row.SessionStartedMs = began.UnixMilli()
			row.Bounce, row.DurationMs = 0, 40000
			block.Append(row)
		}
		if block.Rows() >= 100000 || i == events/perSession-1 {
			number++
			insert(b, db, fmt.Sprint(number), number, block)
			block.Reset()
		}
	}
}

func benchEvents() int {
	if n, err := strconv.Atoi(os.Getenv("SVC_BENCH_EVENTS")); err == nil {
		return n
	}
	return 1_000_000
}

// measure runs a read and reports its percentiles and CPU time.
func measure(b *testing.B, read func() error) {
	b.Helper()
	var took []time.Duration
	used := clickhousetest.CPU()
	for b.Loop() {
		start := time.Now()
		if err := read(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	b.ReportMetric(float64((clickhousetest.CPU()-used).Microseconds())/1000/float64(len(took)), "cpu-ms")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

func eventOf(name string) goal.Matcher { return goal.Matcher{Kind: goal.MatchEvent, Match: name} }

func viewOf(path string) goal.Matcher { return goal.Matcher{Kind: goal.MatchPath, Match: path} }

// BenchmarkGoals measures the cost that goals add to the reads of 30 days.
func BenchmarkGoals(b *testing.B) {
	db := open(b)
	end := time.Date(2026, 11, 20, 15, 4, 5, 678e6, time.UTC)
	busyShop(b, db, benchEvents(), end)
	scope := analytics.Scope{Environment: domain.Environment{Number: 123456789}, Window: domain.Window{
		From: end.AddDate(0, 0, -30), To: end, Location: clickhousetest.Location(b, "Europe/Berlin"), Interval: domain.Day,
	}}
	for _, set := range []struct {
		name  string
		goals []goal.Matcher
	}{
		{"none", nil},
		{"events", []goal.Matcher{eventOf("signup"), eventOf("purchase")}},
		{"paths", []goal.Matcher{eventOf("signup"), viewOf("/products/item-7"), viewOf("/products/item-8")}},
		{"prefixes", []goal.Matcher{eventOf("signup"), viewOf("/products/item-1*")}},
	} {
		b.Run("overview/"+set.name, func(b *testing.B) {
			measure(b, func() error { _, err := db.Overview(b.Context(), scope, set.goals); return err })
		})
		if set.goals == nil {
			continue
		}
		b.Run("conversions/"+set.name, func(b *testing.B) {
			measure(b, func() error {
				_, err := db.conversions(b.Context(), scope, set.goals, localDays(scope.Window))
				return err
			})
		})
		b.Run("scan/"+set.name, func(b *testing.B) {
			args := scopeArguments(scope, scope.Window).With(clickhouse.BucketArgs(localDays(scope.Window))).With(goalArguments(set.goals))
			measure(b, func() error {
				return db.conn.Read(b.Context(), "x", clickhouse.Bind(db.queries["conversions.Count"], clickhouse.Clause{}), args, func(driver.Rows) (bool, error) { return true, nil })
			})
		})
		var goals []goal.Goal
		for i, m := range set.goals {
			goals = append(goals, goal.Goal{ID: fmt.Sprint(i), Matcher: m})
		}
		b.Run("goals/"+set.name, func(b *testing.B) {
			measure(b, func() error { _, err := db.GoalCounts(b.Context(), scope, goals); return err })
		})
		b.Run("names/"+set.name, func(b *testing.B) {
			measure(b, func() error {
				_, err := db.Names(b.Context(), analytics.EventNamesQuery{Scope: scope, Limit: 50}, set.goals)
				return err
			})
		})
	}
}

// BenchmarkFunnel compares a funnel with a query that one would write for the engine by hand. That query allows steps
// at the same time in any order and reports nothing about the times.
func BenchmarkFunnel(b *testing.B) {
	db := open(b)
	end := time.Date(2026, 11, 20, 15, 4, 5, 678e6, time.UTC)
	busyShop(b, db, benchEvents(), end)
	scope := analytics.Scope{Environment: domain.Environment{Number: 123456789}, Window: domain.Window{
		From: end.AddDate(0, 0, -30), To: end, Location: time.UTC, Interval: domain.Day,
	}}
	f := funnel.Funnel{WindowHours: funnel.DefaultWindowHours}
	for _, m := range []goal.Matcher{viewOf("/products/item-1*"), viewOf("/products/item-2*"), eventOf("add_to_cart"), eventOf("signup"), eventOf("purchase")} {
		f.Steps = append(f.Steps, funnel.Step{Matcher: m})
	}
	person := db.queries["person.Hash"]
	byHand := `SELECT level, count() FROM (
		SELECT ` + person + ` AS who, windowFunnel(604800000)(toUInt64(toUnixTimestamp64Milli(ts)),
			name IN ('page_view', '$pageview') AND startsWith(path, '/products/item-1'), name IN ('page_view', '$pageview') AND startsWith(path, '/products/item-2'),
			name = 'add_to_cart', name = 'signup', name = 'purchase') AS level
		FROM events
		WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {until:DateTime64(3, 'UTC')}
			AND (name IN ('page_view', '$pageview') AND (startsWith(path, '/products/item-1') OR startsWith(path, '/products/item-2')) OR name IN ('add_to_cart', 'signup', 'purchase'))
		GROUP BY who) GROUP BY level`
	args := db.funnelRead(scope, &f, false).args
	var result funnel.Result
	for range 2 {
		b.Run("by-hand", func(b *testing.B) {
			measure(b, func() error {
				return db.conn.Read(b.Context(), "x", byHand, args, func(driver.Rows) (bool, error) { return true, nil })
			})
		})
		b.Run("funnel", func(b *testing.B) {
			measure(b, func() (err error) { result, err = db.FunnelResult(b.Context(), scope, f); return err })
		})
	}
	b.Logf("%+v", result.Rows)
}
