package state

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"svc/storage/kafka"
	"svc/storage/kafka/broker"
)

const testTopic = "state"

// patience limits every wait of the tests.
const patience = 30 * time.Second

// startBroker returns an embedded broker on a folder.
func startBroker(t testing.TB, cfg broker.Config) *broker.Broker {
	t.Helper()
	cfg.Topics, cfg.Logger = []string{"ingest", testTopic}, slog.New(slog.DiscardHandler)
	b, err := broker.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// cluster locates the log of a test.
type cluster struct {
	brokers    []string
	topic      string
	partitions int
	compact    bool
}

// openCluster returns a cluster with an empty topic for a log.
type openCluster func(t testing.TB, partitions int) *cluster

// embedded opens a new broker for each test.
func embedded(sync bool) openCluster {
	return func(t testing.TB, partitions int) *cluster {
		t.Helper()
		b := startBroker(t, broker.Config{Dir: t.TempDir(), Sync: sync, Partitions: partitions})
		return ensured(t, &cluster{brokers: b.Addrs(), topic: testTopic, partitions: partitions})
	}
}

// simulated opens a broker without a disk.
func simulated(t testing.TB, partitions int) (*cluster, *kfake.Cluster) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(int32(partitions), testTopic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for p := range int32(partitions) {
		if err := c.MoveTopicPartition(testTopic, p, p%2); err != nil {
			t.Fatal(err)
		}
	}
	return &cluster{brokers: c.ListenAddrs(), topic: testTopic, partitions: partitions}, c
}

// ensured creates the topic.
func ensured(t testing.TB, c *cluster) *cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.open(t, "ensure").Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

// open returns a log for a process with this name.
func (c *cluster) open(t testing.TB, name string) *Log {
	t.Helper()
	return c.openOver(t, name, nil)
}

// openOver is open with connections from dial.
func (c *cluster) openOver(t testing.TB, name string, dial kafka.DialFunc) *Log {
	t.Helper()
	l, err := Open(Config{
		Brokers: c.brokers, Dial: dial, Topic: c.topic, Partitions: c.partitions, Name: name, Compact: c.compact,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// gate makes connections of a process that can be stopped: meanwhile nothing leaves or reaches the process.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed while the process runs
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

// stop stops the process until the returned function is called.
func (g *gate) stop() (resume func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	closed := make(chan struct{})
	g.open = closed
	return sync.OnceFunc(func() { close(closed) })
}

func (g *gate) pass() {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	<-open
}

// Dial connects over the network.
func (g *gate) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return gatedConn{conn, g}, nil
}

type gatedConn struct {
	net.Conn
	gate *gate
}

func (c gatedConn) Write(b []byte) (int, error) {
	c.gate.pass()
	return c.Conn.Write(b)
}

func (c gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.gate.pass()
	return n, err
}

// memory holds the state of a partition as one reader knows it.
type memory struct {
	mu     sync.Mutex
	values map[string]string
	void   []string
	at     Position
	gaps   int
}

func (m *memory) each(entries []Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = map[string]string{}
	}
	for _, e := range entries {
		switch {
		case e.Void:
			m.void = append(m.void, e.Key)
		case e.Value == nil:
			delete(m.values, e.Key)
		default:
			m.values[e.Key] = string(e.Value)
		}
	}
}

func (m *memory) met(keys []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.void = append(m.void, keys...)
}

// String returns the values and the void keys.
func (m *memory) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprint(m.values, m.void)
}

// sink returns a sink that stores one partition in the memory.
func (m *memory) sink() Sink {
	return Sink{
		Each: func(_ int, entries []Entry, at Position) {
			m.each(entries)
			m.mu.Lock()
			defer m.mu.Unlock()
			m.at = at
		},
		Gap: func(int) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.values, m.void, m.gaps = nil, nil, m.gaps+1
		},
	}
}

func take(t testing.TB, l *Log, from Position) (*Owner, *memory) {
	t.Helper()
	m := new(memory)
	o, err := l.Take(t.Context(), 0, from, m.each, m.met)
	if err != nil {
		t.Fatal(err)
	}
	return o, m
}

func put(t testing.TB, o *Owner, key, value string) {
	t.Helper()
	if err := o.Save(t.Context(), []Record{{key, []byte(value)}}); err != nil {
		t.Fatal(err)
	}
}

// expect compares the state that a reader knows.
func expect(t testing.TB, who string, m *memory, want string) {
	t.Helper()
	if got := m.String(); got != want {
		t.Errorf("%s knows %s, want %s", who, got, want)
	}
}

// eventually waits until ready returns true.
func eventually(t testing.TB, what string, ready func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !ready() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}
