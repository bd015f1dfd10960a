package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/actors/pipeline"
	"svc/domain/ingest"
	"svc/storage/chdb"
	log "svc/storage/kafka/state"
)

// storeVariable turns the test binary into an engine that serves an address.
const storeVariable = "SVC_TEST_STORE"

// folderVariable is the folder of that engine.
const folderVariable = "SVC_TEST_FOLDER"

// serveStore serves an engine until the process is killed.
func serveStore(addr string) {
	library, err := chdb.FindLibrary("")
	if err == nil {
		_, err = chdb.Open(context.Background(), chdb.Config{Library: library, Dir: os.Getenv(folderVariable), Listen: addr, Settings: map[string]string{"backups.allowed_path": "/"}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// startStore starts a store as a separate process and returns its address.
func startStore(t *testing.T) string {
	t.Helper()
	addr := freeAddress(t)
	command := exec.CommandContext(context.Background(), os.Args[0])
	command.Env = append(os.Environ(), storeVariable+"="+addr, folderVariable+"="+filepath.Join(t.TempDir(), "store"))
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	eventually(t, "the store answers", func() error {
		_, err := countIn(addr, "SELECT 1")
		return err
	})
	return addr
}

// countIn queries a number from a store.
func countIn(addr, query string) (count int, err error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+addr+"/?default_format=TSV&query="+url.QueryEscape(query), http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil {
		_, err = fmt.Sscan(string(body), &count)
	}
	return count, err
}

// storeGate blocks writes through it while it is closed.
type storeGate struct {
	mu sync.RWMutex
	// late is the delay of each write in nanoseconds.
	late atomic.Int64
}

// gatedConn is a connection behind a gate.
type gatedConn struct {
	net.Conn
	gate *storeGate
}

func (c gatedConn) Write(p []byte) (int, error) {
	c.gate.mu.RLock()
	defer c.gate.mu.RUnlock()
	time.Sleep(time.Duration(c.gate.late.Load()))
	return c.Conn.Write(p)
}

// behind returns the address of a store behind a gate.
func (g *storeGate) behind(t *testing.T, addr string) string {
	t.Helper()
	return newCable(t, func() (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", addr)
		return gatedConn{conn, g}, err
	}).listener.Addr().String()
}

// tenant is an application that receives events.
type tenant struct {
	*server
	path, key string
	sent      int
}

// another creates a second application.
func (s *server) another(t *testing.T) *tenant {
	t.Helper()
	made := s.call("POST", "/api/v1/orgs/acme/apps", s.boot.Token, []byte(`{"name":"Other","slug":"other","platform":"web"}`), nil)
	if made.status != http.StatusCreated {
		t.Fatalf("making an application: %d %s", made.status, made.body)
	}
	key := s.call("POST", "/api/v1/apps/acme/other/keys", s.boot.Token, []byte(`{"kind":"secret","environment":"production","label":"Server"}`), nil)
	secret, _ := object(t, key.body)["key"].(string)
	if key.status != http.StatusCreated || secret == "" {
		t.Fatalf("minting a key: %d %s", key.status, key.body)
	}
	return &tenant{server: s, path: "/api/v1/apps/acme/other", key: secret}
}

// publish sends page views, and an error with each fifth.
func (a *tenant) publish(count int) {
	a.t.Helper()
	items := make([]map[string]any, 0, count)
	for range count {
		items = append(items, item(fmt.Sprintf("event-%d", a.sent), fmt.Sprintf("visitor-%d", a.sent%7), "/", time.Now()))
		a.sent++
	}
	body, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		a.t.Fatal(err)
	}
	if got := a.call("POST", "/api/v1/batch", a.key, body, nil); got.status != http.StatusAccepted {
		a.t.Fatalf("sending: %d %s", got.status, got.body)
	}
}

// stored waits until reads show exactly the sent events.
func (a *tenant) stored() {
	a.t.Helper()
	eventually(a.t, a.path+" shows what was sent", func() error {
		got := a.call("GET", a.path+"/analytics/overview?range=24h", a.boot.Token, nil, nil)
		if got.status != http.StatusOK {
			return fmt.Errorf("%d %s", got.status, got.body)
		}
		current, _ := object(a.t, got.body)["current"].(map[string]any)
		if current == nil {
			current = object(a.t, got.body)
		}
		if current["pageviews"] != float64(a.sent) {
			return fmt.Errorf("%v page views of %d", current["pageviews"], a.sent)
		}
		return nil
	})
}

// TestEnvironmentsLiveOnTwoStores has two applications on two stores, and sends to both while the server is killed
// repeatedly. Each store must have every event of its application, once.
func TestEnvironmentsLiveOnTwoStores(t *testing.T) {
	first, second := startStore(t), startStore(t)
	dir, env := t.TempDir(), map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + first + "/ http://" + second + "/"}
	s := startChild(t, dir, env)
	other := s.another(t)
	one := &tenant{server: s, path: appPath, key: s.boot.Keys["production"].Secret}
	for round := range 4 {
		one.publish(20)
		other.publish(30)
		if round%2 == 1 {
			time.Sleep(120 * time.Millisecond) // kills at other steps of a block
		}
		s.stopped()
		s = startChild(t, dir, env)
		one.server, other.server = s, s
	}
	one.stored()
	other.stored()
	for addr, want := range map[string]int{first: one.sent, second: other.sent} {
		for _, query := range []string{"SELECT sum(events) FROM svc.traffic", "SELECT sum(items) FROM svc.usage WHERE fate = 'stored'", "SELECT count() FROM svc.events", "SELECT uniqExact(id) FROM svc.events"} {
			eventually(t, "every table has what was sent", func() error { // the last insert may still be under way
				if got, err := countIn(addr, query); err != nil || got != want {
					return fmt.Errorf("%s: %d, want %d: %w", query, got, want, err)
				}
				return nil
			})
		}
	}
	s.stopped()
	for list, want := range map[string]string{
		"http://" + first + "/": "cannot have fewer", "http://" + second + "/ http://" + first + "/": "begins with the store of shard 1",
	} {
		if err := refusedStart(dir, list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// refusedStart returns the error of a start over other stores.
func refusedStart(dir, list string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0])
	command.Env = append(os.Environ(), childVariable+"=1", "SVC_HTTP_ADDR=127.0.0.1:0", "SVC_ADMIN_ADDR=127.0.0.1:0", "SVC_DATA_DIR="+dir, "SVC_PARTITIONS=4", "SVC_CLICKHOUSE_DSN="+list)
	output, err := command.CombinedOutput()
	if err == nil {
		return errors.New("the start was not refused")
	}
	return errors.New(string(output))
}

// TestAStoreThatIsAwayHoldsUpNoOther cuts one of two stores off, or delays its answers by 200 ms, and sends to the
// applications of both. The data of the other one is visible as fast as usual, even after more than one block.
// Afterwards each store has everything, once.
func TestAStoreThatIsAwayHoldsUpNoOther(t *testing.T) {
	first, second := startStore(t), startStore(t)
	gate := &storeGate{}
	env := map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + first + "/, http://" + gate.behind(t, second) + "/"}
	s := startServer(t, t.TempDir(), env)
	other := s.another(t)
	one := &tenant{server: s, path: appPath, key: s.boot.Keys["production"].Secret}
	other.publish(5)
	other.stored()
	for _, hold := range []func() (release func()){
		func() func() { gate.mu.Lock(); return gate.mu.Unlock },
		func() func() { gate.late.Store(int64(200 * time.Millisecond)); return func() { gate.late.Store(0) } },
	} {
		release := hold()
		for range 10 { // each is in a separate block
			other.publish(10)
			one.publish(5)
			one.stored()
		}
		release()
		other.stored()
	}
	s.settled()
	wantStored(t, map[string]int{first: one.sent, second: other.sent})
}

// stateIsWhole waits until the state log contains the complete state.
func (s *server) stateIsWhole() {
	s.t.Helper()
	eventually(s.t, "the log holds the whole state", func() error {
		archives, err := s.node.stateLog.Archives(context.Background())
		for partition, a := range archives {
			if a == (log.Archive{}) {
				return fmt.Errorf("partition %d was not copied", partition)
			}
		}
		return err
	})
}

// TestAShardThatWasLostIsRebuilt replaces one of two stores by an empty one, and then the other. A start refuses that,
// and after a rebuild each has its data, once.
func TestAShardThatWasLostIsRebuilt(t *testing.T) {
	stores := []string{startStore(t), startStore(t)}
	list := func() map[string]string {
		return map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + stores[0] + "/ http://" + stores[1] + "/"}
	}
	dir := t.TempDir()
	s := startServer(t, dir, list())
	other := s.another(t)
	one := &tenant{server: s, path: appPath, key: s.boot.Keys["production"].Secret}
	one.publish(20)
	other.publish(30)
	s.settled()
	s.stateIsWhole()
	s.stopped()
	for _, lost := range []int{1, 0} {
		stores[lost] = startStore(t)
		if err := refusedStart(dir, list()["SVC_CLICKHOUSE_DSN"]); err == nil || !strings.Contains(err.Error(), "lost") {
			t.Errorf("a start without shard %d: %v", lost, err)
		}
		rebuild := rebuildChild(t.Context(), dir)
		rebuild.Env = append(rebuild.Env, "SVC_CLICKHOUSE_DSN="+list()["SVC_CLICKHOUSE_DSN"])
		if output, err := rebuild.CombinedOutput(); err != nil {
			t.Fatalf("rebuilding shard %d: %v %s", lost, err, output)
		}
		s = startServer(t, dir, list())
		one.server, other.server = s, s
		one.publish(5)
		other.publish(5)
		one.stored()
		other.stored()
		s.settled()
		for shard, want := range []int{one.sent, other.sent} {
			if got, err := countIn(stores[shard], "SELECT count() FROM svc.events"); err != nil || got != want {
				t.Errorf("after the loss of shard %d, shard %d has %d events, want %d: %v", lost, shard, got, want, err)
			}
		}
		s.stopped()
	}
}

// sightings counts the rows that entered open blocks.
type sightings struct {
	pipeline.NopListener
	pipeline.NopBlockListener
	events *atomic.Int64
}

func (s sightings) Open() pipeline.BlockListener { return s }

func (s sightings) Saw(_ int64, rows *ingest.Rows) { s.events.Add(int64(len(rows.Events))) }

// TestASlowStoreDelaysNoOther blocks the writes to one store, and finds the other's events of the same block meanwhile.
func TestASlowStoreDelaysNoOther(t *testing.T) {
	first, second, slow := startStore(t), startStore(t), &storeGate{}
	env := map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + first + "/, http://" + slow.behind(t, second) + "/"}
	var seen atomic.Int64
	s := startServerWith(t, t.TempDir(), env, func(*node) []module {
		return []module{{name: "sightings", listeners: func() []pipeline.Listener { return []pipeline.Listener{sightings{events: &seen}} }}}
	})
	other := s.another(t)
	one := &tenant{server: s, path: appPath, key: s.boot.Keys["production"].Secret}
	one.publish(5)
	other.publish(5)
	one.stored()
	other.stored()
	s.settled()
	for range 3 {
		slow.mu.Lock()
		resume, err := s.node.sinks.Pause(t.Context()) // so that both are in one block
		if err != nil {
			t.Fatal(err)
		}
		other.publish(5)
		one.publish(5)
		eventually(t, "all are in the open block", func() error {
			if got := seen.Load(); got != int64(one.sent+other.sent) {
				return fmt.Errorf("%d are of %d", got, one.sent+other.sent)
			}
			return nil
		})
		resume()
		one.stored()
		if got, err := countIn(second, "SELECT count() FROM svc.events"); err != nil || got != other.sent-5 {
			t.Errorf("the store that is held has %d events, want %d: %v", got, other.sent-5, err)
		}
		eventually(t, "only the store that is held is behind", func() error {
			if got := s.node.db.Behind(time.Now()); got[0] != 0 || got[1] == 0 {
				return fmt.Errorf("they are behind by %v", got)
			}
			return nil
		})
		slow.mu.Unlock()
		other.stored()
	}
	s.settled()
}
