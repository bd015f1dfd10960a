package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/cmd/svc/move"
	"svc/cmd/svc/operator"
)

// move moves production of acme/web to a store.
func (s *server) move(store int) (string, error) {
	var stdout, stderr bytes.Buffer
	args := []string{"acme/web", "production", strconv.Itoa(store), "--addr", s.operatorAddr(), "--token-file", filepath.Join(s.dir, operator.TokenFile)}
	err := move.Run(context.Background(), args, &stdout, &stderr)
	return stdout.String(), err
}

// setMoveStep sets the function that is called for the steps of moves; nil disables it.
func (n *node) setMoveStep(step func(name string) error) {
	if step == nil {
		n.moveStep.Store(nil)
		return
	}
	n.moveStep.Store(&step)
}

// movedReads are reads whose answers a move does not change.
func movedReads() []string {
	return []string{
		"/analytics/overview?range=24h", "/analytics/breakdown?range=24h&dimension=path", "/events?limit=200", "/events/names?range=24h",
		"/people?limit=50", "/errors?status=all", "/metrics/names",
	}
}

// answers returns the answers to an application's reads.
func (a *tenant) answers() map[string]string {
	a.t.Helper()
	all := map[string]string{}
	for _, path := range movedReads() {
		got := a.call("GET", a.path+path, a.boot.Token, nil, nil)
		if got.status != http.StatusOK {
			a.t.Fatalf("%s: %d %s", path, got.status, got.body)
		}
		answer := object(a.t, got.body)
		delete(answer, "range") // the range ends at the time of the request
		all[path] = fmt.Sprint(answer)
	}
	return all
}

// tablesOf returns the tables of a store with rows of an environment, except the tables that are always on shard 0.
func tablesOf(t *testing.T, addr string, environment uint64) []string {
	t.Helper()
	var all, filled []string
	answer, err := http.Get("http://" + addr + "/?default_format=TSV&query=" + url.QueryEscape("SELECT c.table FROM system.columns AS c INNER JOIN system.tables AS t ON t.database = c.database AND t.name = c.table "+
		"WHERE c.database = 'svc' AND c.name = 'environment' AND endsWith(t.engine, 'MergeTree') AND c.table NOT IN ('dead_letters', 'deliveries', 'retentions') ORDER BY c.table"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	all = strings.Fields(string(body))
	for _, table := range all {
		count, err := countIn(addr, fmt.Sprintf("SELECT count() FROM svc.%s WHERE environment = %d", table, environment))
		if err != nil {
			t.Fatal(err)
		}
		if count > 0 {
			filled = append(filled, table)
		}
	}
	return filled
}

// rowsIn compares the tables of a store with the events of an environment, once in each.
func rowsIn(addr string, environment uint64, events int) error {
	for _, sum := range []string{
		"count() FROM svc.events", "uniqExact(id) FROM svc.events", "sum(events) FROM svc.traffic", "sum(events) FROM svc.visits", "sum(events) FROM svc.names",
		"sum(events) FROM svc.event_counts", "sum(events) FROM svc.profiles",
	} {
		if got, err := countIn(addr, fmt.Sprintf("SELECT %s WHERE environment = %d", sum, environment)); err != nil || got != events {
			return fmt.Errorf("%s: %d, want %d: %w", sum, got, events, err)
		}
	}
	got, err := countIn(addr, fmt.Sprintf("SELECT sum(items) FROM svc.usage WHERE fate = 'stored' AND signal = 'events' AND environment = %d", environment))
	if err != nil || got != events {
		return fmt.Errorf("usage: %d, want %d: %w", got, events, err)
	}
	return nil
}

// TestAnEnvironmentMovesWhileItIsServed moves an environment between two stores. Every step is interrupted once, and
// events arrive between all of them. Before the decision the old place is in force, after it the new one. Reads show
// all stored events throughout, and repeated events count once. Afterwards the new store has everything once and the
// old one nothing.
func TestAnEnvironmentMovesWhileItIsServed(t *testing.T) {
	stores := []string{startStore(t), startStore(t)}
	s := startServer(t, t.TempDir(), map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + stores[0] + "/ http://" + stores[1] + "/"})
	other := s.another(t)
	one := &tenant{server: s, path: appPath, key: s.boot.Keys["production"].Secret}
	one.publish(40)
	other.publish(10)
	s.send(
		map[string]any{"type": "error", "name": "Broken", "message": "It broke.", "distinctId": "visitor-1"},
		map[string]any{"type": "metric", "name": "orders", "kind": "counter", "value": 2},
	)
	one.stored()
	other.stored()
	s.settled()
	found, err := s.node.environmentOf("acme/web", "production")
	if err != nil {
		t.Fatal(err)
	}
	before, tables := one.answers(), tablesOf(t, stores[0], found.Number)
	if said, err := s.move(1); err != nil || !strings.HasPrefix(said, "moved production of acme/web from store 0 to store 1;") {
		t.Fatal(said, err)
	}
	after := one.answers()
	for path, want := range before {
		if after[path] != want {
			t.Errorf("%s after the move: %s, want %s", path, after[path], want)
		}
	}
	if old, now := tablesOf(t, stores[0], found.Number), tablesOf(t, stores[1], found.Number); len(old) > 0 || !slices.Equal(now, tables) {
		t.Errorf("tables with rows: %v on the old store, %v on the new one, want %v", old, now, tables)
	}
	if err := rowsIn(stores[1], found.Number, one.sent); err != nil {
		t.Error(err)
	}
	one.sent = 20 // the new store knows their ids
	one.publish(25)
	one.stored()

	failed := errors.New("interrupted")
	for _, step := range []string{"copy", "fill", "add", "finish", "decide", "note", "clear"} {
		s.node.setMoveStep(func(name string) error {
			one.publish(3)
			other.publish(2)
			if name == step {
				return failed
			}
			return nil
		})
		if _, err := s.move(0); err == nil {
			t.Fatalf("the move was not interrupted at %s", step)
		}
		one.publish(3)
		one.stored()
		other.stored()
		want := 1
		if step == "note" || step == "clear" {
			want = 0
		}
		if got := s.node.db.ShardOf(found.Number); got != want {
			t.Errorf("interrupted at %s, the environment is on store %d, want %d", step, got, want)
		}
	}
	s.node.setMoveStep(nil)
	if _, err := s.move(0); err != nil {
		t.Fatal(err)
	}
	s.settled()
	if err := errors.Join(rowsIn(stores[0], found.Number, one.sent), rowsIn(stores[1], found.Number, 0)); err != nil {
		t.Error(err)
	}
	other.stored()
}

// TestAMoveThatIsKilledIsCompleted kills the server while it moves an environment, at another moment each time. It
// sends events after each start, and repeats the command until it succeeds.
func TestAMoveThatIsKilledIsCompleted(t *testing.T) {
	stores := []string{startStore(t), startStore(t)}
	dir, env := t.TempDir(), map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + stores[0] + "/ http://" + stores[1] + "/"}
	s := startChild(t, dir, env)
	one := &tenant{server: s, path: appPath, key: s.boot.Keys["production"].Secret}
	one.publish(30)
	one.stored()
	for round := range 6 {
		ended := make(chan error, 1)
		go func(s *server) {
			_, err := s.move(1)
			ended <- err
		}(s)
		one.publish(5)
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Duration(1+round) * 300 * time.Millisecond): // kills at other steps
			s.stopped()
			if err := <-ended; err != nil {
				t.Log("interrupted:", err)
			}
		}
		s.stopped()
		s = startChild(t, dir, env)
		one.server = s
		one.publish(5)
		one.stored()
	}
	if _, err := s.move(1); err != nil {
		t.Fatal(err)
	}
	one.publish(5)
	one.stored()
	for addr, want := range map[string]int{stores[1]: one.sent, stores[0]: 0} {
		for _, query := range []string{"SELECT count() FROM svc.events", "SELECT uniqExact(id) FROM svc.events", "SELECT sum(events) FROM svc.traffic", "SELECT sum(items) FROM svc.usage WHERE fate = 'stored'"} {
			eventually(t, "the new store has everything once", func() error { // the last insert may still be under way
				if got, err := countIn(addr, query); err != nil || got != want {
					return fmt.Errorf("%s: %d, want %d: %w", query, got, want, err)
				}
				return nil
			})
		}
	}
}

