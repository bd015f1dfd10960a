package kafka

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestContractEmbedded(t *testing.T) { RunContract(t, embedded(false)) }

func TestContractEmbeddedForced(t *testing.T) { RunContract(t, embedded(true)) }

// TestContractKafka runs the contract against the Kafka cluster that SVC_TEST_KAFKA names. `make test-kafka` starts
// one.
func TestContractKafka(t *testing.T) {
	brokers := strings.Split(os.Getenv("SVC_TEST_KAFKA"), ",")
	if brokers[0] == "" {
		t.Skip("SVC_TEST_KAFKA names no Kafka")
	}
	RunContract(t, func(testing.TB, string, int) []string { return brokers })
}

// RunContract checks the guarantees of the package on any Kafka cluster.
func RunContract(t *testing.T, open openCluster) {
	cases := []struct {
		name string
		test func(*testing.T, openCluster)
	}{
		{"order per partition", contractOrder},
		{"concurrent events are found once in few records", contractBatching},
		{"a repeated send is one record", contractRepeatedSend},
		{"payloads above the limit are refused", contractTooLarge},
		{"large payloads keep their bounds", contractLarge},
		{"a full queue is refused", contractFull},
		{"topic with another partition count is refused", contractEnsure},
		{"metadata round trip", contractMetadata},
		{"stale generation is fenced", contractFenced},
		{"shares are balanced and sticky", contractRebalance},
		{"owners", contractOwners},
		{"handler chooses the start", contractStart},
		{"handler error repeats from the commit", contractRepeat},
		{"a blocked partition holds back itself only", contractBackPressure},
		{"gap is reported", contractGap},
		{"compressed batches", contractCompressed},
		{"lag", contractLag},
		{"a generation is confirmed or fenced", contractConfirm},
		{"a foreign member stays outside", contractForeign},
		{"a node that cannot be called shares with nobody", contractAlone},
		{"records are read by their offsets", contractRead},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open)
		})
	}
}

func contractOrder(t *testing.T, open openCluster) {
	f := newFixture(t, open, 4)
	const n = 100
	for i := range uint64(n) {
		f.produce(Part{Partition: 0, Payload: eventValue(i)}, Part{Partition: 1, Payload: eventValue(i)}, Part{Partition: 3, Payload: eventValue(i)}, Part{Partition: 3, Payload: eventValue(n + i)})
	}
	r := new(recorder)
	start(t, f.consumer(r, nil).Run)
	eventually(t, "all events", func() bool { return r.bytes() == 4*n*8 }, r.state)
	var single, double []uint64
	for i := range uint64(n) {
		single = append(single, i)
		double = append(double, i, n+i)
	}
	for p, want := range map[int][]uint64{0: single, 1: single, 2: nil, 3: double} {
		if got := events(r.of(p)); !slices.Equal(got, want) {
			t.Errorf("partition %d: got %v, want %v", p, got, want)
		}
		for i, rec := range r.of(p) {
			if rec.Offset != int64(i) || rec.Partition != p || rec.Time.IsZero() {
				t.Errorf("partition %d record %d: %+v", p, i, rec)
			}
		}
	}
}

func contractBatching(t *testing.T, open openCluster) {
	f := newFixture(t, open, 2)
	const callers, each = 64, 50
	var wg sync.WaitGroup
	for c := range uint64(callers) {
		wg.Go(func() {
			for i := range uint64(each) {
				id := eventValue(c*each + i)
				if err := f.producer.Produce(t.Context(), []Part{{Partition: int(i % 2), Payload: id}}); err != nil {
					t.Error(err)
				}
				clear(id) // Produce copied the payload
			}
		})
	}
	wg.Wait()
	if queued := f.producer.Queued(); queued != 0 {
		t.Errorf("%d bytes still queued", queued)
	}
	r := new(recorder)
	start(t, f.consumer(r, nil).Run)
	eventually(t, "all events", func() bool { return r.bytes() >= callers*each*8 }, r.state)
	seen := make(map[uint64]int)
	for p := range 2 {
		for _, id := range events(r.of(p)) {
			seen[id]++
		}
	}
	for id := range uint64(callers * each) {
		if seen[id] != 1 {
			t.Errorf("event %d found %d times", id, seen[id])
		}
	}
	if n := r.count(); n > callers*each/2 {
		t.Errorf("%d records for %d events", n, callers*each)
	}
}

func contractTooLarge(t *testing.T, open openCluster) {
	f := newFixture(t, open, 2)
	parts := []Part{{Partition: 0, Payload: eventValue(1)}, {Partition: 1, Payload: make([]byte, defaultRecordBytes+1)}}
	if err := f.producer.Produce(t.Context(), parts); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("got %v, want ErrTooLarge", err)
	}
	f.produce(Part{Partition: 0, Payload: eventValue(2)})
	if err := f.producer.Produce(t.Context(), []Part{{Partition: 2, Payload: eventValue(3)}}); err == nil {
		t.Error("unknown partition was accepted")
	}
	ends, err := f.admin.Ends(t.Context())
	if err != nil || ends[0] != 1 || ends[1] != 0 {
		t.Errorf("ends %v, %v: want only the second call", ends, err)
	}
}

func contractLarge(t *testing.T, open openCluster) {
	f := newFixture(t, open, 1)
	var wg sync.WaitGroup
	for i := range byte(6) {
		wg.Go(func() { f.produce(Part{Partition: 0, Payload: bytes.Repeat([]byte{i}, 500<<10)}) })
	}
	f.produce(Part{Partition: 0, Payload: make([]byte, defaultRecordBytes)})
	wg.Wait()
	r := new(recorder)
	start(t, f.consumer(r, nil).Run)
	eventually(t, "all bytes", func() bool { return r.bytes() == 6*500<<10+defaultRecordBytes }, r.state)
	for _, rec := range r.of(0) {
		if len(rec.Value) > defaultRecordBytes || len(rec.Value) == 500<<10 && len(bytes.Trim(rec.Value, string(rec.Value[:1]))) != 0 {
			t.Errorf("record %d of %d bytes mixes payloads", rec.Offset, len(rec.Value))
		}
	}
}

func contractFull(t *testing.T, open openCluster) {
	f := newFixture(t, open, 1)
	p, err := NewProducer(ProducerConfig{Brokers: f.brokers, Topic: f.topic, Partitions: 1, MaxQueuedBytes: 20})
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan error, 2)
	for i := range uint64(2) {
		go func() { results <- p.Produce(context.Background(), []Part{{Partition: 0, Payload: eventValue(i)}}) }()
	}
	eventually(t, "two queued", func() bool { return p.Queued() == 16 }, func() string { return "" })
	if err := p.Produce(t.Context(), []Part{{Partition: 0, Payload: eventValue(9)}}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	stop := start(t, p.Run)
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	stop()
	if err := p.Produce(t.Context(), []Part{{Partition: 0, Payload: eventValue(9)}}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("after the end: got %v, want ErrUnavailable", err)
	}
}

func contractEnsure(t *testing.T, open openCluster) {
	f := newFixture(t, open, 3)
	if err := f.admin.Ensure(t.Context()); err != nil {
		t.Errorf("second time: %v", err)
	}
	other, err := NewTopic(TopicConfig{Brokers: f.brokers, Topic: f.topic, Partitions: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Ensure(t.Context()); !errors.Is(err, ErrPartitions) {
		t.Errorf("got %v, want ErrPartitions", err)
	}
}
