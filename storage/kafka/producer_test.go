package kafka

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// newCluster returns a fixture in a cluster of two brokers. Node 0 leads the even partitions, node 1 the odd ones.
func newCluster(t *testing.T, partitions int) (*fixture, *kfake.Cluster) {
	t.Helper()
	var c *kfake.Cluster
	f := newFixture(t, func(t testing.TB, topic string, partitions int) []string {
		var err error
		c, err = kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(int32(partitions), topic))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		for p := range int32(partitions) {
			if err := c.MoveTopicPartition(topic, p, p%2); err != nil {
				t.Fatal(err)
			}
		}
		return c.ListenAddrs()
	}, partitions)
	return f, c
}

// consumed returns the events of a partition once there are n of them.
func (f *fixture) consumed(partition, n int) []uint64 {
	f.t.Helper()
	r := new(recorder)
	defer start(f.t, f.consumer(r, nil).Run)()
	eventually(f.t, "all events", func() bool { return len(events(r.of(partition))) >= n }, r.state)
	return events(r.of(partition))
}

func TestFailingPartitionHoldsBackItselfOnly(t *testing.T) {
	f, c := newCluster(t, 4)
	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{2}, Err: kerr.NotEnoughReplicas, Count: -1})
	failing := make(chan error, 1)
	go func() { failing <- f.producer.Produce(t.Context(), []Part{{Partition: 2, Payload: eventValue(1)}}) }()
	if err := fault.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		f.produce(Part{Partition: 0, Payload: eventValue(2)}, Part{Partition: 1, Payload: eventValue(3)}, Part{Partition: 3, Payload: eventValue(4)})
	}
	if queued := f.producer.Queued(); queued != 8 {
		t.Errorf("%d bytes queued, want those of the failing partition", queued)
	}
	fault.Remove()
	if err := <-failing; err != nil {
		t.Error(err)
	}
	if got := f.consumed(2, 1); !slices.Equal(got, []uint64{1}) {
		t.Errorf("got %v, want one event", got)
	}
}

func TestPartsOfOneRequestFailAlone(t *testing.T) {
	f, c := newCluster(t, 4)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{2}, Err: kerr.InvalidRecord, Count: 1})
	err := f.producer.Produce(t.Context(), []Part{{Partition: 0, Payload: eventValue(1)}, {Partition: 2, Payload: eventValue(1)}})
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	f.produce(Part{Partition: 0, Payload: eventValue(2)}, Part{Partition: 2, Payload: eventValue(2)})
	if got := f.consumed(0, 2); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("partition 0: got %v", got)
	}
	if ends, err := f.admin.Ends(t.Context()); err != nil || ends[2] != 1 {
		t.Errorf("ends %v, %v: want one record in partition 2", ends, err)
	}
}

func TestRetriesKeepOrder(t *testing.T) {
	f, c := newCluster(t, 2)
	p, err := NewProducer(ProducerConfig{Brokers: f.brokers, Topic: f.topic, Partitions: 2, MaxRecordBytes: 24})
	if err != nil {
		t.Fatal(err)
	}
	start(t, p.Run)
	var asked atomic.Int64
	c.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{0}, Err: kerr.NotEnoughReplicas, Count: -1,
		When: func(kmsg.Request) bool { return asked.Add(1)%3 == 0 },
	})
	const n = 120
	var parts []Part
	var want []uint64
	for i := range uint64(n) {
		parts = append(parts, Part{Partition: int(i % 2), Payload: eventValue(i)})
		if i%2 == 0 {
			want = append(want, i)
		}
	}
	if err := p.Produce(t.Context(), parts); err != nil {
		t.Fatal(err)
	}
	if got := f.consumed(0, n/2); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLeadersMove(t *testing.T) {
	const partitions, n = 4, 300
	f, c := newCluster(t, partitions)
	done := make(chan error, partitions)
	var sent atomic.Int64
	for p := range partitions {
		go func() {
			for i := range uint64(n) {
				if err := f.producer.Produce(t.Context(), []Part{{Partition: p, Payload: eventValue(i)}}); err != nil {
					done <- err
					return
				}
				sent.Add(1)
			}
			done <- nil
		}()
	}
	for round := range int64(10) {
		eventually(t, "progress", func() bool { return sent.Load() > round*n/10*partitions }, func() string { return "" })
		for p := range int64(partitions) {
			if err := c.MoveTopicPartition(f.topic, int32(p), int32((p+round)%2)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range partitions {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for p := range partitions {
		if got := f.consumed(p, n); !slices.IsSorted(got) || len(got) != n {
			t.Errorf("partition %d: got %d events %v", p, len(got), got)
		}
	}
}

func TestSilentBrokerHoldsBackItselfOnly(t *testing.T) {
	f, c := newCluster(t, 4)
	f.produce(Part{Partition: 0, Payload: eventValue(0)}, Part{Partition: 1, Payload: eventValue(0)})
	wake, asleep := make(chan struct{}), make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		if c.CurrentNode() == 0 {
			c.DropControl()
			close(asleep)
			c.SleepControl(func() { <-wake })
		}
		return nil, nil, false
	})
	waiting := make(chan error, 1)
	go func() { waiting <- f.producer.Produce(t.Context(), []Part{{Partition: 0, Payload: eventValue(1)}}) }()
	<-asleep
	for range 20 {
		f.produce(Part{Partition: 1, Payload: eventValue(1)}, Part{Partition: 3, Payload: eventValue(1)})
	}
	close(wake)
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	const partitions = 40
	f, c := newCluster(t, partitions)
	var largest, most atomic.Int64
	c.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		size, parts := 0, request.(*kmsg.ProduceRequest).Topics[0].Partitions
		for _, p := range parts {
			size += len(p.Records)
		}
		largest.Store(max(largest.Load(), int64(size)))
		most.Store(max(most.Load(), int64(len(parts))))
		c.KeepControl()
		return nil, nil, false
	})
	var parts []Part
	for p := range partitions {
		parts = append(parts, Part{Partition: p, Payload: make([]byte, defaultRecordBytes)})
	}
	f.produce(parts...)
	if largest.Load() > 16<<20 || most.Load() < 2 {
		t.Errorf("requests of up to %d bytes and %d partitions", largest.Load(), most.Load())
	}
}

