package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	client "github.com/ClickHouse/clickhouse-go/v2"

	"svc/domain"
	"svc/storage/clickhouse"
)

// makeFormerJournal creates the journal of an earlier version. It has two versions of a goal with its wake-up, ledger
// entries and audit rows.
func makeFormerJournal(t *testing.T, db *testDB, sequences int) {
	t.Helper()
	exec(t, db, "CREATE TABLE journal (key String, record String) ENGINE = EmbeddedRocksDB PRIMARY KEY key")
	for n := range uint32(sequences) {
		entry, err := json.Marshal(domain.LedgerEntry{Sequence: uint64(n + 1), Kind: "app.updated"})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range []formerRecord{
			{Record: Record{
				Entities: []domain.Entity{entity("app/1", "goal", "g", 1, n+1, fmt.Sprintf(`{"n":%d}`, n+1))},
				Wakeups:  []domain.Wakeup{{Kind: "app", Identity: "1", Name: "look", Due: time.UnixMilli(1.78e12 + int64(n+1)).UTC()}},
			}},
			{Record: Record{Entities: []domain.Entity{entity("ledger/acme", "entry", fmt.Sprint(n+1), 1, n+1, string(entry))}}, Ledger: true},
			{Record: Record{Audit: &domain.AuditRow{At: time.UnixMilli(1.78e12), Org: "acme", Detail: fmt.Sprint(n + 1)}}},
		} {
			encoded, err := json.Marshal(&r)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.conn.Exec(deadline(t), "INSERT INTO journal VALUES ({key:String}, {record:String})", clickhouse.Args{"key": fmt.Sprintf("%d-%d", i, n), "record": string(encoded)}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// assertWritten compares the results of reads with the writes of makeFormerJournal and write, up to a sequence.
func assertWritten(t *testing.T, db *testDB, last uint32) {
	t.Helper()
	want := []domain.Entity{entity("app/1", "goal", "g", 1, last, fmt.Sprintf(`{"n":%d}`, last))}
	if got := load(t, db, "app/1"); !reflect.DeepEqual(got, want) {
		t.Errorf("loaded %+v, want %+v", got, want)
	}
	assertWakeups(t, db, map[domain.Wakeup]uint32{{Kind: "app", Identity: "1", Name: "look", Due: time.UnixMilli(1.78e12 + int64(last)).UTC()}: last})
	entries, more, err := db.LedgerEntries(deadline(t), "acme", "", 0, 100)
	if err != nil || more || len(entries) != int(last) || entries[0].Sequence != uint64(last) {
		t.Errorf("the ledger has %d entries, want %d, the last one first: %v", len(entries), last, err)
	}
	if got := ask[string](t, db, "SELECT format('{} {}', count(), uniqExact(detail)) FROM audit_rows FINAL"); got != fmt.Sprintf("%d %d", last, last) {
		t.Errorf("the audit has %s rows and details, want %d", got, last)
	}
}

// TestTheFormerJournalIsMoved opens a database of an earlier version three times: after a kill before the records were
// removed, again, and with an invalid record.
func TestTheFormerJournalIsMoved(t *testing.T) {
	var skipped []domain.Entity
	cfg := clickhouse.Config{Database: "former_journal", Skipped: func(entity domain.Entity, _ error) { skipped = append(skipped, entity) }}
	db := openWith(t, cfg, Config{})
	makeFormerJournal(t, db, 2)
	if _, err := db.moveFormer(deadline(t)); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "DROP TABLE journal")
	makeFormerJournal(t, db, 3) // as if the process was killed before it removed any record
	exec(t, db, `INSERT INTO journal VALUES ('bad', '{"Entities":')`)
	for range 2 {
		again := openWith(t, cfg, Config{})
		assertWritten(t, again, 3)
		if left := ask[uint64](t, db, "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = 'journal'"); left != 0 {
			t.Error("the former journal is still there")
		}
	}
	if put := ask[uint64](t, db, "SELECT count() FROM refused_records WHERE reason != '' AND key = 'bad'"); put != 1 || len(skipped) != 1 {
		t.Errorf("%d records were put aside, and told of %+v", put, skipped)
	}
	write(t, db, 4)
	assertWritten(t, db, 4)
}

// write stores one thing of every kind that the journal accepts: a new version of a goal with its wake-up, a ledger
// entry and an audit row.
func write(t testing.TB, db *testDB, sequence uint32) {
	t.Helper()
	goal := entity("app/1", "goal", "g", 1, sequence, fmt.Sprintf(`{"n":%d}`, sequence))
	wish := domain.Wakeup{Kind: "app", Identity: "1", Name: "look", Due: time.UnixMilli(1.78e12 + int64(sequence)).UTC()}
	if err := db.Put(deadline(t), []domain.Entity{goal}, []domain.Wakeup{wish}, domain.Trail{}); err != nil {
		t.Fatal(err)
	}
	entry, err := json.Marshal(domain.LedgerEntry{Sequence: uint64(sequence), Kind: "app.updated"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ledger().Put(deadline(t), []domain.Entity{entity("ledger/acme", "entry", fmt.Sprint(sequence), 1, sequence, string(entry))}, nil, domain.Trail{}); err != nil {
		t.Fatal(err)
	}
	if err := db.Append(deadline(t), domain.AuditRow{At: time.UnixMilli(1.78e12), Org: "acme", Detail: fmt.Sprint(sequence)}); err != nil {
		t.Fatal(err)
	}
}

// waitingJournal holds writes until they are flushed.
type waitingJournal struct {
	db      *Store
	records []Record
	free    int
}

func (j *waitingJournal) Append(_ context.Context, r Record, free bool) error {
	if j.records = append(j.records, r); free {
		j.free++
	}
	return nil
}

func (j *waitingJournal) Waiting(context.Context, []string, []string) (Waiting, error) {
	waiting := map[string][]domain.Entity{}
	for _, r := range j.records {
		for _, entity := range append(r.Entities, r.Sealed...) {
			waiting[entity.Owner] = append(waiting[entity.Owner], entity)
		}
	}
	return Waiting{Entities: waiting, Loaded: func(map[string][]domain.Entity) {}}, nil
}

// Recall is not called, because the tables are available.
func (j *waitingJournal) Recall(context.Context, []string, func(*domain.Entity) bool) ([]domain.Entity, error) {
	return nil, errors.ErrUnsupported
}

func (j *waitingJournal) Seal(context.Context) error { return nil }

func (j *waitingJournal) Flush(ctx context.Context) error {
	err := j.db.Move(ctx, j.records)
	j.records = nil
	return err
}

// TestReadsFindWhatTheJournalHolds loads while the journal holds writes, and lists after a flush.
func TestReadsFindWhatTheJournalHolds(t *testing.T) {
	j := new(waitingJournal)
	db := openWith(t, clickhouse.Config{Database: "journal_holds"}, Config{Journal: j})
	j.db = db.Store
	write(t, db, 1)
	if got := ask[uint64](t, db, "SELECT count() FROM entities"); got != 0 || j.free != 1 {
		t.Errorf("%d entities are in their table before somebody asks, %d records are free", got, j.free)
	}
	if got := load(t, db, "app/1"); len(got) != 1 || len(j.records) != 3 {
		t.Errorf("loaded %+v, %d records wait", got, len(j.records))
	}
	if err := db.Flush(deadline(t)); err != nil {
		t.Fatal(err)
	}
	assertWritten(t, db, 1)
	write(t, db, 2)
	if err := db.Notes().Put(deadline(t), []domain.Entity{entity("app/2", "note", "n", 1, 1, "{}")}, nil, domain.Trail{}); err != nil || j.free != 3 {
		t.Errorf("%d records are free, %v", j.free, err)
	}
	if err := db.Flush(deadline(t)); err != nil {
		t.Fatal(err)
	}
	assertWritten(t, db, 2)
}

// TestMerged merges the entities of the journal with those of the table.
func TestMerged(t *testing.T) {
	at := func(kind, id string, generation, sequence uint32) domain.Entity {
		return entity("app/1", kind, id, generation, sequence, "{}")
	}
	gone := at("goal", "a", 1, 3)
	gone.Deleted = true
	for name, c := range map[string]struct{ stored, waiting, want []domain.Entity }{
		"nothing waits":     {[]domain.Entity{at("goal", "a", 1, 1)}, nil, []domain.Entity{at("goal", "a", 1, 1)}},
		"nothing is stored": {nil, []domain.Entity{at("goal", "b", 1, 1), at("goal", "a", 1, 2)}, []domain.Entity{at("goal", "a", 1, 2), at("goal", "b", 1, 1)}},
		"a later version":   {[]domain.Entity{at("goal", "a", 1, 1)}, []domain.Entity{gone, at("goal", "a", 1, 2)}, []domain.Entity{gone}},
		"an earlier one":    {[]domain.Entity{at("goal", "a", 2, 1)}, []domain.Entity{at("goal", "a", 1, 9)}, []domain.Entity{at("goal", "a", 2, 1)}},
		"between others":    {[]domain.Entity{at("app", "", 1, 1), at("goal", "b", 1, 1)}, []domain.Entity{at("funnel", "z", 1, 2)}, []domain.Entity{at("app", "", 1, 1), at("funnel", "z", 1, 2), at("goal", "b", 1, 1)}},
	} {
		if got := merged(c.stored, c.waiting, nil); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestBadRecordsAreAlone moves records that their table cannot hold together with valid records.
func TestBadRecordsAreAlone(t *testing.T) {
	var skipped []domain.Entity
	db := openWith(t, clickhouse.Config{Database: "journal_bad", Skipped: func(entity domain.Entity, _ error) { skipped = append(skipped, entity) }}, Config{})
	var records []Record
	for n := range uint32(5) {
		write(t, db, n+1)
		records = append(records,
			Record{Entities: []domain.Entity{entity("app/2", "goal", fmt.Sprint(n), 1, n+1, "{}")}},
			Record{Sealed: []domain.Entity{entity("ledger/other", "entry", "x", 1, n+1, "no entry")}},
		)
	}
	if err := db.Move(deadline(t), records); err != nil {
		t.Fatal(err)
	}
	assertWritten(t, db, 5)
	if got := load(t, db, "app/2"); len(got) != 5 {
		t.Errorf("%d entities of another owner", len(got))
	}
	if put := ask[uint64](t, db, "SELECT count() FROM refused_records WHERE reason != '' AND position(record, 'ledger/other') > 0"); put != 5 || len(skipped) != 5 {
		t.Errorf("%d records were put aside, and told of %+v", put, skipped)
	}
}

// TestFailuresOfTheStorePutNothingAside checks that records which the store could accept later are not put aside.
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
		{"time", clickhouse.WriteError("x", context.DeadlineExceeded), false},
	} {
		if got := forGood(test.err); got != test.want {
			t.Errorf("%s: for good %t, want %t", test.name, got, test.want)
		}
	}
}
