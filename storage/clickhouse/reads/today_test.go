package reads

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/storage/clickhouse/clickhousetest"
)

// TestTodayFollowsBlocks breaks a day down repeatedly while its blocks arrive. Some reads end before events that are
// already stored, and some go back in time. If blocks bring their events in the order of arrival, no day is counted
// twice. If they come long after that, it is.
func TestTodayFollowsBlocks(t *testing.T) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for name, ordered := range map[string]bool{"in the order of arrival": true, "long after their arrival": false} {
		t.Run(name, func(t *testing.T) {
			db, random := open(t), rand.New(rand.NewPCG(5, 6))
			rows := clickhousetest.Generate(17, 60, day.Add(-6*time.Hour), day.Add(20*time.Hour))
			step := max(len(rows)/12, 1)
			for n := 0; n < len(rows); n += step {
				last := min(n+step, len(rows))
				b := db.NewBlock()
				for i := n; i < last; i++ {
					if ordered {
						rows[i].Event.ReceivedAt = day.Add(time.Duration(i) * time.Second)
					}
					b.Append(&rows[i])
				}
				insert(t, db, fmt.Sprint("block ", n), uint64(n+1), b)
				for range 2 {
					to := day.Add(time.Duration(1+random.Int64N(int64(24*time.Hour)-1)) / 4 * time.Duration(1+n*4/len(rows))).Truncate(time.Millisecond)
					q := analytics.BreakdownQuery{Limit: 100, Scope: analytics.Scope{
						Environment: clickhousetest.Production(), IncludeBots: random.IntN(4) == 0,
						Window: domain.Window{From: day.Add(-3 * time.Hour), To: to, Location: time.UTC},
					}}
					for i, dimension := range []filter.Dimension{filter.DimPath, filter.DimEntryPath, filter.DimExitPath, filter.DimBrowser, filter.DimUTMTerm} {
						if skipped(n/step + i) {
							continue
						}
						q.Dimension = dimension
						want := model{rows[:last]}.breakdown(q, nil)
						if got := allPages(t, db, q, nil); !reflect.DeepEqual(got, want) {
							t.Fatalf("%s up to %s after %d rows:\n got %+v\nwant %+v", q.Dimension, to, last, got, want)
						}
					}
				}
			}
		})
	}
}

// TestTodayKeepsZeros marks sessions of very many visitors, so that some of their numbers end with zero bytes.
func TestTodayKeepsZeros(t *testing.T) {
	db, day := open(t), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	const sessions = 3000
	rows := make([]event.Row, sessions)
	for n := range rows {
		at := day.Add(time.Duration(n) * time.Second)
		rows[n] = event.Row{EnvironmentNumber: 7, SessionStartedMs: at.UnixMilli(), Bounce: 1, RetentionDays: 3650, Event: event.Event{
			ID: fmt.Sprint("e-", n), Ts: at, ReceivedAt: at, Name: event.PageView, Path: "/", DistinctID: fmt.Sprint("user-", n), SessionID: "s",
		}}
	}
	store(t, db, rows, sessions)
	if short := ask[uint64](t, db, "SELECT count() FROM events WHERE bitShiftRight(session, 56) = 0"); short == 0 {
		t.Fatal("no session's number has a zero at its end")
	}
	q := analytics.BreakdownQuery{Dimension: filter.DimEntryPath, Limit: 10, Scope: analytics.Scope{
		Environment: clickhousetest.Production(), Window: domain.Window{From: day, To: day.Add(20 * time.Hour), Location: time.UTC},
	}}
	want := []analytics.BreakdownRow{{Value: "/", Visitors: sessions, Pageviews: sessions, Sessions: sessions, BounceRate: 1}}
	if got := allPages(t, db, q, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestTodayLeavesOutUsersWithoutVisits stores a login that belongs to no visit. It has a browser, which no visitor used.
func TestTodayLeavesOutUsersWithoutVisits(t *testing.T) {
	db, day := open(t), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	row := event.Row{EnvironmentNumber: 7, RetentionDays: 3650, Event: event.Event{
		ID: "login", Ts: day.Add(time.Hour), ReceivedAt: day.Add(time.Hour), Name: event.IdentifyEvent, DistinctID: "user", SessionID: "s", Browser: "Firefox",
	}}
	row.Session.Deeds = event.Unbegun
	store(t, db, []event.Row{row}, 1)
	for _, from := range []time.Time{day, day.Add(30 * time.Minute), day.Add(-24 * time.Hour)} {
		for _, to := range []time.Time{day.Add(2 * time.Hour), day.Add(24 * time.Hour)} {
			q := analytics.BreakdownQuery{Dimension: filter.DimBrowser, Limit: 10, Scope: analytics.Scope{
				Environment: clickhousetest.Production(), Window: domain.Window{From: from, To: to, Location: time.UTC},
			}}
			if got := allPages(t, db, q, nil); len(got) != 0 {
				t.Errorf("%s to %s: got %+v, want no row", from, to, got)
			}
		}
	}
}
