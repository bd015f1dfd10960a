package backup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"svc/domain"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/backup"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/database"
	"svc/storage/clickhouse/state"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

func open(t testing.TB) *database.DB {
	t.Helper()
	db, err := database.Open(deadline(t), clickhouse.Config{Engine: clickhousetest.Engine(), Database: clickhousetest.Name()}, state.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func deadline(t testing.TB) context.Context {
	t.Helper()
	return clickhousetest.Deadline(t)
}

func ask[T any](t testing.TB, db *database.DB, query string) T {
	t.Helper()
	return clickhousetest.Ask[T](t, db.Conn, query)
}

// write stores one thing of every kind that the journal accepts: a new version of a goal with its wake-up, a ledger
// entry and an audit row.
func write(t testing.TB, db *database.DB, sequence uint32) {
	t.Helper()
	version := domain.Version{Generation: 1, Sequence: sequence}
	goal := domain.Entity{Owner: "app/1", Kind: "goal", ID: "g", Version: version, Payload: []byte("{}")}
	wish := domain.Wakeup{Kind: "app", Identity: "1", Name: "look", Due: time.UnixMilli(1.78e12 + int64(sequence)).UTC()}
	if err := db.Put(deadline(t), []domain.Entity{goal}, []domain.Wakeup{wish}, domain.Trail{}); err != nil {
		t.Fatal(err)
	}
	entry, err := json.Marshal(domain.LedgerEntry{Sequence: uint64(sequence), Kind: "app.updated"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ledger().Put(deadline(t), []domain.Entity{{Owner: "ledger/acme", Kind: "entry", ID: fmt.Sprint(sequence), Version: version, Payload: entry}}, nil, domain.Trail{}); err != nil {
		t.Fatal(err)
	}
	if err := db.Append(deadline(t), domain.AuditRow{At: time.UnixMilli(1.78e12), Org: "acme", Detail: fmt.Sprint(sequence)}); err != nil {
		t.Fatal(err)
	}
}

// TestASnapshotIsOneInstant takes snapshots while blocks and changes are written, copies them, and restores them. Each
// must have complete blocks, in the aggregates as well as in the rows, and every change with everything that belongs to
// it.
func TestASnapshotIsOneInstant(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	writing, stop := context.WithCancel(deadline(t))
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	writers.Go(func() {
		for n := uint64(1); writing.Err() == nil; n++ {
			b := db.NewBlock()
			for i := range rows[:20] {
				row := rows[i]
				row.ID = fmt.Sprintf("%d-%d", n, i)
				b.Append(&row)
			}
			if err := db.Insert(deadline(t), fmt.Sprintf("token-%d", n), n, b); err != nil {
				t.Error(err)
				return
			}
		}
	})
	writers.Go(func() {
		for n := uint32(1); writing.Err() == nil; n++ {
			write(t, db, n)
		}
	})
	for round := range 3 {
		for before := ask[uint64](t, db, "SELECT uniqExact(block) FROM events"); ask[uint64](t, db, "SELECT uniqExact(block) FROM events") < before+5; {
			time.Sleep(5 * time.Millisecond)
		}
		id := fmt.Sprintf("r%d", round)
		all, err := db.Snapshots(deadline(t), id)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d snapshots, %v", len(all), err)
		}
		s := all[0]
		place := "File('" + filepath.Join(t.TempDir(), "copy") + "')"
		if err := db.CopySnapshot(deadline(t), 0, s, place, "copy_"+s.Name); err != nil {
			t.Fatal(err)
		}
		if err := db.DropSnapshot(deadline(t), 0, s.Name); err != nil {
			t.Fatal(err)
		}
		assertWhole(t, db, s, place)
	}
	if err := db.DropSnapshots(deadline(t)); err != nil {
		t.Error(err)
	}
}

// assertWhole restores a snapshot and compares its tables with each other.
func assertWhole(t *testing.T, db *database.DB, s *backup.Snapshot, place string) {
	t.Helper()
	name := s.Name + "_restored"
	s.Definitions = nil // they belong to the other database
	counts, err := backup.Restore(deadline(t), clickhouse.Config{Engine: clickhousetest.Engine(), Database: name}, s, place, "restore_"+s.Name)
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range s.Rows {
		if counts[table] != want {
			t.Errorf("%s: %s has %d rows, want %d", name, table, counts[table], want)
		}
	}
	in := func(query string) uint64 { return ask[uint64](t, db, fmt.Sprintf(query, name)) }
	events, blocks := in("SELECT count() FROM %s.events"), in("SELECT uniqExact(block) FROM %s.events")
	if events != 20*blocks || events == 0 {
		t.Errorf("%s: %d events of %d blocks of 20", name, events, blocks)
	}
	if counted := in("SELECT sum(events) FROM %s.event_counts"); counted != events {
		t.Errorf("%s: event_counts has %d of %d events", name, counted, events)
	}
	changes := in("SELECT max(bitAnd(version, 4294967295)) FROM %s.entities")
	wakeups, ledger, audit := in("SELECT max(bitAnd(version, 4294967295)) FROM %s.wakeups"), in("SELECT count() FROM %s.ledger FINAL"), in("SELECT count() FROM %s.audit_rows FINAL")
	if wakeups != changes || ledger+1 < changes || ledger > changes || audit > ledger || audit+1 < ledger {
		t.Errorf("%s: %d changes with %d wake-ups, %d entries, %d audit rows", name, changes, wakeups, ledger, audit)
	}
	if _, err := backup.Restore(deadline(t), clickhouse.Config{Engine: clickhousetest.Engine(), Database: name}, s, place, "again_"+s.Name); err == nil {
		t.Error("a database with tables was restored into")
	}
	clickhousetest.Exec(t, db.Conn, "DROP DATABASE "+name+" SYNC")
}

func TestQueriesExplain(t *testing.T) {
	db := open(t)
	queries, err := clickhouse.LoadQueries(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	clickhousetest.Explain(t, db.Conn, queries, map[string]clickhouse.Args{"backup": {"id": "", "database": "x"}, "snapshot": {"database": "x"}, "parts": {"database": "x"}}, nil)
}
