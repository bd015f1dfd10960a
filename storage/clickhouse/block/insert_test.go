package block

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc/domain/metric"
	"svc/domain/occurrence"
	"svc/storage/clickhouse/clickhousetest"
)

// tables lists the tables that an insert of events feeds.
func tables() []string {
	return []string{"events", "traffic", "visits", "names", "event_counts", "newcomers"}
}

// stored returns a number per table that changes when a row is stored twice.
func stored(t *testing.T, db *testDB) map[string]int64 {
	t.Helper()
	return map[string]int64{
		"events":  int64(ask[uint64](t, db, "SELECT count() FROM events")),
		"traffic": ask[int64](t, db, "SELECT sum(events) FROM traffic"),
		"visits":  int64(ask[uint64](t, db, "SELECT sum(events) FROM visits")),
		"names":   int64(ask[uint64](t, db, "SELECT sum(events) FROM names")),
	}
}

// hourly returns a block of n events, one per hour from an instant on.
func hourly(t testing.TB, db *testDB, from time.Time, n int) *Block {
	t.Helper()
	b := db.NewBlock()
	for i := range n {
		b.Append(clickhousetest.Row(7, from.Add(time.Duration(i)*time.Hour), fmt.Sprintf("e%d", i), fmt.Sprintf("u%d", i%5), fmt.Sprintf("s%d", i)))
	}
	return b
}

func insert(t testing.TB, db *testDB, token string, number uint64, b *Block) {
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

// TestInsertTakesEveryMonth inserts rows across the longest retention. The table gets a part for each month.
func TestInsertTakesEveryMonth(t *testing.T) {
	db := open(t)
	b := db.NewBlock()
	const months = 119
	for n := range months {
		event := clickhousetest.Row(7, time.Now().UTC().AddDate(0, -n, 0), fmt.Sprintf("e%d", n), "u", fmt.Sprintf("s%d", n))
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

// TestRowsOfABlockAreCounted inserts a block with every kind of rows under two tokens, as if the store had lost the
// first.
func TestRowsOfABlockAreCounted(t *testing.T) {
	db := open(t)
	at := time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC)
	b := hourly(t, db, at, 300)
	for i := range 20 {
		at := at.Add(time.Duration(i) * time.Hour)
		b.AppendOccurrence(&occurrence.Row{EnvironmentNumber: 7, Issue: uint64(i), RetentionDays: 365, Occurrence: occurrence.Occurrence{ID: fmt.Sprint(i), Ts: at, ReceivedAt: at, Level: occurrence.LevelError}})
		b.AppendMetric(&metric.Row{Environment: 7, Name: "latency", Series: uint64(i), Kind: metric.Gauge, Ts: at, ReceivedAt: at.Add(time.Hour), RetentionDays: 90, Totals: metric.Totals{Count: 1}})
	}
	insert(t, db, "other", 2, hourly(t, db, at, 50))
	for _, step := range []struct {
		token string
		want  int
	}{{"", 0}, {"a", 340}, {"a", 340}, {"b", 680}} {
		if step.token != "" {
			insert(t, db, step.token, 1, b)
		}
		if got, err := db.CountRows(deadline(t), 1, b); err != nil || got != step.want {
			t.Errorf("after the token %q %d rows are stored, want %d (%v)", step.token, got, step.want, err)
		}
	}
	if got, err := db.CountRows(deadline(t), 3, db.NewBlock()); err != nil || got != 0 {
		t.Errorf("an empty block: %d, %v", got, err)
	}
}

// TestInsertBatch sends the same block over the TCP protocol, which fills a batch of the client differently.
func TestInsertBatch(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()[:500]
	b := db.NewBlock()
	for i := range rows {
		b.Append(&rows[i])
		at := rows[i].Event.Ts
		b.AppendOccurrence(&occurrence.Row{
			EnvironmentNumber: 7, Fingerprint: fmt.Sprint(i), Issue: uint64(i), RetentionDays: 365, TagsJSON: []byte(`{"plan":"pro"}`),
			Occurrence: occurrence.Occurrence{ID: fmt.Sprint(i), Ts: at, ReceivedAt: at, Level: occurrence.LevelError, Name: "E", DistinctID: fmt.Sprint(i % 7)},
		})
	}
	insert(t, db, "1", 5, b)
	for _, kind := range rowKinds()[:2] {
		table, _, _ := strings.Cut(kind.query, ".")
		sum := map[string]string{
			"events":      "SELECT assumeNotNull(sum(cityHash64(* REPLACE (ifNull(value, 0) AS value)))) FROM events",
			"occurrences": "SELECT sum(cityHash64(*)) FROM occurrences",
		}[table]
		want := ask[uint64](t, db, sum)
		exec(t, db, "TRUNCATE TABLE "+table)
		if err := db.conn.InsertBatch(deadline(t), db.queries[kind.query], kind.encode(b, 5)); err != nil {
			t.Fatal(err)
		}
		if got := ask[uint64](t, db, sum); got != want {
			t.Errorf("the rows of the batch of %s differ", table)
		}
	}
}

// TestBlockIsReusable asserts that a block has no rows after Reset.
func TestBlockIsReusable(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
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
