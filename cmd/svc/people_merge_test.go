package main

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"svc/domain/person"
)

// TestAMergeThatIsRepeatedMergesOnce kills a server repeatedly while it merges people. It repeats each merge under its
// Idempotency-Key until it is answered, and once more. Each pair is then one person, with one entry in the timeline and
// one in the ledger.
func TestAMergeThatIsRepeatedMergesOnce(t *testing.T) {
	const pairs, rounds = 12, 3
	dir := t.TempDir()
	s := startChild(t, dir, nil)
	ids := map[string]string{}
	for n := range pairs {
		for _, side := range []string{"one", "other"} {
			s.send(item(fmt.Sprint(side, n), fmt.Sprint(side, n), "/", time.Now()))
		}
	}
	eventually(t, "everybody is there", func() error {
		for _, row := range s.get(appPath + "/people?limit=100")["data"].([]any) {
			person := row.(map[string]any)
			ids[fmt.Sprint(person["distinctId"])] = person["id"].(string)
		}
		if len(ids) != 2*pairs {
			return fmt.Errorf("%d people", len(ids))
		}
		return nil
	})
	answered := map[int]string{}
	for range rounds {
		var merging sync.WaitGroup
		merging.Go(func() {
			for n := range pairs {
				got, err := s.merge(ids, n)
				if err != nil {
					return // it was killed
				}
				if got.status == 200 {
					answered[n] = string(got.body)
				}
			}
		})
		time.Sleep(time.Duration(20+rand.IntN(150)) * time.Millisecond) // kills at other steps of a merge
		s.stopped()
		merging.Wait()
		s = startChild(t, dir, nil)
	}
	s.stopped()
	s = startServer(t, dir, nil)
	for n := range pairs {
		for range 2 {
			got, err := s.merge(ids, n)
			if err != nil || got.status != 200 || answered[n] != "" && answered[n] != string(got.body) {
				t.Fatalf("pair %d: %d %s, it was %s: %v", n, got.status, got.body, answered[n], err)
			}
			answered[n] = string(got.body)
		}
	}
	s.mergedOnce(t, ids, pairs)
}

// merge merges a pair into one person.
func (s *server) merge(ids map[string]string, n int) (answer, error) {
	body := fmt.Appendf(nil, `{"personId":%q}`, ids[fmt.Sprint("other", n)])
	return s.try("POST", appPath+"/people/"+ids[fmt.Sprint("one", n)]+"/merge", s.boot.Token, body, map[string]string{"Idempotency-Key": fmt.Sprint("merge ", n)})
}

// mergedOnce compares people, timelines and the ledger with the merged pairs.
func (s *server) mergedOnce(t *testing.T, ids map[string]string, pairs int) {
	t.Helper()
	if people := s.get(appPath + "/people?limit=100")["data"].([]any); len(people) != pairs {
		t.Errorf("there are %d people, want %d", len(people), pairs)
	}
	for n := range pairs {
		merges := 0
		for _, entry := range s.get(appPath + "/people/" + ids[fmt.Sprint("one", n)] + "/timeline")["data"].([]any) {
			if entry.(map[string]any)["title"] == string(person.ActivityMerge) {
				merges++
			}
		}
		if merges != 1 {
			t.Errorf("the timeline of pair %d has %d merges", n, merges)
		}
	}
	entries, _, err := s.node.db.LedgerEntries(t.Context(), "acme", "person.merged", 0, 1000)
	if err != nil || len(entries) != pairs {
		t.Errorf("%d entries are in the ledger, want %d: %v", len(entries), pairs, err)
	}
}
