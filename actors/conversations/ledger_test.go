package conversations

import (
	"encoding/json"
	"testing"
	"time"

	"svc"
	"svc/actors/actorstest"
	"svc/actors/grain"
)

// appendTo gives a ledger one entry and returns what it stores.
func appendTo(t *testing.T, l *ledger, entry svc.LedgerEntry) svc.Entity {
	t.Helper()
	payload, err := json.Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	result, err := ledgerKind.Apply(l, actorstest.At(time.Minute), "append", payload)
	if err != nil || len(result.Writes) != 1 || result.Writes[0].Kind != kindEntry {
		t.Fatalf("got %+v, %v", result, err)
	}
	stored, err := json.Marshal(result.Writes[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	return svc.Entity{Kind: kindEntry, ID: result.Writes[0].ID, Payload: stored}
}

// Entries follow each other also where the actor was forgotten in between, and an
// entry's organization is the ledger's own, whatever the caller says.
func TestEntriesFollowEachOther(t *testing.T) {
	t.Parallel()
	var check svc.LedgerCheck
	var last []svc.Entity
	for n := range 6 {
		l := &ledger{org: "acme"}
		if err := l.Restore(last); err != nil {
			t.Fatal(err)
		}
		for range n%2 + 1 {
			stored := appendTo(t, l, svc.LedgerEntry{Org: "globex", Kind: "key.created", Reason: "because"})
			entry, err := grain.Decode[svc.LedgerEntry](stored)
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
