package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/storage/chdb"
	"svc/storage/kafka/broker"
)

// sharedStores opens a log and a store that nodes of this process use by address.
func sharedStores(t *testing.T) map[string]string {
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
	store := newCable(t, func() (net.Conn, error) { return engine.DialContext(context.Background(), "") })
	addr := freeAddress(t)
	broker, err := broker.Open(broker.Config{Dir: t.TempDir(), Topics: []string{ingestTopic}, Partitions: 4, Addr: addr, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Close() })
	return map[string]string{"SVC_KAFKA_BROKERS": addr, "SVC_CLICKHOUSE_DSN": "http://" + store.listener.Addr().String() + "/"}
}

// TestASecondNodeWithoutAnAddressDisturbsNobody starts a second process on the same log and store: it reports why it is
// not ready, and the first one answers and stores as before.
func TestASecondNodeWithoutAnAddressDisturbsNobody(t *testing.T) {
	env := sharedStores(t)
	env["SVC_MASTER_KEY"] = "the master key of both"
	s := startServer(t, t.TempDir(), env)
	generation, _ := s.node.ownership.Generation()
	addr := freeAddress(t)
	env["SVC_ADMIN_ADDR"] = addr
	background(t, t.TempDir(), env, io.Discard)
	eventually(t, "the second says why it is not ready", func() error {
		status, body, err := ready(addr)
		if err != nil || status != 503 || !strings.Contains(body, "SVC_NODE_ADDR") {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
	s.get("/api/v1/me")
	s.get(appPath + "/goals")
	s.send(item("after", "me", "/", time.Now()))
	s.settled()
	if now, _ := s.node.ownership.Generation(); now != generation {
		t.Errorf("the first node is in generation %d, was in %d", now, generation)
	}
	if status, body, err := ready(s.operatorAddr()); err != nil || status != 200 {
		t.Errorf("the first node: %d %s %v", status, body, err)
	}
	s.stopped()
	eventually(t, "the second takes over", func() error {
		if status, body, err := ready(addr); err != nil || status != 200 {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
}
