package kafka

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestWhatIsKnownOfAFailure makes calls fail before and after their payloads may be in the log.
func TestWhatIsKnownOfAFailure(t *testing.T) {
	refuse := func(err *kerr.Error, partitions ...int32) func(*testing.T, *kfake.Cluster) {
		return func(_ *testing.T, c *kfake.Cluster) {
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Partitions: partitions, Err: err, Count: -1})
		}
	}
	for _, test := range []struct {
		name  string
		fault func(*testing.T, *kfake.Cluster)
		none  bool
	}{
		{"every attempt is refused", refuse(kerr.NotEnoughReplicas, 0, 1), true},
		{"one partition's attempts are refused", refuse(kerr.NotEnoughReplicas, 0), false},
		{"the replicas were lost after the append", refuse(kerr.NotEnoughReplicasAfterAppend, 0, 1), false},
		{"no answer comes", func(t *testing.T, c *kfake.Cluster) {
			wake := make(chan struct{})
			t.Cleanup(func() { close(wake) })
			c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				c.SleepControl(func() { <-wake })
				return nil, nil, false
			})
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, c := newCluster(t, 2)
			p, err := NewProducer(ProducerConfig{Brokers: f.brokers, Topic: f.topic, Partitions: 2, Timeout: 300 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			start(t, p.Run)
			test.fault(t, c)
			err = p.Produce(t.Context(), []Part{{Partition: 0, Payload: eventValue(1)}, {Partition: 1, Payload: eventValue(2)}})
			if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotAppended) != test.none {
				t.Errorf("got %v; nothing appended: want %t", err, test.none)
			}
		})
	}
}

// TestNoBroker fails a call that reached no broker.
func TestNoBroker(t *testing.T) {
	p, err := NewProducer(ProducerConfig{Brokers: []string{"127.0.0.1:1"}, Topic: "t", Partitions: 1, Timeout: 300 * time.Millisecond, DrainTime: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	start(t, p.Run)
	if err := p.Produce(t.Context(), []Part{{Payload: eventValue(1)}}); !errors.Is(err, ErrNotAppended) {
		t.Errorf("got %v, want ErrNotAppended", err)
	}
}

// TestACallLongerThanTheQueue checks that such a call finds room as soon as the queue is half empty.
func TestACallLongerThanTheQueue(t *testing.T) {
	f, _ := newCluster(t, 1)
	p, err := NewProducer(ProducerConfig{Brokers: f.brokers, Topic: f.topic, Partitions: 1, MaxQueuedBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	start(t, p.Run)
	var parts []Part
	for n := range byte(5) {
		parts = append(parts, Part{Payload: bytes.Repeat([]byte{n}, defaultRecordBytes)})
	}
	if err := p.Produce(t.Context(), parts); err != nil {
		t.Fatal(err)
	}
	ends, err := f.admin.Ends(t.Context())
	if err != nil || ends[0] != int64(len(parts)) {
		t.Errorf("the log has %v records, %v", ends, err)
	}
}
