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

// TestAChangeLeavesItsTrailOnce kills a server that people make keys on, again and again. Whatever
// was answered stands, with one entry of the ledger and one audit row; what is not there has none. What
// is asked again under its Idempotency-Key, by a server that moved all actors, is there once.
func TestAChangeLeavesItsTrailOnce(t *testing.T) {
	const rounds, people = 6, 4
	dir := t.TempDir()
	answered := map[string]string{} // the id of each key that was answered, and its request
	asked := map[string]string{}    // what was answered under each Idempotency-Key, empty where the answer is lost
	body := []byte(`{"kind":"public","environment":"production"}`)
	for range rounds {
		s := startChild(t, dir, nil)
		s.askAgain(t, asked, body)
		var mu sync.Mutex
		var all sync.WaitGroup
		ends := time.Now().Add(time.Duration(150+rand.IntN(300)) * time.Millisecond)
		for range people {
			all.Go(func() {
				for time.Now().Before(ends.Add(50 * time.Millisecond)) {
					mu.Lock()
					key := fmt.Sprint("key ", len(asked))
					asked[key] = ""
					mu.Unlock()
					answer, err := s.try("POST", "/api/v1/apps/acme/web/keys", s.boot.Token, body, map[string]string{"Idempotency-Key": key})
					if err != nil {
						return // it was killed
					}
					if answer.status == 201 {
						mu.Lock()
						asked[key] = string(answer.body)
						answered[fmt.Sprint(object(t, answer.body)["id"])] = answer.header.Get("X-Request-Id")
						mu.Unlock()
					}
				}
			})
		}
		time.Sleep(time.Until(ends))
		s.stopped()
		all.Wait()
	}
	s := startServer(t, dir, nil)
	s.askAgain(t, asked, body)
	s.compareTrails(t, answered, len(asked))
}

// askAgain repeats what was not answered before, and a part of what was: the answer is that of the first
// time.
func (s *server) askAgain(t *testing.T, asked map[string]string, body []byte) {
	t.Helper()
	for key, before := range asked {
		if before != "" && rand.IntN(10) > 0 {
			continue
		}
		got := s.call("POST", "/api/v1/apps/acme/web/keys", s.boot.Token, body, map[string]string{"Idempotency-Key": key})
		if got.status != 201 || before != "" && before != string(got.body) {
			t.Errorf("%s: %d %s, it was %s", key, got.status, got.body, before)
		}
		asked[key] = string(got.body)
	}
}

// compareTrails compares keys, ledger and audit rows with what was answered.
func (s *server) compareTrails(t *testing.T, answered map[string]string, asked int) {
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
	if want := asked + len(s.boot.Keys)*2; len(made) != want {
		t.Errorf("%d keys are there, want %d: one for each Idempotency-Key", len(made), want)
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
	for request := range requests {
		if times[request] != 1 {
			t.Errorf("the change of %s has %d audit rows", request, times[request])
		}
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
