package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc/domain"
	"svc/storage/chdb"
)

// startBehindCable starts a server with a store at an address that can be cut off. It returns a function that restarts
// the server over the same data.
func startBehindCable(t *testing.T) (start func() *server, store *cable) {
	t.Helper()
	library, err := chdb.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := chdb.Open(context.Background(), chdb.Config{Library: library, Dir: filepath.Join(t.TempDir(), "store")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	store = newCable(t, func() (net.Conn, error) { return engine.DialContext(context.Background(), "") })
	dir := t.TempDir()
	return func() *server {
		t.Helper()
		return startServer(t, dir, map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + store.listener.Addr().String() + "/"})
	}, store
}

// figure returns the sum of a counter of the node.
func (s *server) figure(name string) (sum float64) {
	s.t.Helper()
	families, err := s.node.registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// TestWakeupsAreDeliveredWhileTheStoreIsAway lets a token expire after the store was cut off.
func TestWakeupsAreDeliveredWhileTheStoreIsAway(t *testing.T) {
	start, store := startBehindCable(t)
	s := start()
	expires := time.Now().Add(2 * time.Second)
	spec := domain.TokenSpec{Name: "short", Scopes: []domain.Scope{domain.ScopeRead}, ExpiresAt: &expires}
	if _, _, err := s.node.identity.MintToken(context.Background(), domain.TokenOwner{Org: "acme"}, spec); err != nil {
		t.Fatal(err)
	}
	store.pull()
	defer store.plug()
	eventually(t, "the token's actor is woken", func() error {
		if woken := s.figure("svc_wakeups_total"); woken < 1 {
			return fmt.Errorf("%v wake-ups were delivered", woken)
		}
		return nil
	})
}

// TestColdActorsWhileTheStoreIsAway stops all actors while the store is cut off. Actors that were in memory continue
// with their full state, and so do others, whose state is in the state log.
func TestColdActorsWhileTheStoreIsAway(t *testing.T) {
	start, store := startBehindCable(t)
	s := start()
	change := func(path, body string) answer {
		return s.call("POST", appPath+path, s.boot.Token, []byte(body), nil)
	}
	goal := func(n int) string { return fmt.Sprintf(`{"name":"Goal %d","kind":"event","match":"e%d"}`, n, n) }
	rule := func(n int) string {
		return fmt.Sprintf(`{"name":"Rule %d","kind":"event_volume","threshold":3,"comparator":"gte","condition":{"name":"e%d"},"channelIds":[]}`, n, n)
	}
	if got := change("/goals", goal(1)); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := change("/alerts", rule(1)); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	ctx := context.Background()
	stranger, err := s.node.identity.User(ctx, "stranger@other.example", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.node.identity.CreateOrganization(ctx, stranger, domain.OrgSpec{Name: "Other"}); err != nil {
		t.Fatal(err)
	}
	s.stopped()
	s = start()
	for _, path := range []string{"/goals", "/alerts"} {
		s.get(appPath + path)
	}
	for _, made := range []answer{change("/goals", goal(2)), change("/alerts", rule(2))} {
		if made.status != http.StatusCreated {
			t.Fatalf("%d %s", made.status, made.body)
		}
	}
	s.stateIsWhole()
	store.pull()
	for partition := range s.node.config.Partitions {
		s.node.cluster.Evict(partition)
		if err := s.node.cluster.Vacated(ctx, partition); err != nil {
			t.Fatal(err)
		}
	}
	for _, made := range []answer{change("/goals", goal(3)), change("/alerts", rule(3))} {
		if made.status != http.StatusCreated {
			t.Errorf("a change of what was in memory: %d %s", made.status, made.body)
		}
	}
	if other, err := s.node.identity.Organization(ctx, "other"); err != nil || other.Name != "Other" {
		t.Errorf("an organization that was not in memory is %+v: %v", other, err)
	}
	store.plug()
	for path, want := range map[string]int{"/goals": 3, "/alerts": 3} {
		eventually(t, "lists are answered again", func() error {
			got := s.call("GET", appPath+path, s.boot.Token, nil, nil)
			if got.status != http.StatusOK {
				return fmt.Errorf("%d %s", got.status, got.body)
			}
			if kept, _ := object(t, got.body)["data"].([]any); len(kept) != want {
				t.Errorf("%d of %s, want %d", len(kept), path, want)
			}
			return nil
		})
	}
}

// TestAStartGoesOnWithoutAStoreThatIsAway starts a server while one of two stores refuses connections, and again while
// it accepts them but does not answer. Rows of the other store are stored at once, changes are made, and readiness
// names the missing store. When the store returns, it receives everything once.
func TestAStartGoesOnWithoutAStoreThatIsAway(t *testing.T) {
	first, second := startStore(t), startStore(t)
	gate := &storeGate{}
	store := newCable(t, func() (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", second)
		return gatedConn{conn, gate}, err
	})
	dir, env := t.TempDir(), map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + first + "/, http://" + store.listener.Addr().String() + "/"}
	s := startServer(t, dir, env)
	other := s.another(t)
	one := &tenant{server: s, path: appPath, key: s.boot.Keys["production"].Secret}
	goals := 0
	for _, way := range []struct{ hold, release func() }{
		{store.pull, store.plug},
		{gate.mu.Lock, gate.mu.Unlock},
	} {
		one.publish(10)
		other.publish(10)
		one.stored()
		other.stored()
		s.stopped()
		way.hold()
		s = startServer(t, dir, env)
		one.server, other.server = s, s
		other.publish(10)
		one.publish(5)
		one.stored()
		goals++
		if got := s.call("POST", other.path+"/goals", s.boot.Token, fmt.Appendf(nil, `{"name":"Goal %d","kind":"event","match":"e%d"}`, goals, goals), nil); got.status != http.StatusCreated {
			t.Errorf("a change in an application of the store that is away: %d %s", got.status, got.body)
		}
		if got := s.call("GET", other.path+"/analytics/overview?range=24h", s.boot.Token, nil, nil); got.status != http.StatusServiceUnavailable {
			t.Errorf("a question to the store that is away: %d %s", got.status, got.body)
		}
		if waits := s.node.db.PingShards(t.Context()); !s.node.db.Away(1) || domain.CodeOf(waits) != domain.CodeUnavailable || !strings.Contains(fmt.Sprint(waits), "shard 1: ") {
			t.Errorf("readiness says that it waits for %v", waits)
		}
		way.release()
		other.stored()
		if s.node.db.Away(1) {
			t.Error("the store is in use and counts as away")
		}
	}
	if kept, _ := s.get(other.path + "/goals")["data"].([]any); len(kept) != goals {
		t.Errorf("%d goals, %d were made", len(kept), goals)
	}
	s.settled()
	wantStored(t, map[string]int{first: one.sent, second: other.sent})
}

// TestAStartWithoutAStoreThatIsAway starts a server, twice, while its first or only store is unavailable. Events are
// accepted, and changes of actors that are not in memory are answered. Of two stores, the other one stores its rows at
// once. When the store returns, it receives everything once.
func TestAStartWithoutAStoreThatIsAway(t *testing.T) {
	for _, stores := range []int{1, 2} {
		t.Run(fmt.Sprint(stores), func(t *testing.T) { startWithoutStore(t, stores) })
	}
}

func startWithoutStore(t *testing.T, stores int) {
	first := startStore(t)
	store := newCable(t, func() (net.Conn, error) { return (&net.Dialer{}).DialContext(context.Background(), "tcp", first) })
	dir, env := t.TempDir(), map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + store.listener.Addr().String() + "/"}
	second := ""
	if stores > 1 {
		second = startStore(t)
		env["SVC_CLICKHOUSE_DSN"] += " http://" + second + "/"
	}
	s := startServer(t, dir, env)
	one, other := &tenant{server: s, path: appPath, key: s.boot.Keys["production"].Secret}, &tenant{}
	tenants := []*tenant{one}
	if stores > 1 {
		other = s.another(t)
		tenants = append(tenants, other)
	}
	for _, tenant := range tenants {
		tenant.publish(10)
		tenant.stored()
	}
	s.settled()
	s.stateIsWhole()
	goals := 0
	for range 2 {
		s.stopped()
		store.pull()
		s = startServer(t, dir, env)
		for _, tenant := range tenants {
			tenant.server = s
			tenant.publish(10)
			goals++
			if got := s.call("POST", tenant.path+"/goals", s.boot.Token, fmt.Appendf(nil, `{"name":"Goal %d","kind":"event","match":"e%d"}`, goals, goals), nil); got.status != http.StatusCreated {
				t.Errorf("a change while the store is away: %d %s", got.status, got.body)
			}
		}
		if err := s.node.db.Ping(t.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("readiness says of the store %v", err)
		}
		if stores > 1 {
			eventually(t, "the other store has what is its own", func() error {
				if got, err := countIn(second, "SELECT uniqExact(id) FROM svc.events"); err != nil || got != other.sent {
					return fmt.Errorf("%d of %d: %w", got, other.sent, err)
				}
				return nil
			})
		}
	}
	store.plug()
	made, want := 0, map[string]int{first: one.sent}
	for _, tenant := range tenants {
		tenant.stored()
		kept, _ := s.get(tenant.path + "/goals")["data"].([]any)
		made += len(kept)
	}
	if made != goals {
		t.Errorf("%d goals, %d were made", made, goals)
	}
	if stores > 1 {
		want[second] = other.sent
	}
	s.settled()
	wantStored(t, want)
}

// wantStored compares the tables of stores with the events that were sent to each.
func wantStored(t *testing.T, sent map[string]int) {
	t.Helper()
	for addr, want := range sent {
		for _, query := range []string{"SELECT sum(events) FROM svc.traffic", "SELECT sum(items) FROM svc.usage WHERE fate = 'stored'", "SELECT count() FROM svc.events", "SELECT uniqExact(id) FROM svc.events"} {
			if got, err := countIn(addr, query); err != nil || got != want {
				t.Errorf("%s: %d, want %d: %v", query, got, want, err)
			}
		}
	}
}

// TestAStoreThatIsAwayAtTheStartIsTheRightOne replaces an unavailable store by another one: nothing is stored there.
func TestAStoreThatIsAwayAtTheStartIsTheRightOne(t *testing.T) {
	first, second, foreign := startStore(t), startStore(t), startStore(t)
	var far atomic.Pointer[string]
	far.Store(&second)
	store := newCable(t, func() (net.Conn, error) { return (&net.Dialer{}).DialContext(context.Background(), "tcp", *far.Load()) })
	dir, env := t.TempDir(), map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + first + "/, http://" + store.listener.Addr().String() + "/"}
	s := startServer(t, dir, env)
	other := s.another(t)
	s.stopped()
	store.pull()
	s = startServer(t, dir, env)
	other.server = s
	other.publish(5)
	far.Store(&foreign)
	store.plug()
	eventually(t, "the store is looked at", func() error {
		if waits := s.node.db.PingShards(t.Context()); !strings.Contains(fmt.Sprint(waits), "it was lost") {
			return fmt.Errorf("readiness says that it waits for %w", waits)
		}
		return nil
	})
	if got, err := countIn(foreign, "SELECT count() FROM svc.events"); err != nil || got != 0 {
		t.Errorf("the store in its place has %d events: %v", got, err)
	}
	store.pull()
	far.Store(&second)
	store.plug()
	other.stored()
	s.settled()
	wantStored(t, map[string]int{second: other.sent})
}
