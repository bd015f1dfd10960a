package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"svc/storage/kafka/broker"
)

// cable is a TCP address in front of a server that can be unplugged and plugged in again.
type cable struct {
	listener net.Listener
	dial     func() (net.Conn, error)
	// ice is held while the other end is paused: it accepts connections and does not answer.
	ice sync.RWMutex

	mu    sync.Mutex
	out   bool
	conns map[net.Conn]bool
}

func newCable(t *testing.T, dial func() (net.Conn, error)) *cable {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: listener, dial: dial, conns: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = listener.Close(); c.pull() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go c.carry(conn)
		}
	}()
	return c
}

// thawed waits until the other end is not paused.
func (c *cable) thawed() {
	c.ice.RLock()
	defer c.ice.RUnlock()
}

// throughIce reads the bytes of a connection that pass the cable.
type throughIce struct {
	net.Conn
	cable *cable
}

func (t throughIce) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.cable.thawed()
	return n, err
}

func (c *cable) carry(near net.Conn) {
	c.thawed()
	far, err := c.dial()
	if err != nil {
		_ = near.Close()
		return
	}
	c.mu.Lock()
	if c.out {
		c.mu.Unlock()
		_, _ = near.Close(), far.Close()
		return
	}
	c.conns[near], c.conns[far] = true, true
	c.mu.Unlock()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() { _, _ = io.Copy(way[0], throughIce{way[1], c}); done <- struct{}{} }()
	}
	<-done
	_, _ = near.Close(), far.Close()
	c.mu.Lock()
	delete(c.conns, near)
	delete(c.conns, far)
	c.mu.Unlock()
}

// pull cuts every connection and refuses new ones.
func (c *cable) pull() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = true
	for conn := range c.conns {
		_ = conn.Close()
	}
}

func (c *cable) plug() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = false
}

// TestAPausedStoreIsNotBlamedOnTheRange reads while the store accepts connections but does not answer, and afterwards.
func TestAPausedStoreIsNotBlamedOnTheRange(t *testing.T) {
	start, store := startBehindCable(t)
	s := start()
	s.send(item("event-1", "visitor-1", "/", time.Now()))
	s.settled()
	read := func() answer { return s.call("GET", appPath+"/analytics/overview?range=24h", s.boot.Token, nil, nil) }
	paused := func() answer {
		store.ice.Lock()
		defer store.ice.Unlock()
		return read()
	}
	for range 2 {
		got := paused()
		if problem := object(t, got.body); got.status != 503 || got.header.Get("Retry-After") != "5" || problem["code"] != "unavailable" || problem["detail"] != "The store does not answer." {
			t.Errorf("F6: a read while the store is paused: %d %s", got.status, got.body)
		}
		eventually(t, "the store answers again", func() error {
			if got := read(); got.status != 200 {
				return fmt.Errorf("%d %s", got.status, got.body)
			}
			return nil
		})
	}
}

// TestTheStoreGoesAwayAndNothingIsLost uses a store by address and cuts it off. Events are still accepted, wait in the
// log, and are stored once each when the store returns. Meanwhile reads answer 503, and changes of state in memory
// continue.
func TestTheStoreGoesAwayAndNothingIsLost(t *testing.T) {
	start, store := startBehindCable(t)
	s := start()

	sent := 0
	publish := func(count int) {
		for range count {
			s.send(item(fmt.Sprintf("event-%d", sent), fmt.Sprintf("visitor-%d", sent%7), "/", time.Now()))
			sent++
		}
	}
	goals := 0
	change := func() answer {
		goals++
		return s.call("POST", appPath+"/goals", s.boot.Token, fmt.Appendf(nil, `{"name":"Goal %d","kind":"event","match":"e%d"}`, goals, goals), nil)
	}
	publish(50)
	s.settled()
	change()
	for round := range 3 {
		store.pull()
		for range 10 {
			if got := change(); got.status != http.StatusCreated {
				t.Errorf("round %d: a change while the store is away: %d %s", round, got.status, got.body)
			}
		}
		publish(100)
		if lag := s.node.backlog.Lag(context.Background()); lag == 0 {
			t.Errorf("round %d: nothing waits in the log while the store is away", round)
		}
		if got := s.call("GET", appPath+"/analytics/overview?range=24h", s.boot.Token, nil, nil); got.status != 503 || got.header.Get("Retry-After") == "" {
			t.Errorf("round %d: a read while the store is away: %d %s", round, got.status, got.body)
		}
		store.plug()
		s.settled()
	}
	s.stopped()
	s = start()
	if kept, _ := s.get(appPath + "/goals")["data"].([]any); len(kept) != goals {
		t.Errorf("%d goals after a restart, %d were made", len(kept), goals)
	}
	rows := s.feed()
	seen := map[string]int{}
	for _, row := range rows {
		seen[row["id"].(string)]++
	}
	if len(rows) != sent || len(seen) != sent {
		t.Errorf("%d rows of %d ids, %d were sent", len(rows), len(seen), sent)
	}
	if pageviews := s.overview()["pageviews"]; pageviews != float64(sent) {
		t.Errorf("%v page views, %d were sent", pageviews, sent)
	}
}

// TestTheLogGoesAwayAndNothingIsAcknowledged uses a log by address and stops it: ingest answers 503 with Retry-After
// and continues when the log returns.
func TestTheLogGoesAwayAndNothingIsAcknowledged(t *testing.T) {
	folder, addr := t.TempDir(), freeAddress(t)
	open := func() *broker.Broker {
		t.Helper()
		broker, err := broker.Open(broker.Config{Dir: folder, Topics: []string{ingestTopic}, Partitions: 4, Addr: addr, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return broker
	}
	broker := open()
	t.Cleanup(func() { _ = broker.Close() })
	s := startServer(t, t.TempDir(), map[string]string{"SVC_KAFKA_BROKERS": addr})
	s.send(item("before", "u", "/", time.Now()))
	if err := broker.Close(); err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"name":"page_view","distinctId":"u","id":"during"}`)
	if got := s.call("POST", "/api/v1/events", s.boot.Keys["production"].Public, body, nil); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("while the log is away: %d %s", got.status, got.body)
	}
	broker = open()
	eventually(t, "ingest goes on", func() error {
		if got := s.call("POST", "/api/v1/events", s.boot.Keys["production"].Public, body, nil); got.status != http.StatusAccepted {
			return fmt.Errorf("%d %s", got.status, got.body)
		}
		return nil
	})
	eventually(t, "both events are stored once", func() error {
		var ids []string
		for _, row := range s.feed() {
			ids = append(ids, row["id"].(string))
		}
		if len(ids) != 2 {
			return errors.New(fmt.Sprint(ids))
		}
		return nil
	})
}
