package clickhouse

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"svc"
)

// tables lists the tables that an insert of events feeds.
func tables() []string {
	return []string{"events", "traffic", "visits", "names", "event_counts", "newcomers"}
}

// stored returns a number per table that changes when a row is stored twice.
func stored(t *testing.T, db *DB) map[string]int64 {
	t.Helper()
	return map[string]int64{
		"events":  int64(ask[uint64](t, db, "SELECT count() FROM events")),
		"traffic": ask[int64](t, db, "SELECT sum(events) FROM traffic"),
		"visits":  int64(ask[uint64](t, db, "SELECT sum(events) FROM visits")),
		"names":   int64(ask[uint64](t, db, "SELECT sum(events) FROM names")),
	}
}

func row(environment uint64, ts time.Time, id, visitor, session string) *svc.EventRow {
	return &svc.EventRow{
		EnvironmentNumber: environment, SessionStartedMs: ts.UnixMilli(), Bounce: 1, RetentionDays: 365,
		Event: svc.Event{ID: id, Ts: ts, ReceivedAt: ts, Name: svc.PageView, DistinctID: visitor, SessionID: session, Path: "/"},
	}
}

// hourly returns a block of n events, one per hour from an instant on.
func hourly(t testing.TB, db *DB, from time.Time, n int) *Block {
	t.Helper()
	b := db.NewBlock()
	for i := range n {
		b.Append(row(7, from.Add(time.Duration(i)*time.Hour), fmt.Sprintf("e%d", i), fmt.Sprintf("u%d", i%5), fmt.Sprintf("s%d", i)))
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
		for table, n := range stored(t, db) {
			if n != 60*24 {
				t.Errorf("%s counts %d events, want %d", table, n, 60*24)
			}
		}
	}
	insert(t, db, "p0:10-19", 2, b)
	for table, n := range stored(t, db) {
		if n != 2*60*24 {
			t.Errorf("after another token %s counts %d events, want %d", table, n, 2*60*24)
		}
	}
}

// TestInsertTakesEveryMonth inserts what the longest retention allows: a part for each month.
func TestInsertTakesEveryMonth(t *testing.T) {
	db := open(t)
	b := db.NewBlock()
	const months = 119
	for n := range months {
		event := row(7, time.Now().UTC().AddDate(0, -n, 0), fmt.Sprintf("e%d", n), "u", fmt.Sprintf("s%d", n))
		event.RetentionDays = 4000
		b.Append(event)
	}
	for range 2 {
		insert(t, db, "months", 1, b)
		for table, n := range stored(t, db) {
			if n != months {
				t.Errorf("%s counts %d events, want %d", table, n, months)
			}
		}
	}
}

// TestInsertCompletesViews repeats an insert that a view missed.
func TestInsertCompletesViews(t *testing.T) {
	db := open(t)
	b := hourly(t, db, time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC), 60*24)
	for _, table := range tables()[1:] {
		t.Run(table, func(t *testing.T) {
			before := stored(t, db)
			exec(t, db, "DETACH TABLE "+table+"_of_events")
			insert(t, db, "token "+table, 1, b)
			if n := stored(t, db)[table] - before[table]; n != 0 {
				t.Fatalf("the view was to miss the insert, but %s counts %d", table, n)
			}
			exec(t, db, "ATTACH TABLE "+table+"_of_events")
			for range 2 {
				insert(t, db, "token "+table, 1, b)
				for name, n := range stored(t, db) {
					if n-before[name] != 60*24 {
						t.Errorf("%s counts %d more events, want %d", name, n-before[name], 60*24)
					}
				}
			}
		})
	}
}

// TestInsertBatch sends the same block the way of the TCP protocol, which differs in how a
// batch of the client is filled.
func TestInsertBatch(t *testing.T) {
	db, rows := open(t), testRows()[:500]
	b := db.NewBlock()
	for i := range rows {
		b.Append(&rows[i])
	}
	insert(t, db, "1", 5, b)
	const sum = "SELECT assumeNotNull(sum(cityHash64(* REPLACE (ifNull(value, 0) AS value)))) FROM events"
	want := ask[uint64](t, db, sum)
	exec(t, db, "TRUNCATE TABLE events")
	if err := db.insertBatch(deadline(t), "events.Append", b.encode(5)); err != nil {
		t.Fatal(err)
	}
	if got := ask[uint64](t, db, sum); got != want {
		t.Errorf("the rows of the batch differ")
	}
}

// TestBlockIsReusable asserts that a block that was reset holds nothing of before.
func TestBlockIsReusable(t *testing.T) {
	db, rows := open(t), testRows()
	used, fresh := db.NewBlock(), db.NewBlock()
	for i := range rows {
		used.Append(&rows[i])
	}
	used.encode(1)
	used.Reset()
	for _, b := range []*Block{used, fresh} {
		b.Append(&rows[0])
	}
	if !bytes.Equal(used.encode(3), fresh.encode(3)) {
		t.Error("a used block encodes differently")
	}
}
