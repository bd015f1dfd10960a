package conversations

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
)

// appendTo appends one entry to a ledger and returns the stored entity.
func appendTo(t *testing.T, l *ledger, entry domain.LedgerEntry) domain.Entity {
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
	return domain.Entity{Kind: kindEntry, ID: result.Writes[0].ID, Payload: stored}
}

// Entries follow each other, also if the actor was unloaded in between. An entry's organization is always the ledger's
// own, not the caller's.
func TestEntriesFollowEachOther(t *testing.T) {
	t.Parallel()
	var check domain.LedgerCheck
	var last []domain.Entity
	for n := range 6 {
		l := &ledger{org: "acme"}
		if err := l.Restore(last); err != nil {
			t.Fatal(err)
		}
		for range n%2 + 1 {
			stored := appendTo(t, l, domain.LedgerEntry{Org: "globex", Kind: "key.created", Reason: "because"})
			entry, err := grain.Decode[domain.LedgerEntry](stored)
			if err != nil {
				t.Fatal(err)
			}
			if entry.Org != "acme" || entry.At.IsZero() {
				t.Errorf("got %+v", entry)
			}
			check.Add(&entry)
			last = []domain.Entity{stored}
		}
	}
	if check.BrokenAt != 0 || check.Head.Sequence != 9 {
		t.Errorf("got %+v", check)
	}
}

// TestLeftEntriesAreSealedOnce passes entries: once, again, in parts, and after the log began again.
func TestLeftEntriesAreSealedOnce(t *testing.T) {
	t.Parallel()
	l := &ledger{org: "acme"}
	if err := l.Restore(nil); err != nil {
		t.Fatal(err)
	}
	left := func(partition int, offset int64) domain.LeftEntry {
		return domain.LeftEntry{Partition: partition, Offset: offset, Entry: domain.LedgerEntry{ID: fmt.Sprint(partition, "/", offset), Kind: "key.created"}}
	}
	seal := func(unknown bool, some ...domain.LeftEntry) (sealed int, doubtful []domain.LeftEntry) {
		t.Helper()
		payload, err := json.Marshal(sealEntries{Left: some, Unknown: unknown})
		if err != nil {
			t.Fatal(err)
		}
		result, err := ledgerKind.Apply(l, actorstest.At(time.Minute), "seal", payload)
		if err != nil {
			t.Fatal(err)
		}
		// The saved entries are the known ones.
		var stored []domain.Entity
		for _, write := range result.Writes {
			value, err := json.Marshal(write.Value)
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, domain.Entity{Kind: write.Kind, ID: write.ID, Payload: value})
			if write.Kind == kindEntry {
				sealed++
			}
		}
		next := l.next
		if sealed > 0 {
			if err := l.Restore(stored); err != nil {
				t.Fatal(err)
			}
			maps.Copy(next, l.next)
			l.next = next
		}
		return sealed, result.Answer.(sealedEntries).Doubtful
	}
	for n, c := range []struct {
		unknown          bool
		left             []domain.LeftEntry
		sealed, doubtful int
		head             uint64
	}{
		{false, []domain.LeftEntry{left(0, 4), left(1, 9), left(0, 7)}, 3, 0, 3},
		{false, []domain.LeftEntry{left(0, 4), left(0, 7), left(0, 8)}, 1, 2, 4},
		{false, []domain.LeftEntry{left(1, 9)}, 0, 1, 4},
		{true, []domain.LeftEntry{left(1, 2)}, 1, 0, 5},
	} {
		sealed, doubtful := seal(c.unknown, c.left...)
		if sealed != c.sealed || len(doubtful) != c.doubtful || l.head.Sequence != c.head {
			t.Errorf("%d: sealed %d, doubts %v, the head is %d; want %+v", n, sealed, doubtful, l.head.Sequence, c)
		}
	}
}
