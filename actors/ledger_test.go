package actors

import (
	"encoding/json"
	"testing"
	"time"

	"svc"
)

// appendTo gives a ledger one entry and returns what it stores.
func appendTo(t *testing.T, l *ledger, entry svc.LedgerEntry) svc.Entity {
	t.Helper()
	payload, err := json.Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	result, err := l.apply(at(time.Minute), "append", payload)
	if err != nil || len(result.writes) != 1 || result.writes[0].kind != kindEntry {
		t.Fatalf("got %+v, %v", result, err)
	}
	stored, err := json.Marshal(result.writes[0].value)
	if err != nil {
		t.Fatal(err)
	}
	return svc.Entity{Kind: kindEntry, ID: result.writes[0].id, Payload: stored}
}

// Entries follow each other also where the actor was forgotten in between, and an
// entry's organization is the ledger's own, whatever the caller says.
func TestEntriesFollowEachOther(t *testing.T) {
	t.Parallel()
	var check svc.LedgerCheck
	var last []svc.Entity
	for n := range 6 {
		l := &ledger{org: "acme"}
		if err := l.restore(last); err != nil {
			t.Fatal(err)
		}
		for range n%2 + 1 {
			stored := appendTo(t, l, svc.LedgerEntry{Org: "globex", Kind: "key.created", Reason: "because"})
			entry, err := decode[svc.LedgerEntry](stored)
			if err != nil {
				t.Fatal(err)
			}
			if entry.Org != "acme" || entry.At.IsZero() {
				t.Errorf("got %+v", entry)
			}
			check.Add(&entry)
			last = []svc.Entity{stored}
		}
	}
	if check.BrokenAt != 0 || check.Head.Sequence != 9 {
		t.Errorf("got %+v", check)
	}
}
