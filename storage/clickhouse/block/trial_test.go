package block

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/domain/occurrence"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

// poisoned returns a block of rows of three environments over four months. Some rows of the second one are at /poison;
// bad are their indexes.
func poisoned(t testing.TB, db *testDB) (b *Block, bad []int) {
	t.Helper()
	b = db.NewBlock()
	for n := range 300 {
		event := clickhousetest.Row(uint64(7+n%3), time.Now().AddDate(0, -n%4, 0), fmt.Sprintf("e%d", n), fmt.Sprintf("u%d", n%5), fmt.Sprintf("s%d", n))
		value := float64(n)
		event.Value, event.Path = &value, fmt.Sprintf("/%d", n%9)
		if n == 1 || n == 100 || n == 298 {
			event.Path = "/poison"
			bad = append(bad, n)
		}
		b.Append(event)
	}
	return b, bad
}

// TestRefusedRowsAreFoundAndTheRestIsStoredOnce makes the store refuse some rows in each possible way: before any row
// is stored, and in a view after the rows and other views are stored.
func TestRefusedRowsAreFoundAndTheRestIsStoredOnce(t *testing.T) {
	for _, c := range []struct {
		name       string
		statements []string
	}{
		{"by the table", []string{"ALTER TABLE events ADD CONSTRAINT trap CHECK path != '/poison'"}},
		{"by a view", []string{
			"CREATE TABLE trap (n UInt64) ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 100",
			"CREATE MATERIALIZED VIEW trap_of_events TO trap AS SELECT environment + throwIf(path = '/poison') AS n FROM events",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := open(t)
			b, bad := poisoned(t, db)
			for _, statement := range c.statements {
				exec(t, db, statement)
			}
			err := db.Insert(deadline(t), "block-x", 5, b)
			if !errors.Is(err, ingest.ErrRefused) {
				t.Fatalf("inserting: %v", err)
			}
			t.Logf("after the refusal: %v", stored(t, db))
			began := time.Now()
			refused, err := db.Sift(deadline(t), 5, b)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("sifting took %s", time.Since(began))
			var found []int
			for _, r := range refused {
				if found = append(found, r.Row); r.Kind != ingest.LetterEvent || r.Reason == "" {
					t.Errorf("refused: %+v", r)
				}
			}
			if slices.Sort(found); !slices.Equal(found, bad) {
				t.Fatalf("rows %v are refused, want %v", found, bad)
			}
			b.Without(ingest.LetterEvent, found)
			for range 2 {
				insert(t, db, "block-x", 5, b)
				if n := ask[uint64](t, db, "SELECT count() FROM events WHERE path != '/poison'"); n != 297 {
					t.Errorf("%d good events are stored, want 297", n)
				}
				if n := ask[int64](t, db, "SELECT sum(events) FROM traffic WHERE environment != 8"); n != 200 {
					t.Errorf("traffic counts %d events of the other environments, want 200", n)
				}
				if n := ask[int64](t, db, "SELECT sum(events) FROM traffic"); n < 297 || n > 300 {
					t.Errorf("traffic counts %d events, want those that are stored", n)
				}
			}
			if c.name == "by a view" {
				if n := ask[uint64](t, db, "SELECT count() FROM trap"); n != 297 {
					t.Errorf("the view has %d rows, want 297", n)
				}
			}
			if n := ask[uint64](t, db, "SELECT count() FROM system.databases WHERE startsWith(name, {prefix:String})", clickhouse.Args{"prefix": db.conn.Database() + trialMark}); n != 0 {
				t.Errorf("%d databases of trials are left", n)
			}
		})
	}
}

// TestRowsAreTakenOut removes rows of every kind from a block and compares it with a block that never had them.
func TestRowsAreTakenOut(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()[:60]
	occurrences := []occurrence.Row{{Issue: 1, Fingerprint: "a"}, {Issue: 2, Fingerprint: "b"}, {Issue: 3, Fingerprint: "c"}}
	points := []metric.Row{{Name: "a", ID: "1", Values: []float64{1, 2}, Weights: []uint64{3, 4}}, {Name: "b", ID: "2"}, {Name: "c", ID: "3", Values: []float64{5}, Weights: []uint64{6}}}
	whole, rest := db.NewBlock(), db.NewBlock()
	out := map[ingest.LetterKind][]int{ingest.LetterEvent: {59, 0, 7, 8}, ingest.LetterError: {1}, ingest.LetterPoint: {0}}
	for n := range rows {
		if whole.Append(&rows[n]); !slices.Contains(out[ingest.LetterEvent], n) {
			rest.Append(&rows[n])
		}
	}
	for n := range occurrences {
		if whole.AppendOccurrence(&occurrences[n]); !slices.Contains(out[ingest.LetterError], n) {
			rest.AppendOccurrence(&occurrences[n])
		}
		if whole.AppendMetric(&points[n]); !slices.Contains(out[ingest.LetterPoint], n) {
			rest.AppendMetric(&points[n])
		}
	}
	for _, kind := range rowKinds() {
		kind.encode(whole, 9) // as a refused insert does
		whole.Without(kind.kind, out[kind.kind])
		if got, want := kind.encode(whole, 9), kind.encode(rest, 9); !bytes.Equal(got, want) {
			t.Errorf("without %ss the block has %d bytes, want %d, and others", kind.kind, len(got), len(want))
		}
	}
	if whole.Rows() != rest.Rows() {
		t.Errorf("%d rows are left, want %d", whole.Rows(), rest.Rows())
	}
}

