package domain_test

import (
	"encoding/json"
	"testing"
	"time"

	"svc/domain"
)

func chain(count int) []domain.LedgerEntry {
	var head domain.LedgerHead
	out := make([]domain.LedgerEntry, 0, count)
	for n := range count {
		entry := domain.LedgerEntry{
			At: time.Date(2026, 11, 20, 12, 0, n, 999, time.FixedZone("", 3600)), Org: "acme", App: "web", Kind: "key.created",
			Actor: domain.LedgerActor{ID: "usr_1", Name: "Ada"}, Subject: "key_1", Reason: "<new> & shiny", RequestID: "req_1", Metadata: json.RawMessage(`{"a": 1}`),
		}.Seal(head)
		head = entry.Head()
		out = append(out, entry)
	}
	return out
}

// An entry still follows after a round trip through the store.
func TestALedgerIsIntact(t *testing.T) {
	t.Parallel()
	var check domain.LedgerCheck
	for _, entry := range chain(5) {
		encoded, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		var back domain.LedgerEntry
		if err := json.Unmarshal(encoded, &back); err != nil {
			t.Fatal(err)
		}
		check.Add(&back)
	}
	if check.BrokenAt != 0 || check.Head.Sequence != 5 {
		t.Errorf("got %+v", check)
	}
}

func TestAnyChangeOfALedgerShows(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(entries []domain.LedgerEntry) []domain.LedgerEntry{
		"actor": func(e []domain.LedgerEntry) []domain.LedgerEntry { e[2].Actor.ID = "usr_2"; return e },
		"time":  func(e []domain.LedgerEntry) []domain.LedgerEntry { e[2].At = e[2].At.Add(time.Second); return e },
		"metadata": func(e []domain.LedgerEntry) []domain.LedgerEntry {
			e[2].Metadata = json.RawMessage(`{"a": 2}`)
			return e
		},
		"left out":  func(e []domain.LedgerEntry) []domain.LedgerEntry { return append(e[:2:2], e[3:]...) },
		"exchanged": func(e []domain.LedgerEntry) []domain.LedgerEntry { e[2], e[3] = e[3], e[2]; return e },
		"sealed again": func(e []domain.LedgerEntry) []domain.LedgerEntry {
			e[2].Reason = "another"
			e[2] = e[2].Seal(e[1].Head())
			e[3].Sequence++
			return e
		},
		"forged": func(e []domain.LedgerEntry) []domain.LedgerEntry {
			e[2].Previous, e[2].Hash = e[3].Previous, e[3].Hash
			return e
		},
		"metadata is no JSON": func(e []domain.LedgerEntry) []domain.LedgerEntry { e[2].Metadata = json.RawMessage(`{`); return e },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var check domain.LedgerCheck
			for _, entry := range change(chain(5)) {
				check.Add(&entry)
			}
			if check.BrokenAt == 0 {
				t.Error("the change does not show")
			}
		})
	}
}