func TestDrainEnds(t *testing.T) {
	p, err := NewProducer(ProducerConfig{Brokers: []string{"127.0.0.1:1"}, Topic: "t", Partitions: 2, DrainTime: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	stop := start(t, p.Run)
	result := make(chan error, 1)
	go func() {
		result <- p.Produce(context.Background(), []Part{{Partition: 0, Payload: eventValue(1)}, {Partition: 1, Payload: eventValue(1)}})
	}()
	eventually(t, "queued", func() bool { return p.Queued() == 16 }, func() string { return "" })
	began := time.Now()
	stop()
	if err := <-result; !errors.Is(err, ErrUnavailable) || p.Queued() != 0 {
		t.Errorf("got %v with %d bytes queued, want ErrUnavailable", err, p.Queued())
	}
	if took := time.Since(began); took > dialTime {
		t.Errorf("drained for %s", took)
	}
}

func TestDeadlineReleasesTheQueue(t *testing.T) {
	f, c := newCluster(t, 2)
	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{1}, Err: kerr.NotEnoughReplicas, Count: -1})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	failure := f.producer.Produce(ctx, []Part{{Partition: 1, Payload: eventValue(1)}})
	if !errors.Is(failure, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", failure)
	}
	eventually(t, "empty queue", func() bool { return f.producer.Queued() == 0 }, func() string { return "" })
	fault.Remove()
	f.produce(Part{Partition: 1, Payload: eventValue(2)})
	// An attempt that the broker had not answered at the deadline may have appended the first event afterwards.
	got, unsure := f.consumed(1, 1), !errors.Is(failure, ErrNotAppended)
	if unsure && got[0] == 1 {
		got = f.consumed(1, 2)[1:]
	}
	if !slices.Equal(got, []uint64{2}) {
		t.Errorf("got %v after %v, want the second event", got, failure)
	}
}

// While the brokers do not answer, every call fails at its deadline, including calls that begin after earlier ones
// failed.
func TestNothingIsAcknowledgedWhileTheLogIsAway(t *testing.T) {
	f, c := newCluster(t, 4)
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
	var calls sync.WaitGroup
	for caller := range 8 {
		calls.Go(func() {
			for n := range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				err := f.producer.Produce(ctx, []Part{{Partition: 0, Payload: eventValue(1)}, {Partition: (caller + n) % 4, Payload: eventValue(2)}, {Partition: 3, Payload: eventValue(3)}})
				cancel()
				if !errors.Is(err, ErrUnavailable) {
					t.Errorf("call %d of caller %d returned %v, want ErrUnavailable", n, caller, err)
				}
			}
		})
	}
	calls.Wait()
}

func TestSealedBlockIsARecordSet(t *testing.T) {
	b, now := newBlock(), time.UnixMilli(1_789_000_000_123)
	for _, size := range []int{900 << 10, 0, 1, 49, 50, 63, 64, 8191, 8192, 1 << 20} {
		payload := bytes.Repeat([]byte{7}, size)
		b.add(payload, now, nil)
		b.seal(now)
		b.stamp(identity{id: 7, epoch: 1}, 3)
		var set protocol.RecordSet
		if _, err := set.ReadFrom(b.reader()); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		rec, err := set.Records.ReadRecord()
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		value, err := takeValue(rec)
		if err != nil || !bytes.Equal(value, payload) || !rec.Time.Equal(now) || rec.Key != nil || rec.Headers != nil {
			t.Errorf("%d bytes came back as %d with %+v, %v", size, len(value), rec, err)
		}
		if _, err := set.Records.ReadRecord(); err == nil {
			t.Errorf("%d bytes: a second record", size)
		}
		b.reset()
	}
}