// TestARebuildKnowsWhereEnvironmentsLive loses the store on which an environment was created, after it was moved to
// another. The rebuild finds it there, and does not store the log's events of it again.
func TestARebuildKnowsWhereEnvironmentsLive(t *testing.T) {
	stores := []string{startStore(t), startStore(t)}
	list := func() map[string]string {
		return map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + stores[0] + "/ http://" + stores[1] + "/"}
	}
	dir := t.TempDir()
	s := startServer(t, dir, list())
	one := &tenant{server: s, path: appPath, key: s.boot.Keys["production"].Secret}
	one.publish(20)
	one.stored()
	if _, err := s.move(1); err != nil {
		t.Fatal(err)
	}
	one.publish(5)
	one.stored()
	s.settled()
	found, err := s.node.environmentOf("acme/web", "production")
	if err != nil {
		t.Fatal(err)
	}
	s.stateIsWhole()
	s.stopped()
	stores[0] = startStore(t)
	rebuild := rebuildChild(t.Context(), dir)
	rebuild.Env = append(rebuild.Env, "SVC_CLICKHOUSE_DSN="+list()["SVC_CLICKHOUSE_DSN"])
	if output, err := rebuild.CombinedOutput(); err != nil {
		t.Fatalf("rebuilding: %v %s", err, output)
	}
	s = startServer(t, dir, list())
	one.server = s
	one.stored()
	one.publish(5)
	one.stored()
	s.settled()
	for addr, want := range map[string]int{stores[0]: 0, stores[1]: one.sent} {
		if got, err := countIn(addr, fmt.Sprintf("SELECT count() FROM svc.events WHERE environment = %d", found.Number)); err != nil || got != want {
			t.Errorf("%d events, want %d: %v", got, want, err)
		}
	}
}
