package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"svc"
)

// TestAChangeLeavesItsTrailOnce kills a server that people change keys on, again and again. Whatever
// was answered stands, with one entry of the ledger and one audit row; what is not there has none.
func TestAChangeLeavesItsTrailOnce(t *testing.T) {
	const rounds, people = 6, 4
	dir := t.TempDir()
	answered := map[string]string{} // the id of each key that was answered, and its request
	for range rounds {
		s := startChild(t, dir, nil)
		var mu sync.Mutex
		var all sync.WaitGroup
		ends := time.Now().Add(time.Duration(150+rand.IntN(300)) * time.Millisecond)
		for range people {
			all.Go(func() {
				for time.Now().Before(ends.Add(50 * time.Millisecond)) {
					answer, err := s.try("POST", "/api/v1/apps/acme/web/keys", s.boot.Token, []byte(`{"kind":"public","environment":"production"}`), nil)
					if err != nil {
						return // it was killed
					}
					mu.Lock()
					if answer.status == 201 {
						answered[fmt.Sprint(object(t, answer.body)["id"])] = answer.header.Get("X-Request-Id")
					}
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Until(ends)) //nolint:forbidigo // when it is killed is chance
		s.stopped()
		all.Wait()
	}
	s := startServer(t, dir, nil)
	s.compareTrails(t, answered)
}

// compareTrails compares keys, ledger and audit rows with what was answered.
func (s *server) compareTrails(t *testing.T, answered map[string]string) {
	t.Helper()
	keys, err := s.node.apps.Keys(t.Context(), svc.AppRef{Org: "acme", App: "web"})
	if err != nil {
		t.Fatal(err)
	}
	var made, entered []string
	for _, key := range keys {
		made = append(made, key.ID)
	}
	entries, _, err := s.node.db.LedgerEntries(t.Context(), "acme", "key.created", 0, 10000)
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string]bool{} // what the first start made had none
	for _, entry := range entries {
		entered = append(entered, entry.Subject)
		if entry.RequestID != "" {
			requests[entry.RequestID] = true
		}
	}
	slices.Sort(made)
	slices.Sort(entered)
	if !slices.Equal(made, entered) || len(made) < len(answered) {
		t.Errorf("%d keys were answered, %d are there, %d entries are in the ledger: they differ in %v", len(answered), len(made), len(entered), difference(made, entered))
	}
	if check, err := s.node.db.CheckLedger(t.Context(), "acme"); err != nil || check.BrokenAt != 0 {
		t.Errorf("the ledger: %+v, %v", check, err)
	}
	rows, _, err := s.node.db.AuditRows(t.Context(), svc.AuditQuery{Operation: "keys.create", Limit: 10000})
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, row := range rows {
		if row.Status == 201 {
			times[row.RequestID]++
		}
	}
	for id, request := range answered {
		if times[request] != 1 {
			t.Errorf("key %s has %d audit rows", id, times[request])
		}
		if _, there := slices.BinarySearch(made, id); !there {
			t.Errorf("key %s was answered and is not there", id)
		}
	}
	if len(times) != len(requests) {
		t.Errorf("there are audit rows of %d requests, and entries of %d", len(times), len(requests))
	}
	t.Logf("%d keys answered, %d made", len(answered), len(made))
}

// difference returns what is in one of two sorted lists more often than in the other.
func difference(a, b []string) (out []string) {
	count := map[string]int{}
	for _, one := range a {
		count[one]++
	}
	for _, one := range b {
		count[one]--
	}
	for one, n := range count {
		if n != 0 {
			out = append(out, fmt.Sprintf("%s %+d", one, n))
		}
	}
	return out
}
