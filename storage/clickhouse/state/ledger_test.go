package state

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"svc/domain"
)

// keepEntries stores a chain of entries that ends at a head, like the ledger's actor.
func keepEntries(t *testing.T, db *testDB, org string, generation uint32, head domain.LedgerHead, kinds ...domain.LedgerKind) []domain.LedgerEntry {
	t.Helper()
	var out []domain.LedgerEntry
	for n, kind := range kinds {
		entry := domain.LedgerEntry{Org: org, Kind: kind, At: time.Date(2026, 11, 20, 12, 0, n, 0, time.UTC), Actor: domain.LedgerActor{ID: "usr_1"}}.Seal(head)
		head = entry.Head()
		payload, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		version := domain.Version{Generation: generation, Sequence: uint32(entry.Sequence)}
		if err := db.Ledger().Put(deadline(t), []domain.Entity{{Owner: "ledger/" + org, Kind: "entry", Version: version, Payload: payload}}, nil, domain.Trail{}); err != nil {
			t.Fatal(err)
		}
		out = append(out, entry)
	}
	return out
}

func TestALedgerIsReadBack(t *testing.T) {
	db := open(t)
	first := keepEntries(t, db, "acme", 1, domain.LedgerHead{}, "app.created", "key.created", "key.revoked")
	keepEntries(t, db, "globex", 1, domain.LedgerHead{}, "app.created")

	head, err := db.Ledger().Load(deadline(t), "ledger/acme")
	if err != nil || len(head) != 1 || head[0].Version != (domain.Version{Generation: 1, Sequence: 3}) {
		t.Errorf("the head is %+v, %v", head, err)
	}
	if empty, err := db.Ledger().Load(deadline(t), "ledger/initech"); err != nil || len(empty) != 0 {
		t.Errorf("an empty ledger has %+v, %v", empty, err)
	}
	page, more, err := db.LedgerEntries(deadline(t), "acme", "", 0, 2)
	if want := []domain.LedgerEntry{first[2], first[1]}; err != nil || !more || !reflect.DeepEqual(page, want) {
		t.Errorf("got %+v, %v, %v", page, more, err)
	}
	page, more, err = db.LedgerEntries(deadline(t), "acme", "", page[1].Sequence, 2)
	if want := first[:1]; err != nil || more || !reflect.DeepEqual(page, want) {
		t.Errorf("the next page is %+v, %v, %v", page, more, err)
	}
	page, _, err = db.LedgerEntries(deadline(t), "acme", "key.created", 0, 10)
	if want := first[1:2]; err != nil || !reflect.DeepEqual(page, want) {
		t.Errorf("of one kind there are %+v, %v", page, err)
	}
	if check, err := db.CheckLedger(deadline(t), "acme"); err != nil || check.BrokenAt != 0 || check.Head != first[2].Head() {
		t.Errorf("the check says %+v, %v", check, err)
	}
}

// A former owner wrote an entry that it never acknowledged. The next owner's entry takes its place, and the ledger is
// intact.
func TestTheLaterGenerationOfALedgerStands(t *testing.T) {
	db := open(t)
	first := keepEntries(t, db, "acme", 1, domain.LedgerHead{}, "app.created")
	later := keepEntries(t, db, "acme", 2, first[0].Head(), "key.created", "key.revoked")
	keepEntries(t, db, "acme", 1, first[0].Head(), "app.updated")
	page, _, err := db.LedgerEntries(deadline(t), "acme", "", 0, 10)
	if want := []domain.LedgerEntry{later[1], later[0], first[0]}; err != nil || !reflect.DeepEqual(page, want) {
		t.Errorf("got %+v, %v", page, err)
	}
	if check, err := db.CheckLedger(deadline(t), "acme"); err != nil || check.BrokenAt != 0 {
		t.Errorf("the check says %+v, %v", check, err)
	}
}

// Entries that are sealed together share a version. The ledger continues after the last of them, regardless of the
// order in which they reached the table.
func TestTheLastOfEntriesSealedTogetherIsTheHead(t *testing.T) {
	db := open(t)
	var entities []domain.Entity
	var head domain.LedgerHead
	for _, kind := range []domain.LedgerKind{"app.created", "key.created", "key.revoked"} {
		entry := domain.LedgerEntry{Org: "acme", Kind: kind, At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}.Seal(head)
		head = entry.Head()
		payload, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		entities = append(entities, domain.Entity{Owner: "ledger/acme", Kind: "entry", Version: domain.Version{Generation: 1, Sequence: 1}, Payload: payload})
	}
	for n := range entities {
		last := entities[len(entities)-1-n:]
		if err := db.Ledger().Put(deadline(t), last[:1], nil, domain.Trail{}); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Ledger().Load(deadline(t), "ledger/acme"); err != nil || len(got) != 1 || string(got[0].Payload) != string(entities[2].Payload) {
			t.Errorf("the head is %+v, %v, want the last entry", got, err)
		}
	}
	if check, err := db.CheckLedger(deadline(t), "acme"); err != nil || check.BrokenAt != 0 || check.Head != head {
		t.Errorf("the check says %+v, %v", check, err)
	}
}

func TestATamperedLedgerShows(t *testing.T) {
	db := open(t)
	keepEntries(t, db, "acme", 1, domain.LedgerHead{}, "app.created", "key.created")
	keepEntries(t, db, "acme", 9, domain.LedgerHead{}, "app.updated")
	if check, err := db.CheckLedger(deadline(t), "acme"); err != nil || check.BrokenAt != 2 {
		t.Errorf("the check says %+v, %v", check, err)
	}
}
