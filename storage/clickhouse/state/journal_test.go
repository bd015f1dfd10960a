package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	client "github.com/ClickHouse/clickhouse-go/v2"

	"svc"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

// openQuietly returns a database whose journal is flushed by its readers alone.
func openQuietly(t testing.TB, name string, alone bool) *testDB {
	t.Helper()
	conn, err := clickhouse.Open(deadline(t), clickhouse.Config{Engine: clickhousetest.Engine(), Database: name})
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(deadline(t), conn, Config{Alone: alone})
	if err != nil {
		t.Fatal(err)
	}
	db.journal.stop()
	<-db.journal.stopped
	return &testDB{db, conn}
}

// write puts one thing of every kind that the journal takes: a goal in a sequence of
// versions with its wake-up, an entry of a ledger, an audit row.
func write(t testing.TB, db *testDB, sequence uint32) {
	t.Helper()
	goal := entity("app/1", "goal", "g", 1, sequence, fmt.Sprintf(`{"n":%d}`, sequence))
	wish := svc.Wakeup{Kind: "app", Identity: "1", Name: "look", Due: time.UnixMilli(1.78e12 + int64(sequence)).UTC()}
	if err := db.Put(deadline(t), []svc.Entity{goal}, []svc.Wakeup{wish}); err != nil {
		t.Fatal(err)
	}
	entry, err := json.Marshal(svc.LedgerEntry{Sequence: uint64(sequence), Kind: "app.updated"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ledger().Put(deadline(t), []svc.Entity{entity("ledger/acme", "entry", fmt.Sprint(sequence), 1, sequence, string(entry))}, nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Append(deadline(t), svc.AuditRow{At: time.UnixMilli(1.78e12), Org: "acme", Detail: fmt.Sprint(sequence)}); err != nil {
		t.Fatal(err)
	}
}

// assertWritten holds what readers find to what write put, up to a sequence.
func assertWritten(t *testing.T, db *testDB, last uint32) {
	t.Helper()
	want := []svc.Entity{entity("app/1", "goal", "g", 1, last, fmt.Sprintf(`{"n":%d}`, last))}
	for range 2 { // from the journal and its table, and then from the table
		if got := load(t, db, "app/1"); !reflect.DeepEqual(got, want) {
			t.Errorf("loaded %+v, want %+v", got, want)
		}
		if err := db.journal.flush(deadline(t)); err != nil {
			t.Fatal(err)
		}
	}
	assertDue(t, db, time.UnixMilli(1.79e12), 10, svc.Wakeup{Kind: "app", Identity: "1", Name: "look", Due: time.UnixMilli(1.78e12 + int64(last)).UTC()})
	entries, more, err := db.LedgerEntries(deadline(t), "acme", "", 0, 100)
	if err != nil || more || len(entries) != int(last) || entries[0].Sequence != uint64(last) {
		t.Errorf("the ledger has %d entries, want %d, the last one first: %v", len(entries), last, err)
	}
	if got := ask[string](t, db, "SELECT format('{} {}', count(), uniqExact(detail)) FROM audit_rows FINAL"); got != fmt.Sprintf("%d %d", last, last) {
		t.Errorf("the audit has %s rows and details, want %d", got, last)
	}
	if left := ask[uint64](t, db, "SELECT count() FROM journal"); left != 0 {
		t.Errorf("%d records are left in the journal", left)
	}
}

// TestTheJournalHoldsWritesUntilSomebodyReads also shows that a journal of one process
// knows when it is empty.
func TestTheJournalHoldsWritesUntilSomebodyReads(t *testing.T) {
	db := openQuietly(t, "journal_holds", true)
	defer func() { _ = db.Close() }() // what matters was asserted
	write(t, db, 1)
	if db.journal.moved.Load() == db.journal.appended.Load() {
		t.Error("the journal believes that it is empty")
	}
	if got := ask[uint64](t, db, "SELECT count() FROM entities"); got != 0 {
		t.Errorf("%d entities are in their table before somebody asks", got)
	}
	assertWritten(t, db, 1)
	write(t, db, 2)
	write(t, db, 3)
	assertWritten(t, db, 3)
	if db.journal.moved.Load() != db.journal.appended.Load() {
		t.Error("the journal does not know that it is empty")
	}
}

func TestWritesOutliveTheirProcess(t *testing.T) {
	first := openQuietly(t, "journal_outlives", true)
	for sequence := range uint32(3) {
		write(t, first, sequence+1)
	}
	if got := ask[string](t, first, "SELECT format('{} {}', count(), (SELECT count() FROM entities)) FROM journal"); got != "9 0" {
		t.Fatalf("the journal and the entities have %s rows, want 9 and 0", got)
	}
	if err := first.conn.Close(); err != nil { // nothing is flushed
		t.Fatal(err)
	}
	second := openQuietly(t, "journal_outlives", true)
	assertWritten(t, second, 3)
	if second.journal.moved.Load() != second.journal.appended.Load() {
		t.Error("the journal does not know that it is empty")
	}
	write(t, second, 4)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third := openQuietly(t, "journal_outlives", true)
	if got := ask[uint64](t, third, "SELECT count() FROM journal"); got != 0 {
		t.Errorf("a database that was closed left %d records", got)
	}
	assertWritten(t, third, 4)
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFlushingAgainChangesNothing has a node die after it wrote the tables and before it removed
// the records, while another node flushes the same records.
func TestFlushingAgainChangesNothing(t *testing.T) {
	db := openQuietly(t, "journal_again", false)
	defer func() { _ = db.Close() }() // what matters was asserted
	write(t, db, 1)
	write(t, db, 2)
	records, _, err := db.journal.read(deadline(t), 100)
	if err != nil || len(records) != 6 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	if err := db.journal.tables.write(deadline(t), records); err != nil {
		t.Fatal(err)
	}
	assertWritten(t, db, 2)
	if err := db.journal.tables.write(deadline(t), records); err != nil { // a node that paused
		t.Fatal(err)
	}
	if err := db.journal.remove(deadline(t), keysOf(records, nil)); err != nil {
		t.Fatal(err)
	}
	assertWritten(t, db, 2)
}

// TestWritesAreReadAtOnce has two nodes write and read the same owners, one after the
// other for each owner.
func TestWritesAreReadAtOnce(t *testing.T) {
	nodes := []*testDB{openNamed(t, "journal_nodes"), openNamed(t, "journal_nodes")}
	nodes[1].journal.removed = compactedAfter - 100 // so that it is compacted meanwhile
	var wait sync.WaitGroup
	for owner := range 8 {
		wait.Go(func() {
			name := fmt.Sprint("app/", owner)
			for version := uint32(1); version <= 40; version++ {
				node := int(version) * (owner + 1)
				if err := nodes[node%2].Put(deadline(t), []svc.Entity{entity(name, "goal", "g", 1, version, "{}")}, nil); err != nil {
					t.Error(err)
					return
				}
				got, err := nodes[(node+1)%2].Load(deadline(t), name)
				if err != nil || len(got) != 1 || got[0].Version.Sequence != version {
					t.Errorf("%s: found %+v after version %d, error %v", name, got, version, err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// TestManyRecordsAreMovedInParts writes more than one insert takes.
func TestManyRecordsAreMovedInParts(t *testing.T) {
	db := openQuietly(t, "journal_many", true)
	defer func() { _ = db.Close() }() // what matters was asserted
	db.journal.removed = compactedAfter - movedAtOnce
	records := make([]record, movedAtOnce+500)
	for i := range records {
		records[i] = record{key: newKey(), Entities: []svc.Entity{entity("app/1", "goal", fmt.Sprint(i), 1, uint32(i), "{}")}}
	}
	if err := db.journal.insert(deadline(t), records); err != nil {
		t.Fatal(err)
	}
	if got := load(t, db, "app/1"); len(got) != len(records) {
		t.Errorf("%d entities, want %d", len(got), len(records))
	}
	if left := ask[uint64](t, db, "SELECT count() FROM journal"); left != 0 || db.journal.removed != 500 {
		t.Errorf("%d records are left, %d removed since the compaction", left, db.journal.removed)
	}
}

// TestTheFileOfTheJournalIsForced writes until the engine has begun a new file, and holds the
// folder to what forcing says of it.
func TestTheFileOfTheJournalIsForced(t *testing.T) {
	db := openWith(t, clickhouse.Config{Database: "journal_file", Durable: true}, Config{Alone: true, TableDir: clickhousetest.Engine().TableDir})
	write(t, db, 1)
	first := db.journal.file.last
	if _, err := os.Stat(first); err != nil || filepath.Ext(first) != ".log" {
		t.Fatalf("forced %s: %v", first, err)
	}
	assertWritten(t, db, 1)
	exec(t, db, "OPTIMIZE TABLE journal") // ends the file, since it is in a table now
	write(t, db, 2)
	if second := db.journal.file.last; byNumber(first, second) >= 0 {
		t.Errorf("forced %s after %s", second, first)
	}
	assertWritten(t, db, 2)
	if err := (&forcedFile{dir: t.TempDir()}).force(); err == nil {
		t.Error("a folder without a log was forced")
	}
}

// TestWithoutAJournalWritesGoToTheirTables is for stores that lack its engine, and for
// those that force writes to disk where its file cannot be reached.
func TestWithoutAJournalWritesGoToTheirTables(t *testing.T) {
	for name, db := range map[string]*testDB{"no engine": open(t), "forced": openWith(t, clickhouse.Config{Database: "journal_forced", Durable: true}, Config{})} {
		if name == "no engine" {
			if err := db.journal.close(); err != nil {
				t.Fatal(err)
			}
			db.journal = nil
		}
		write(t, db, 1)
		if got := ask[uint64](t, db, "SELECT count() FROM journal"); got != 0 {
			t.Errorf("%s: the journal has %d records", name, got)
		}
		write(t, db, 2)
		assertWritten(t, db, 2)
	}
}

// TestMerged merges what the journal has with what the table has.
func TestMerged(t *testing.T) {
	at := func(kind, id string, generation, sequence uint32) svc.Entity {
		return entity("app/1", kind, id, generation, sequence, "{}")
	}
	gone := at("goal", "a", 1, 3)
	gone.Deleted = true
	for name, c := range map[string]struct{ stored, waiting, want []svc.Entity }{
		"nothing waits":     {[]svc.Entity{at("goal", "a", 1, 1)}, nil, []svc.Entity{at("goal", "a", 1, 1)}},
		"nothing is stored": {nil, []svc.Entity{at("goal", "b", 1, 1), at("goal", "a", 1, 2)}, []svc.Entity{at("goal", "a", 1, 2), at("goal", "b", 1, 1)}},
		"a later version":   {[]svc.Entity{at("goal", "a", 1, 1)}, []svc.Entity{gone, at("goal", "a", 1, 2)}, []svc.Entity{gone}},
		"an earlier one":    {[]svc.Entity{at("goal", "a", 2, 1)}, []svc.Entity{at("goal", "a", 1, 9)}, []svc.Entity{at("goal", "a", 2, 1)}},
		"between others":    {[]svc.Entity{at("app", "", 1, 1), at("goal", "b", 1, 1)}, []svc.Entity{at("funnel", "z", 1, 2)}, []svc.Entity{at("app", "", 1, 1), at("funnel", "z", 1, 2), at("goal", "b", 1, 1)}},
	} {
		if got := merged(c.stored, c.waiting); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestNothingIsSentOfWhoLostIt has a writer lose what it owns between its decision and the
// sending, as a node does that stands still.
func TestNothingIsSentOfWhoLostIt(t *testing.T) {
	for name, db := range map[string]*testDB{"journal": openNamed(t, "journal_lost"), "forced": openWith(t, clickhouse.Config{Database: "journal_lost_forced", Durable: true}, Config{})} {
		goal := entity("app/1", "goal", "g", 1, 1, "{}")
		wish := svc.Wakeup{Kind: "app", Identity: "1", Name: "look", Due: time.UnixMilli(1.78e12).UTC()}
		err := db.Put(svc.WithHold(deadline(t), func() bool { return false }), []svc.Entity{goal}, []svc.Wakeup{wish})
		if svc.CodeOf(err) != svc.CodeUnavailable {
			t.Errorf("%s: %v", name, err)
		}
		assertDue(t, db, time.UnixMilli(1.79e12), 10)
		if got := load(t, db, "app/1"); len(got) != 0 {
			t.Errorf("%s: stored %+v", name, got)
		}
		keep(t, db, []svc.Wakeup{wish}, goal)
		assertDue(t, db, time.UnixMilli(1.79e12), 10, wish)
	}
}

// TestBadRecordsAreAlone has a record in the journal that is no record, and one that its table
// cannot hold, among those of other owners.
func TestBadRecordsAreAlone(t *testing.T) {
	var skipped []svc.Entity
	db := openWith(t, clickhouse.Config{Database: "journal_bad", Skipped: func(entity svc.Entity, _ error) { skipped = append(skipped, entity) }}, Config{})
	db.journal.stop()
	<-db.journal.stopped
	exec(t, db, `INSERT INTO journal VALUES ('bad', '{"Entities":')`)
	for n := range uint32(5) {
		write(t, db, n+1)
		if err := db.Ledger().Put(deadline(t), []svc.Entity{entity("ledger/other", "entry", "x", 1, n+1, "no entry")}, nil); err != nil {
			t.Fatal(err)
		}
	}
	assertWritten(t, db, 5)
	if left := ask[uint64](t, db, "SELECT count() FROM journal"); left != 0 {
		t.Errorf("%d records are left in the journal", left)
	}
	if put := ask[uint64](t, db, "SELECT count() FROM refused_records WHERE reason != '' AND (key = 'bad' OR position(record, 'ledger/other') > 0)"); put != 6 {
		t.Errorf("%d records were put aside, want 6", put)
	}
	if len(skipped) != 6 || skipped[0].Kind != "journal" || skipped[0].ID == "" {
		t.Errorf("told of %+v", skipped)
	}
}

// TestFailuresOfTheStorePutNothingAside holds what the store could take later.
func TestFailuresOfTheStorePutNothingAside(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want bool
	}{
		{"a row", clickhouse.WriteError("x", clickhouse.RowError(errors.New("too long"))), true},
		{"a type", clickhouse.WriteError("x", &client.Exception{Code: 53}), true},
		{"parts", clickhouse.WriteError("x", &client.Exception{Code: 252}), false},
		{"memory", clickhouse.WriteError("x", &client.Exception{Code: 241}), false},
		{"disk", clickhouse.WriteError("x", &client.Exception{Code: 243}), false},
		{"network", clickhouse.WriteError("x", errors.New("connection reset")), false},
		{"the writer", errLost, false},
		{"time", clickhouse.WriteError("x", context.DeadlineExceeded), false},
	} {
		if got := forGood(test.err); got != test.want {
			t.Errorf("%s: for good %t, want %t", test.name, got, test.want)
		}
	}
}
