package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/cmd/svc/operator"
	"svc/domain"
	"svc/domain/issue"
	"svc/domain/segment"
)

// TestAChangeLeavesItsTrailOnce kills a server repeatedly while people create keys on it. Every answered change holds,
// with one ledger entry and one audit entry; a missing change has none. A request that is repeated under its
// Idempotency-Key, on a server that moved all actors, takes effect once.
func TestAChangeLeavesItsTrailOnce(t *testing.T) {
	const rounds, people = 6, 4
	dir := t.TempDir()
	answered := map[string]string{} // the id of each key with an answer, and its request
	asked := map[string]string{}    // the answer under each Idempotency-Key, empty if the answer is lost
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

// askAgain repeats unanswered requests, and some of the answered ones: the answer equals the first one.
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

// compareTrails compares keys, ledger and audit entries with the answers.
func (s *server) compareTrails(t *testing.T, answered map[string]string, asked int) {
	t.Helper()
	keys, err := s.node.apps.Keys(t.Context(), domain.AppRef{Org: "acme", App: "web"})
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
	requests := map[string]bool{} // objects of the first start have no request
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
	rows, _, err := s.node.db.AuditRows(t.Context(), domain.AuditQuery{Operation: "keys.create", Limit: 10000})
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

// difference returns the elements that are more frequent in one of two sorted lists.
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

// TestWhatTheOperatorDoesTakesItsTrailAlong reads the ledger after a first start and two commands of the operator: each
// entry was saved with its change, which its id shows.
func TestWhatTheOperatorDoesTakesItsTrailAlong(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	at := []string{"--addr", s.operatorAddr(), "--token-file", filepath.Join(s.dir, operator.TokenFile)}
	for _, command := range [][]string{
		{"members", "put", "--org", "acme", "--email", "ada@acme.example", "--role", "admin"},
		{"tokens", "mint", "--email", "ada@acme.example", "--name", "laptop", "--scopes", "read"},
	} {
		var stdout, stderr bytes.Buffer
		if err := operator.Run(t.Context(), append(command, at...), &stdout, &stderr); err != nil {
			t.Fatalf("%v: %v %s", command, err, stderr.String())
		}
	}
	entries, _, err := s.node.db.LedgerEntries(t.Context(), "acme", "", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[domain.LedgerKind]int{}
	for _, entry := range entries {
		kinds[entry.Kind]++
		if entry.ID == "" || entry.Subject == "" {
			t.Errorf("the entry %s about %q was written apart from its change: its id is %q", entry.Kind, entry.Subject, entry.ID)
		}
	}
	want := map[domain.LedgerKind]int{"organization.created": 1, "app.created": 1, "key.created": 6, "token.created": 2, "member.updated": 1}
	if !maps.Equal(kinds, want) {
		t.Errorf("the ledger has %v, want %v", kinds, want)
	}
	rows, _, err := s.node.db.AuditRows(t.Context(), domain.AuditQuery{Limit: 100})
	if err != nil || len(rows) != 2 {
		t.Errorf("%d audit rows of two commands, %v", len(rows), err)
	}
}

// TestWhatIsRepeatedIsMadeOnce creates objects twice under the draws of one Idempotency-Key, as after the loss of the
// first answer.
func TestWhatIsRepeatedIsMadeOnce(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	app, err := s.node.apps.Get(t.Context(), domain.AppRef{Org: "acme", App: "web"})
	if err != nil {
		t.Fatal(err)
	}
	var comments, segments []string
	first := time.Now()
	for try := range 2 {
		ctx := domain.WithDraws(t.Context(), domain.NewDraws([]byte("seed"), first, try > 0))
		comment, err := s.node.issues.Comment(ctx, 1, 2, "Seen in Berlin", issue.Author{ID: "usr_1"})
		if err != nil {
			t.Fatal(err)
		}
		segment, err := s.node.segments().CreateSegment(ctx, app, segment.Spec{Name: "Friends", Kind: segment.Static})
		if err != nil {
			t.Fatal(err)
		}
		comments, segments = append(comments, comment.ID()), append(segments, segment.ID)
	}
	if comments[0] != comments[1] || segments[0] != segments[1] {
		t.Errorf("a repetition made another: comments %q, segments %q", comments, segments)
	}
}
