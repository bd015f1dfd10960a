package broker

import (
	"context"
	"testing"

	"svc/storage/kafka"
)

const testTopic = "ingest"

// start opens a broker for the duration of a test.
func start(t testing.TB, cfg Config) *Broker {
	t.Helper()
	b, err := Open(cfg)
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

// producer returns a function that appends single payloads to the only partition, see producerOf.
func producer(t testing.TB, b *Broker) func(context.Context, []byte) error {
	t.Helper()
	produce := producerOf(t, b, 1)
	return func(ctx context.Context, payload []byte) error {
		return produce(ctx, []kafka.Part{{Payload: payload}})
	}
}

// producerOf creates the topic and returns a function that appends to it.
func producerOf(t testing.TB, b *Broker, partitions int) func(context.Context, []kafka.Part) error {
	t.Helper()
	topic, err := kafka.NewTopic(kafka.TopicConfig{Brokers: b.Addrs(), Topic: testTopic, Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	defer topic.Close()
	if err := topic.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := kafka.NewProducer(kafka.ProducerConfig{
		Brokers: b.Addrs(), Topic: testTopic, Partitions: partitions, MaxRecordBytes: 1 << 20, Dial: b.Dial,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return p.Produce
}

func TestDirectoryBelongsToOneBroker(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), Topics: []string{testTopic}, Partitions: 1}
	start(t, cfg)
	if b, err := Open(cfg); err == nil {
		t.Error("second broker opened", b.Close())
	}
}
