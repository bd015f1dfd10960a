package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"svc"
	"svc/storage/chdb"
)

// startBehindCable starts a server whose store is reached by an address that can be cut off, and returns
// what starts it again over the same data.
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

// TestWakeupsAreDeliveredWhileTheStoreIsAway has a token expire after the store was cut off.
func TestWakeupsAreDeliveredWhileTheStoreIsAway(t *testing.T) {
	start, store := startBehindCable(t)
	s := start()
	expires := time.Now().Add(2 * time.Second)
	spec := svc.TokenSpec{Name: "short", Scopes: []svc.Scope{svc.ScopeRead}, ExpiresAt: &expires}
	if _, _, err := s.node.identity.MintToken(context.Background(), svc.TokenOwner{Org: "acme"}, spec); err != nil {
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

// TestColdActorsWhileTheStoreIsAway stops all actors while the store is cut off: those that were in memory
// before go on, with all that they had, and others are refused for a moment.
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
	if _, err := s.node.identity.CreateOrganization(ctx, stranger, svc.OrgSpec{Name: "Other"}); err != nil {
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
	_, err = s.node.identity.Organization(ctx, "other")
	if refusal, _ := errors.AsType[*svc.Error](err); refusal == nil || refusal.Code != svc.CodeUnavailable || refusal.RetryAfter == 0 {
		t.Errorf("an organization that was not in memory: %v", err)
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
