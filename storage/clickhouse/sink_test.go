package clickhouse

import (
	"fmt"
	"testing"
	"time"

	"svc"
)

// tables lists the tables that an insert of events feeds.
func tables() []string { return []string{"events", "traffic", "visits", "names"} }

// sums returns a number per table that changes when a row is stored twice.
func sums(t *testing.T, db *DB) map[string]int64 {
	t.Helper()
	return map[string]int64{
		"events":  int64(ask[uint64](t, db, "SELECT count() FROM events")),
		"traffic": ask[int64](t, db, "SELECT sum(events) FROM traffic"),
		"visits":  int64(ask[uint64](t, db, "SELECT sum(events) FROM visits")),
		"names":   int64(ask[uint64](t, db, "SELECT sum(events) FROM names")),
	}
}

func row(environment uint64, ts time.Time, id, visitor, session string) *Row {
	return &Row{
		Environment: environment, SessionStarted: ts, Bounce: 1, RetentionDays: 365,
		Event: &svc.Event{ID: id, Ts: ts, ReceivedAt: ts, Name: svc.PageView, DistinctID: visitor, SessionID: session, Path: "/"},
	}
}

// fill returns a block of n events, one per hour from an instant on.
func hourly(t testing.TB, db *DB, from time.Time, n int) *Block {
	t.Helper()
	b := db.NewBlock()
	for i := range n {
		if err := b.Append(row(7, from.Add(time.Duration(i)*time.Hour), fmt.Sprintf("e%d", i), fmt.Sprintf("u%d", i%5), fmt.Sprintf("s%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func insert(t testing.TB, db *DB, token string, number uint64, b *Block) {
	t.Helper()
	if err := db.Insert(deadline(t), token, number, b); err != nil {
		t.Fatal(err)
	}
}

func TestInsertIsRepeatable(t *testing.T) {
	db := open(t)
	b := hourly(t, db, time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC), 60*24) // three months
	for range 3 {
		insert(t, db, "p0:1-9", 1, b)
		for table, n := range sums(t, db) {
			if n != 60*24 {
				t.Errorf("%s counts %d events, want %d", table, n, 60*24)
			}
		}
	}
	insert(t, db, "p0:10-19", 2, b)
	for table, n := range sums(t, db) {
		if n != 2*60*24 {
			t.Errorf("after another token %s counts %d events, want %d", table, n, 2*60*24)
		}
	}
}

func TestInsertCompletesViews(t *testing.T) {
	db := open(t)
	b := hourly(t, db, time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC), 60*24)
	for _, view := range []string{"traffic_of_events", "visits_of_events", "names_of_events"} {
		t.Run(view, func(t *testing.T) {
			before := sums(t, db)
			definition := ask[string](t, db, "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = '"+view+"'")
			if err := db.conn.Exec(deadline(t), "DETACH TABLE "+view); err != nil {
				t.Fatal(err)
			}
			insert(t, db, "token "+view, 1, b)
			_ = definition
			if err := db.conn.Exec(deadline(t), "ATTACH TABLE "+view); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				insert(t, db, "token "+view, 1, b)
				for table, n := range sums(t, db) {
					if n-before[table] != 60*24 {
						t.Errorf("%s counts %d more events, want %d", table, n-before[table], 60*24)
					}
				}
			}
		})
	}
}