// TestAStoreThatRefusesPlainRowsIsToBlameItself asserts that no row becomes a dead letter if the table is at fault.
func TestAStoreThatRefusesPlainRowsIsToBlameItself(t *testing.T) {
	db := open(t)
	b, _ := poisoned(t, db)
	exec(t, db, "ALTER TABLE events ADD CONSTRAINT trap CHECK environment > 1000")
	if err := db.Insert(deadline(t), "block-x", 5, b); !errors.Is(err, ingest.ErrRefused) {
		t.Fatalf("inserting: %v", err)
	}
	if refused, err := db.Sift(deadline(t), 5, b); err != nil || len(refused) != 0 {
		t.Errorf("%d rows are refused, %v", len(refused), err)
	}
}

// TestLettersWaitUntilTheyEnd parks letters twice, ends one, and parks it again.
func TestLettersWaitUntilTheyEnd(t *testing.T) {
	db := open(t)
	now := time.Now().Truncate(time.Millisecond).UTC()
	letters := []ingest.DeadLetter{
		{Block: 9, Partition: 1, Offset: 5, Item: 0, Kind: ingest.LetterEvent, Environment: 7, At: now, Reason: "r", Payload: []byte{1, 2, 0xff}},
		{Block: 9, Partition: 1, Offset: 5, Item: 1, Kind: ingest.LetterEvent, Environment: 8, At: now.Add(time.Second), Reason: "r", Payload: []byte{3}},
	}
	for range 2 {
		if err := db.Park(deadline(t), letters); err != nil {
			t.Fatal(err)
		}
	}
	if counts, err := db.CountLetters(deadline(t)); err != nil || len(counts) != 2 || counts[0].Letters != 1 {
		t.Fatalf("%+v, %v", counts, err)
	}
	found, ids, err := db.Letters(deadline(t), []string{letters[0].ID()})
	if err != nil || len(found) != 1 || string(found[0].Payload) != string(letters[0].Payload) || found[0].Partition != 1 || !found[0].At.Equal(now) {
		t.Fatalf("%+v, %v", found, err)
	}
	if err := db.EndLetters(deadline(t), found, ids, ingest.LetterReplayed); err != nil {
		t.Fatal(err)
	}
	if err := db.Park(deadline(t), letters); err != nil {
		t.Fatal(err)
	}
	rows, err := db.ListLetters(deadline(t), 0, 10)
	if err != nil || len(rows) != 1 || rows[0].ID != letters[1].ID() || rows[0].Bytes != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
	if rows, err := db.ListLetters(deadline(t), 7, 10); err != nil || len(rows) != 0 {
		t.Errorf("of an environment without letters: %+v, %v", rows, err)
	}
}

// crowded returns a block of rows of many environments. Some environments have rows at /poison.
func crowded(t *testing.T, db *testDB, environments, rows int, bad func(environment, row int) bool) *Block {
	t.Helper()
	b := db.NewBlock()
	for environment := range environments {
		for n := range rows {
			event := clickhousetest.Row(uint64(environment), time.Now(), fmt.Sprint(n), "u", "s")
			if bad(environment, n) {
				event.Path = "/poison"
			}
			b.Append(event)
		}
	}
	return b
}

// sentBad reports whether any row of an environment is bad.
func sentBad(bad func(environment, row int) bool, environment, rows int) bool {
	for n := range rows {
		if bad(environment, n) {
			return true
		}
	}
	return false
}

// TestOthersWaitForFewTrials counts the trial inserts that a block waits for. They must be few no matter how many bad
// rows one environment sent, and fewer once this environment is a suspect. No other environment may lose a row.
func TestOthersWaitForFewTrials(t *testing.T) {
	const environments, rows = 40, 50
	for _, c := range []struct {
		name        string
		bad         func(environment, row int) bool
		most, again int
		refused     int
	}{
		{"one row", func(e, n int) bool { return e == 17 && n == 30 }, 30, 19, 1},
		{"ten rows", func(e, n int) bool { return e == 17 && n%5 == 0 }, 90, 78, 10},
		{"all rows of one", func(e, _ int) bool { return e == 17 }, rowTrials + 16, rowTrials + 5, rows},
		{"rows of twenty", func(e, n int) bool { return e%2 == 0 && n == 3 }, 400, 400, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := open(t)
			exec(t, db, "ALTER TABLE events ADD CONSTRAINT trap CHECK path != '/poison'")
			b := crowded(t, db, environments, rows, c.bad)
			for round, most := range []int{c.most, c.again} {
				refused, inserts, err := db.sift(deadline(t), uint64(round+1), b)
				if err != nil || inserts > most {
					t.Errorf("round %d: %d trial inserts, want at most %d, %v", round+1, inserts, most, err)
				}
				if c.refused > 0 && len(refused) != c.refused {
					t.Errorf("round %d: %d rows are refused, want %d", round+1, len(refused), c.refused)
				}
				for _, row := range refused {
					environment := row.Row / rows
					if !sentBad(c.bad, environment, rows) {
						t.Fatalf("round %d: a row of environment %d is refused, which sent no bad one", round+1, environment)
					}
				}
				t.Logf("round %d: %d trial inserts", round+1, inserts)
			}
		})
	}
}
