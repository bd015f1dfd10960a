package kafka

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	kafkago "github.com/segmentio/kafka-go"

	"svc/storage/kafka/broker"
)

// logged collects log lines. It may be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestALogThatLostItsEnd restarts the broker with an earlier state of its log under a running consumer. The consumer
// logs how much is lost, reads nothing twice, and reads later records once.
func TestALogThatLostItsEnd(t *testing.T) {
	dir, earlier := t.TempDir(), t.TempDir()
	cfg := broker.Config{Dir: dir, Topics: []string{childTopic}, Partitions: 2}
	open := func() *broker.Broker {
		b, err := broker.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Addr = b.Addrs()[0]
		return b
	}
	b := open()
	f := &fixture{t: t, brokers: b.Addrs(), topic: childTopic, group: childGroup, partitions: 2}
	f.prepare()
	for id := range uint64(5) {
		f.produce(Part{Partition: 0, Payload: eventValue(id)}, Part{Partition: 1, Payload: eventValue(id)})
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "partitions", childTopic+"-0")
	if err := os.CopyFS(earlier, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	b = open()
	r, said := new(recorder), new(logged)
	c := f.consumer(r, func(cfg *ConsumerConfig) {
		cfg.Logger = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	start(t, c.Run)
	for id := range uint64(3) {
		f.produce(Part{Partition: 0, Payload: eventValue(5 + id)})
	}
	eventually(t, "all events", func() bool { return r.count() == 13 }, r.state)
	generation := r.assignment().Generation
	if err := c.Commit(t.Context(), generation, []Position{{Partition: 0, Offset: 8}, {Partition: 1, Offset: 5}}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(folder, os.DirFS(earlier)); err != nil {
		t.Fatal(err)
	}
	b = open()
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "a new generation", func() bool {
		now := r.assignment()
		return now.Generation > generation && len(now.Partitions) == 2
	}, func() string { return r.state() + said.String() })
	if !strings.Contains(said.String(), "partition 0 was read up to offset 8 and the log now ends at 5: it lost 3 records") {
		t.Errorf("said: %s", said)
	}
	f.over(nil) // the former producer's sequence numbers belong to the lost records
	f.produce(Part{Partition: 0, Payload: eventValue(100)}, Part{Partition: 1, Payload: eventValue(100)})
	eventually(t, "what comes next", func() bool { return r.count() >= 15 }, r.state)
	if got := events(r.of(0)); !slices.Equal(got, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 100}) {
		t.Errorf("partition 0: got %v", got)
	}
	if got := events(r.of(1)); !slices.Equal(got, []uint64{0, 1, 2, 3, 4, 100}) {
		t.Errorf("partition 1: got %v", got)
	}
	positions, err := c.Committed(t.Context(), []int{0, 1})
	if err != nil || positions[0].Offset != 5 || positions[1].Offset != 5 {
		t.Errorf("positions %v, %v: want that of partition 0 at the end of what was left", positions, err)
	}
}

// TestATopicMadeAgain deletes a topic and creates it again while a reader's generation continues.
func TestATopicMadeAgain(t *testing.T) {
	f, _ := newCluster(t, 1)
	for id := range uint64(4) {
		f.produce(Part{Partition: 0, Payload: eventValue(id)})
	}
	r, said := new(recorder), new(logged)
	c := f.consumer(r, func(cfg *ConsumerConfig) {
		cfg.Logger = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	start(t, c.Run)
	eventually(t, "all events", func() bool { return r.count() == 4 }, r.state)
	if err := c.Commit(t.Context(), r.assignment().Generation, []Position{{Partition: 0, Offset: 3, Metadata: "text"}}); err != nil {
		t.Fatal(err)
	}
	answer, err := f.admin.link.client.DeleteTopics(t.Context(), &kafkago.DeleteTopicsRequest{Topics: []string{f.topic}})
	if err != nil || answer.Errors[f.topic] != nil {
		t.Fatal(answer, err)
	}
	if err := f.admin.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "word of the loss", func() bool {
		return strings.Contains(said.String(), "partition 0 was read up to offset 4 and the log now ends at 0: it lost 4 records")
	}, said.String)
	eventually(t, "the end as the place to go on", func() bool {
		positions, err := c.Committed(t.Context(), []int{0})
		return err == nil && positions[0] == Position{Partition: 0}
	}, said.String)
	f.produce(Part{Partition: 0, Payload: eventValue(100)})
	eventually(t, "what comes next", func() bool { return r.count() == 5 }, r.state)
	if got := events(r.of(0)); !slices.Equal(got, []uint64{0, 1, 2, 3, 100}) {
		t.Errorf("got %v", got)
	}
	all, err := c.Read(t.Context(), 0, 0, 3)
	if err != nil || !slices.Equal(events(all), []uint64{100}) {
		t.Errorf("of the old records the log has %v, %v", events(all), err)
	}
}
