package kafka

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"svc/storage/kafka/broker"
)

// stalls makes connections that transfer nothing while it is locked, like a process without CPU time.
type stalls struct {
	sync.RWMutex
	dial DialFunc
}

func (s *stalls) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := s.dial(ctx, network, address)
	return stalledConn{conn, s}, err
}

type stalledConn struct {
	net.Conn
	stalls *stalls
}

func (c stalledConn) Write(b []byte) (int, error) {
	c.stalls.RLock()
	defer c.stalls.RUnlock()
	return c.Conn.Write(b)
}

// TestANodeAloneOutlivesStarvation blocks all traffic to the broker for longer than a session. The only possible member
// retains its generation and its lease.
func TestANodeAloneOutlivesStarvation(t *testing.T) {
	t.Parallel() // the test waits for the end of a session
	b := startBroker(t, broker.Config{Dir: t.TempDir(), Topics: []string{"alone"}, Partitions: 2})
	topic, err := NewTopic(TopicConfig{Brokers: b.Addrs(), Topic: "alone", Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(topic.Close)
	if err := topic.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, slow := new(recorder), &stalls{dial: b.Dial}
	c, err := NewConsumer(ConsumerConfig{Brokers: b.Addrs(), Topic: "alone", Group: "alone", Handler: r, UserData: []byte(LoneNode("/a")), Dial: slow.Dial, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	start(t, c.Run)
	eventually(t, "assignment", func() bool { return len(r.owned()) == 2 }, r.state)
	generation := r.assignment().Generation
	slow.Lock()
	for began := time.Now(); time.Since(began) < defaultSession+defaultSession/2; time.Sleep(50 * time.Millisecond) {
		if !c.Holds(generation) {
			slow.Unlock()
			t.Fatalf("the lease ran out after %s", time.Since(began))
		}
	}
	slow.Unlock()
	if err := c.Confirm(t.Context(), generation); err != nil || r.assignment().Generation != generation {
		t.Errorf("confirming: %v; %s, was %d", err, r.state(), generation)
	}
	if err := c.Commit(t.Context(), generation, []Position{{Partition: 0, Offset: 0}}); err != nil {
		t.Errorf("committing: %v", err)
	}
}
