package reads

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/lru"
)

// BenchmarkReads measures breakdowns, rolling uniques and cohorts of 30 days. SVC_BENCH_EVENTS is the number of events
// in the 60 days that are stored. Warm reads advance by a second each; a cold read finds nothing in memory. The raw
// scan answers the same query from the rows of events.
func BenchmarkReads(b *testing.B) {
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
	breakdown := func(dimension filter.Dimension) func(context.Context, analytics.Scope) error {
		return func(ctx context.Context, scope analytics.Scope) error {
			_, err := db.Breakdown(ctx, analytics.BreakdownQuery{Scope: scope, Dimension: dimension, Limit: domain.BreakdownPageSize}, nil)
			return err
		}
	}
	scan := func(dimension filter.Dimension) func(context.Context, analytics.Scope) error {
		return func(ctx context.Context, scope analytics.Scope) error {
			q := analytics.BreakdownQuery{Scope: scope, Dimension: dimension, Limit: domain.BreakdownPageSize}
			v, err := db.valuesOf(b.Context(), q)
			if err != nil {
				return err
			}
			_, _, err = db.rankEvents(ctx, q, v)
			return err
		}
	}
	for _, read := range []struct {
		name string
		cold bool
		read func(context.Context, analytics.Scope) error
	}{
		{"path-scan", false, scan(filter.DimPath)},
		{"path-cold", true, breakdown(filter.DimPath)},
		{"path-warm", false, breakdown(filter.DimPath)},
		{"browser-scan", false, scan(filter.DimBrowser)},
		{"browser-cold", true, breakdown(filter.DimBrowser)},
		{"browser-warm", false, breakdown(filter.DimBrowser)},
		{"entry-cold", true, breakdown(filter.DimEntryPath)},
		{"entry-warm", false, breakdown(filter.DimEntryPath)},
		{"active-cold", true, func(ctx context.Context, scope analytics.Scope) error {
			_, err := db.ActiveUsers(ctx, scope)
			return err
		}},
		{"active-warm", false, func(ctx context.Context, scope analytics.Scope) error {
			_, err := db.ActiveUsers(ctx, scope)
			return err
		}},
		{"retention", false, func(ctx context.Context, scope analytics.Scope) error {
			_, err := db.Retention(ctx, analytics.RetentionQuery{Scope: scope, CohortBy: domain.Week})
			return err
		}},
	} {
		b.Run(read.name, func(b *testing.B) {
			var took []time.Duration
			var used time.Duration
			for i := 0; b.Loop(); i++ {
				if read.cold {
					db.forget()
				}
				s := scope
				s.Window.From, s.Window.To = s.Window.From.Add(time.Duration(i)*time.Second), s.Window.To.Add(time.Duration(i)*time.Second)
				began, before := time.Now(), clickhousetest.CPU()
				if err := read.read(deadline(b), s); err != nil {
					b.Fatal(err)
				}
				took, used = append(took, time.Since(began)), used+clickhousetest.CPU()-before
			}
			slices.Sort(took)
			b.ReportMetric(float64(used.Microseconds())/1000/float64(len(took)), "cpu-ms")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}

// forget clears the caches of past days.
func (db *testDB) forget() {
	db.pieces = lru.New[pieceKey, *piece](pieceBytes)
	db.ranks, db.rests = lru.New[rankKey, []ranked](rankBytes), lru.New[rankKey, *dayRest](restBytes)
	db.past = lru.New[pastKey, *past](pastBytes)
}
