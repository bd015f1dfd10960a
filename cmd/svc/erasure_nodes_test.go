package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAnErasedPersonIsGoneFromAllNodes plants a person at a node of three and erases the person through another. It
// searches for the texts in every answer of all nodes at once, and in every file of their folders after the bound.
func TestAnErasedPersonIsGoneFromAllNodes(t *testing.T) {
	env := map[string]string{"SVC_ERASURE_DELAY": "3s", "SVC_LOG_RETENTION": "1h"}
	nodes := startNodesWith(t, env, func(t *testing.T, dir string, env map[string]string) *server {
		t.Helper()
		return startServer(t, dir, env)
	})
	first := nodes[0]
	shortenOldParts(t, first)
	ids := first.plant(t)
	rows := first.node.handler.Routes()
	for i, s := range nodes { // their caches must forget the person as well
		for _, path := range []string{"/people/" + ids["person"], "/people?q=zephyrine", "/events?search=zephyrine", "/analytics/live", "/analytics/breakdown?dimension=path&range=24h"} {
			if got := s.call("GET", appPath+path, s.boot.Token, nil, nil); len(shownIn(got.body)) == 0 {
				t.Errorf("node %d: %s shows nothing of the person: %d %s", i, path, got.status, excerpt(got.body))
			}
		}
	}
	if answer := nodes[1].erase(t, ids["person"]); answer["status"] != "hidden" {
		t.Errorf("the answer is %v", answer)
	}
	for _, s := range nodes {
		s.showsNobody(t, rows, ids)
	}
	nodes[2].send(item("back", "plant-device", "/back", time.Now()))
	for i, s := range nodes {
		eventually(t, fmt.Sprintf("node %d shows who came back, and that the erasure is complete", i), func() error {
			people, erasures := s.get(appPath + "/people?q=plant-device")["data"].([]any), s.get(appPath + "/erasures")["data"].([]any)
			if len(people) != 1 || people[0].(map[string]any)["events"] != 1.0 || people[0].(map[string]any)["id"] == ids["person"] {
				return fmt.Errorf("%v", people)
			}
			if len(erasures) != 1 || erasures[0].(map[string]any)["status"] != "complete" {
				return fmt.Errorf("%v", erasures)
			}
			return nil
		})
		s.showsNobody(t, rows, ids)
	}
	first.erasedInLedger(t, 1)
	eventuallyFiles(t, "no file but those of the log holds a planted text", func() error {
		for _, s := range nodes {
			for _, file := range filesWith(t, s.dir) {
				if !strings.HasPrefix(file, filepath.Join(s.dir, "log")) {
					return fmt.Errorf("%s does", file)
				}
			}
		}
		return nil
	})
}

// erasedInLedger compares the ledger entries of erasures with the number of erased people.
func (s *server) erasedInLedger(t *testing.T, people int) {
	t.Helper()
	entries, _, err := s.node.db.LedgerEntries(t.Context(), "acme", "person.erased", 0, 1000)
	if err != nil || len(entries) != people {
		t.Errorf("%d entries are in the ledger, want %d: %v", len(entries), people, err)
	}
}

// TestAnErasureGoesOnElsewhereAfterAKill erases people through nodes that are killed meanwhile, including nodes that
// remove the rows of earlier people. It repeats each request at another node. No person returns, and each erasure
// exists once.
func TestAnErasureGoesOnElsewhereAfterAKill(t *testing.T) {
	const people, events = 4, 25
	nodes := startNodes(t, map[string]string{"SVC_ERASURE_DELAY": "1s"})
	items := []map[string]any{}
	for n := range (people + 1) * events {
		items = append(items, item(fmt.Sprint("k-", n), fmt.Sprint("person-", n/events), "/a", time.Now().Add(-time.Hour+time.Duration(n)*time.Second)))
	}
	nodes[0].send(items...)
	ids := map[string]string{}
	eventually(t, "everybody is there", func() error {
		for _, row := range nodes[1].get(appPath + "/people")["data"].([]any) {
			if person := row.(map[string]any); person["events"] == float64(events) {
				ids[person["distinctId"].(string)] = person["id"].(string)
			}
		}
		if len(ids) != people+1 {
			return fmt.Errorf("%v", ids)
		}
		return nil
	})
	for n := 1; n <= people; n++ {
		at, elsewhere := n%len(nodes), (n+1)%len(nodes)
		erase := func(s *server) (answer, error) {
			return s.try("DELETE", appPath+"/people/"+ids[fmt.Sprint("person-", n)], s.boot.Token, nil, nil)
		}
		killed := make(chan struct{})
		time.AfterFunc(time.Duration(rand.IntN(400))*time.Millisecond, func() { nodes[at].stopped(); close(killed) }) // at any step of the request
		_, _ = erase(nodes[at])                                                                                       // the node may die before it answers
		<-killed
		if at == 0 { // it has the log and the store of all nodes
			nodes[0] = startAgain(t, nodes[0])
		}
		eventually(t, "another node answers the repeated request", func() error {
			got, err := erase(nodes[elsewhere])
			// If the first request took effect, the person is already gone; the erasures are counted below.
			if err != nil || got.status != 202 && got.status != 404 {
				return fmt.Errorf("%d %s: %w", got.status, got.body, err)
			}
			return nil
		})
		if at != 0 {
			nodes[at] = startAgain(t, nodes[at])
		}
	}
	for i, s := range nodes {
		eventually(t, fmt.Sprintf("node %d says that all erasures are complete", i), func() error {
			rows := s.get(appPath + "/erasures")["data"].([]any)
			if len(rows) != people {
				return fmt.Errorf("%d erasures", len(rows))
			}
			for _, row := range rows {
				one := row.(map[string]any)
				if removed := one["removed"].(map[string]any); one["status"] != "complete" || removed["events"] != float64(events) {
					return fmt.Errorf("%v", one)
				}
			}
			return nil
		})
		if rows := s.get(appPath + "/people")["data"].([]any); len(rows) != 1 || rows[0].(map[string]any)["distinctId"] != "person-0" {
			t.Errorf("node %d: the people are %v", i, rows)
		}
	}
	for _, s := range nodes {
		s.stopped()
	}
	last := startServer(t, nodes[0].dir, nodes[0].env)
	last.serves(t, "the first node answers alone")
	last.erasedInLedger(t, people)
}

// startAgain starts a node of startNodes that was killed.
func startAgain(t *testing.T, s *server) *server {
	t.Helper()
	again := startChild(t, s.dir, s.env)
	again.env = s.env
	again.serves(t, "the node answers again")
	return again
}
