package state

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/domain"
	"svc/storage/clickhouse"
)

func entity(owner, kind, id string, generation, sequence uint32, payload string) domain.Entity {
	return domain.Entity{
		Owner: owner, Kind: kind, ID: id, Payload: []byte(payload),
		Version: domain.Version{Generation: generation, Sequence: sequence},
	}
}

func keep(t *testing.T, db *testDB, wakeups []domain.Wakeup, entities ...domain.Entity) {
	t.Helper()
	if err := db.Put(deadline(t), entities, wakeups, domain.Trail{}); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, db *testDB, owner string) []domain.Entity {
	t.Helper()
	entities, err := db.Load(deadline(t), owner)
	if err != nil {
		t.Fatal(err)
	}
	return entities
}

func TestHighestVersionIsPresent(t *testing.T) {
	db := open(t)
	keep(t, db, nil, entity("app/1", "goal", "g", 2, 5, `{"n":2}`), entity("app/1", "funnel", "f", 2, 5, "{}"))
	keep(t, db, nil, entity("app/1", "goal", "g", 1, 9, `{"n":1}`)) // a write of a former owner
	want := []domain.Entity{entity("app/1", "funnel", "f", 2, 5, "{}"), entity("app/1", "goal", "g", 2, 5, `{"n":2}`)}
	if got := load(t, db, "app/1"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := load(t, db, "app/10"); len(got) != 0 {
		t.Errorf("another owner has %+v", got)
	}
}

func TestDeletedStaysDeleted(t *testing.T) {
	db := open(t)
	gone := entity("app/1", "goal", "g", 3, 2, "")
	gone.Deleted = true
	keep(t, db, nil, entity("app/1", "goal", "g", 3, 1, "{}"))
	keep(t, db, nil, gone)
	keep(t, db, nil, entity("app/1", "goal", "g", 2, 7, "{}"))
	if got := load(t, db, "app/1"); len(got) != 1 || !got[0].Deleted || got[0].Version != gone.Version {
		t.Errorf("got %+v, want the deletion", got)
	}
	if got, err := db.LoadKind(deadline(t), "goal"); err != nil || len(got) != 0 {
		t.Errorf("the deleted entity is present: %+v, error %v", got, err)
	}
	keep(t, db, nil, entity("app/1", "goal", "g", 3, 3, "{}"))
	if got := load(t, db, "app/1"); len(got) != 1 || got[0].Deleted {
		t.Errorf("a later version is not present: %+v", got)
	}
}

func TestLoadKind(t *testing.T) {
	db := open(t)
	for i := range 50 {
		keep(t, db, nil, entity(fmt.Sprintf("app/%02d", i), "app", "", 1, 1, "{}"), entity(fmt.Sprintf("app/%02d", i), "goal", "x", 1, 1, "{}"))
	}
	got, err := db.LoadKind(deadline(t), "app")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 50 || got[49].Owner != "app/49" || got[0].Kind != "app" {
		t.Errorf("got %d entities: %+v", len(got), got)
	}
}

func TestPutSharesInserts(t *testing.T) {
	db := open(t)
	var wait sync.WaitGroup
	for i := range 200 {
		wait.Go(func() {
			if err := db.Put(deadline(t), []domain.Entity{entity("app/1", "goal", fmt.Sprint(i), 1, uint32(i), "{}")}, nil, domain.Trail{}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := load(t, db, "app/1"); len(got) != 200 {
		t.Errorf("%d entities are present, want 200", len(got))
	}
}

func TestWakeups(t *testing.T) {
	db := open(t)
	at := func(minute int) time.Time { return time.Date(2026, 11, 20, 12, minute, 0, 0, time.UTC) }
	wish := func(identity, name string, minute int) domain.Wakeup {
		return domain.Wakeup{Kind: "monitor", Identity: identity, Name: name, Due: at(minute)}
	}
	keep(t, db, []domain.Wakeup{wish("a", "check", 1), wish("a", "purge", 5), wish("b", "check", 3)}, entity("monitor/a", "m", "", 1, 1, ""))
	keep(t, db, []domain.Wakeup{wish("a", "check", 2)}, entity("monitor/a", "m", "", 1, 2, ""))
	keep(t, db, []domain.Wakeup{wish("a", "check", 0)}, entity("monitor/a", "m", "", 1, 1, "")) // older
	assertWakeups(t, db, map[domain.Wakeup]uint32{wish("a", "check", 2): 2, wish("a", "purge", 5): 1, wish("b", "check", 3): 1})
	keep(t, db, []domain.Wakeup{{Kind: "monitor", Identity: "a", Name: "check"}}, entity("monitor/a", "m", "", 1, 3, ""))
	assertWakeups(t, db, map[domain.Wakeup]uint32{wish("a", "purge", 5): 1, wish("b", "check", 3): 1})
	if err := db.Put(deadline(t), nil, []domain.Wakeup{wish("a", "check", 2)}, domain.Trail{}); err == nil {
		t.Error("wake-ups without an entity were accepted")
	}
}

// assertWakeups compares the wake-ups and the sequences of their versions.
func assertWakeups(t *testing.T, db *testDB, want map[domain.Wakeup]uint32) {
	t.Helper()
	got := map[domain.Wakeup]uint32{}
	err := db.Wakeups(deadline(t), func(w domain.Wakeup, version uint64) { got[w] = domain.VersionOf(version).Sequence })
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAudit(t *testing.T) {
	db := open(t)
	var wait sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			err := db.Append(deadline(t), domain.AuditRow{
				At: time.UnixMilli(1.78e12), Org: "acme", Operation: "goals.create", Status: 201, Detail: fmt.Sprint(i),
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := ask[uint64](t, db, "SELECT uniqExact(detail) FROM audit_rows WHERE org = 'acme' AND status = 201"); got != 100 {
		t.Errorf("%d rows are stored, want 100", got)
	}
	if got := ask[int64](t, db, "SELECT toUnixTimestamp64Milli(max(at)) FROM audit_rows"); got != 1.78e12 {
		t.Errorf("the time of a row is %d ms", got)
	}
}

// TestAuditRowsAreRead pages through rows of two organizations, some with the same time, and filters them.
func TestAuditRowsAreRead(t *testing.T) {
	db := open(t)
	at := func(n int) time.Time { return time.UnixMilli(1.78e12).Add(time.Duration(n/2) * time.Second).UTC() }
	for n := range 10 {
		row := domain.AuditRow{
			At: at(n), Org: []string{"acme", "globex"}[n%2], App: "web", RequestID: "req_1", Operation: fmt.Sprintf("goals.%d", n%3), Method: "POST", Path: "/x",
			Status: 201, TokenID: "tok_1", TokenKind: domain.TokenPersonal, UserID: fmt.Sprintf("usr_%d", n%5), Detail: fmt.Sprint(n),
		}
		if err := db.Append(deadline(t), row); err != nil {
			t.Fatal(err)
		}
	}
	read := func(q domain.AuditQuery) (details []string) {
		t.Helper()
		for {
			page, more, err := db.AuditRows(deadline(t), q)
			if err != nil {
				t.Fatal(err)
			}
			for i := range page {
				if page[i].ID == "" {
					t.Fatalf("a row without an id: %+v", page[i])
				}
				details = append(details, page[i].Detail)
			}
			if !more {
				return details
			}
			last := page[len(page)-1]
			q.Before, q.BeforeID = &last.At, last.ID
		}
	}
	since, until := at(2), at(6)
	for name, c := range map[string]struct {
		query domain.AuditQuery
		want  []string
	}{
		"an organization's":   {domain.AuditQuery{Org: "acme", Limit: 100}, []string{"8", "6", "4", "2", "0"}},
		"page by page":        {domain.AuditQuery{Org: "acme", Limit: 2}, []string{"8", "6", "4", "2", "0"}},
		"of an operation":     {domain.AuditQuery{Operation: "goals.1", Limit: 1}, []string{"7", "4", "1"}},
		"of a person":         {domain.AuditQuery{UserID: "usr_3", Limit: 1}, []string{"8", "3"}},
		"of a time":           {domain.AuditQuery{Org: "globex", Since: &since, Until: &until, Limit: 1}, []string{"5", "3"}},
		"of no application":   {domain.AuditQuery{App: "blog", Limit: 1}, nil},
		"of an unknown token": {domain.AuditQuery{TokenID: "tok_2", Limit: 1}, nil},
	} {
		if got := read(c.query); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := read(domain.AuditQuery{Limit: 3}); len(got) != 10 {
		t.Errorf("all, three at a time: %v", got)
	}
}

func TestDurable(t *testing.T) {
	db := openWith(t, clickhouse.Config{Database: "durable", Durable: true}, Config{})
	keep(t, db, nil, entity("app/1", "goal", "g", 1, 1, "{}"))
	again := openWith(t, clickhouse.Config{Database: "durable", Durable: true}, Config{}) // applies no migration twice and finds the stored data
	if got := load(t, again, "app/1"); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	for _, table := range []string{"events", "traffic", "visits", "names", "event_counts", "newcomers", "entities", "wakeups", "audit_rows"} {
		text := ask[string](t, db, "SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = '"+table+"'")
		if !strings.Contains(text, "fsync_after_insert = 1, fsync_part_directory = 1") {
			t.Errorf("%s is not forced to disk: %s", table, text)
		}
	}
}

func TestOpenAtOnce(t *testing.T) {
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() { openNamed(t, "together") })
	}
	wait.Wait()
}
