package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/storage/kafka/broker"
)

// patience limits every wait of the tests.
const patience = 30 * time.Second

// openCluster returns the addresses of a cluster in which topic does not exist.
type openCluster func(t testing.TB, topic string, partitions int) []string

// embedded opens a new broker for each test.
func embedded(sync bool) openCluster {
	return func(t testing.TB, topic string, partitions int) []string {
		return startBroker(t, broker.Config{Dir: t.TempDir(), Sync: sync, Topics: []string{topic}, Partitions: partitions}).Addrs()
	}
}

func startBroker(t testing.TB, cfg broker.Config) *broker.Broker {
	t.Helper()
	b, err := broker.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// eventually waits until ready returns true. On failure it reports state.
func eventually(t testing.TB, what string, ready func() bool, state func() string) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !ready() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: not within %s, seen: %s", what, patience, state())
		}
	}
}

// start runs f until the test ends or stop is called. stop waits for f to return.
func start(t testing.TB, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// fixture is a topic in a cluster with a running producer.
type fixture struct {
	t          testing.TB
	brokers    []string
	topic      string
	group      string
	partitions int
	dial       DialFunc
	admin      *Topic
	producer   *Producer
}

func newFixture(t testing.TB, open openCluster, partitions int) *fixture {
	t.Helper()
	f := &fixture{t: t, topic: fmt.Sprintf("t%x", time.Now().UnixNano()), partitions: partitions}
	f.group = "g-" + f.topic
	f.brokers = open(t, f.topic, partitions)
	f.prepare()
	return f
}

// newMemoryFixture is newFixture with a producer that reaches the embedded broker in memory.
func newMemoryFixture(t testing.TB, sync bool, partitions int) *fixture {
	t.Helper()
	f := &fixture{t: t, topic: "memory", group: "g-memory", partitions: partitions}
	b := startBroker(t, broker.Config{Dir: t.TempDir(), Sync: sync, Topics: []string{f.topic}, Partitions: partitions})
	f.brokers, f.dial = b.Addrs(), b.Dial
	f.prepare()
	return f
}

// prepare creates the topic and starts the producer.
func (f *fixture) prepare() {
	f.t.Helper()
	var err error
	f.admin, err = NewTopic(TopicConfig{Brokers: f.brokers, Topic: f.topic, Partitions: f.partitions})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(f.admin.Close)
	if err := f.admin.Ensure(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	f.producer, err = NewProducer(ProducerConfig{Brokers: f.brokers, Topic: f.topic, Partitions: f.partitions, Dial: f.dial})
	if err != nil {
		f.t.Fatal(err)
	}
	start(f.t, f.producer.Run)
}

// produce appends one payload per partition and waits for all of them.
func (f *fixture) produce(parts ...Part) {
	f.t.Helper()
	if err := f.producer.Produce(f.t.Context(), parts); err != nil {
		f.t.Fatal(err)
	}
}

// consumer returns a member with short timeouts that does not run yet.
func (f *fixture) consumer(h Handler, change func(*ConsumerConfig)) *Consumer {
	f.t.Helper()
	cfg := ConsumerConfig{
		Brokers:   f.brokers,
		Topic:     f.topic,
		Group:     f.group,
		Handler:   h,
		Heartbeat: 20 * time.Millisecond,
	}
	if change != nil {
		change(&cfg)
	}
	c, err := NewConsumer(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

func node(name string) func(*ConsumerConfig) {
	return func(cfg *ConsumerConfig) { cfg.UserData = []byte(name) }
}

// recorder is a handler that stores its calls.
type recorder struct {
	starts map[int]int64
	handle func(context.Context, int, []Record) error

	mu       sync.Mutex
	current  Assignment
	revoked  []int32
	records  map[int][]Record
	assigned int
}

func (r *recorder) Assigned(_ context.Context, a Assignment) (map[int]int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = a
	r.assigned++
	return r.starts, nil
}

func (r *recorder) Records(ctx context.Context, partition int, records []Record, _ int64) error {
	if r.handle != nil {
		if err := r.handle(ctx, partition, records); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.records == nil {
		r.records = make(map[int][]Record)
	}
	r.records[partition] = append(r.records[partition], records...)
	return nil
}

func (r *recorder) Ending(context.Context, int32) {}

func (r *recorder) Revoked(generation int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revoked = append(r.revoked, generation)
	r.current = Assignment{}
}

func (r *recorder) assignment() Assignment {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// owned returns the partitions of the current generation.
func (r *recorder) owned() []int {
	var owned []int
	for _, p := range r.assignment().Partitions {
		owned = append(owned, p.Partition)
	}
	slices.Sort(owned)
	return owned
}

func (r *recorder) of(partition int) []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.records[partition])
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, records := range r.records {
		n += len(records)
	}
	return n
}

func (r *recorder) state() string {
	return fmt.Sprintf("generation %d, owned %v, %d records", r.assignment().Generation, r.owned(), r.count())
}

// bytes returns the number of payload bytes received.
func (r *recorder) bytes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, records := range r.records {
		for _, rec := range records {
			n += len(rec.Value)
		}
	}
	return n
}

// eventValue is a payload of eight bytes.
func eventValue(id uint64) []byte {
	return binary.BigEndian.AppendUint64(nil, id)
}

// events splits record values back into ids, in order.
func events(records []Record) []uint64 {
	var ids []uint64
	for _, r := range records {
		for v := r.Value; len(v) >= 8; v = v[8:] {
			ids = append(ids, binary.BigEndian.Uint64(v))
		}
	}
	return ids
}
