package kafka

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"svc/storage/kafka/broker"
)

// lossy makes connections that lose the next answer once lose is set. By then the broker has executed the request. lost
// is called before the client learns of the failure.
type lossy struct {
	lose atomic.Bool
	lost func()
}

func (l *lossy) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return lossyConn{conn, l}, err
}

type lossyConn struct {
	net.Conn
	lossy *lossy
}

func (c lossyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.lossy.lose.CompareAndSwap(true, false) {
		if c.lossy.lost != nil {
			c.lossy.lost()
		}
		return 0, errors.Join(io.ErrUnexpectedEOF, c.Conn.Close())
	}
	return n, err
}

// over replaces the fixture's producer by a new one that connects through dial.
func (f *fixture) over(dial DialFunc) {
	f.t.Helper()
	var err error
	f.producer, err = NewProducer(ProducerConfig{Brokers: f.brokers, Topic: f.topic, Partitions: f.partitions, Dial: dial})
	if err != nil {
		f.t.Fatal(err)
	}
	start(f.t, f.producer.Run)
}

// holds fails the test unless a partition has exactly these events.
func (f *fixture) holds(partition int, want ...uint64) {
	f.t.Helper()
	var ends map[int]int64
	eventually(f.t, "the ends", func() (ok bool) { // the pool holds connections that broke when the broker ended
		var err error
		ends, err = f.admin.Ends(f.t.Context())
		return err == nil
	}, func() string { return "errors" })
	all, err := f.consumer(new(recorder), nil).Read(f.t.Context(), partition, 0, ends[partition]-1)
	if err != nil || !slices.Equal(events(all), want) {
		f.t.Errorf("partition %d has %v, want %v (%v)", partition, events(all), want, err)
	}
}

// contractRepeatedSend loses the answer to a record: the record is sent again and appended once.
func contractRepeatedSend(t *testing.T, open openCluster) {
	f := newFixture(t, open, 2)
	var wire lossy
	f.over(wire.Dial)
	f.produce(Part{Partition: 0, Payload: eventValue(1)}, Part{Partition: 1, Payload: eventValue(1)})
	wire.lose.Store(true)
	f.produce(Part{Partition: 0, Payload: eventValue(2)}, Part{Partition: 1, Payload: eventValue(2)})
	if wire.lose.Load() {
		t.Fatal("no answer was lost")
	}
	f.produce(Part{Partition: 0, Payload: eventValue(3)}, Part{Partition: 1, Payload: eventValue(3)})
	f.holds(0, 1, 2, 3)
	f.holds(1, 1, 2, 3)
}

// TestAnswersOfABrokerAboutRepeatedSends makes a broker refuse the second of three records once, or append it and fail.
func TestAnswersOfABrokerAboutRepeatedSends(t *testing.T) {
	for _, test := range []struct {
		name   string
		faults []*kerr.Error
		fails  error // the error of the second call
	}{
		{"it timed out and appended", []*kerr.Error{kerr.RequestTimedOut}, nil},
		{"it appended and says so at the repetition", []*kerr.Error{kerr.RequestTimedOut, kerr.DuplicateSequenceNumber}, nil},
		{"it does not know the producer", []*kerr.Error{kerr.UnknownProducerID}, nil},
		{"it knows another number", []*kerr.Error{kerr.OutOfOrderSequenceNumber}, nil},
		{"it knows another epoch", []*kerr.Error{kerr.InvalidProducerEpoch}, nil},
		{"it appended, and forgot the producer", []*kerr.Error{kerr.RequestTimedOut, kerr.UnknownProducerID}, ErrUnavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, c := newCluster(t, 2)
			f.produce(Part{Partition: 0, Payload: eventValue(1)})
			for _, fault := range test.faults {
				c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: fault, Count: 1})
			}
			err := f.producer.Produce(t.Context(), []Part{{Partition: 0, Payload: eventValue(2)}})
			if !errors.Is(err, test.fails) || errors.Is(err, ErrNotAppended) {
				t.Errorf("got %v, want %v", err, test.fails)
			}
			f.produce(Part{Partition: 0, Payload: eventValue(3)})
			f.holds(0, 1, 2, 3)
		})
	}
}

// TestARecordInDoubtUsesUpNoNumber gives up a record without an answer, before and after the broker appends it. The
// broker neither takes the next record for it nor appends it twice.
func TestARecordInDoubtUsesUpNoNumber(t *testing.T) {
	f, c := newCluster(t, 2)
	f.produce(Part{Partition: 0, Payload: eventValue(1)})
	wake := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.DropControl()
		c.SleepControl(func() { <-wake })
		return nil, nil, false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := f.producer.Produce(ctx, []Part{{Partition: 0, Payload: eventValue(2)}}); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotAppended) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	close(wake)
	f.produce(Part{Partition: 0, Payload: eventValue(3)})
	f.produce(Part{Partition: 0, Payload: eventValue(4)})
	f.holds(0, 1, 2, 3, 4)
}

// TestNumbersEnd goes past the last sequence number.
func TestNumbersEnd(t *testing.T) {
	f, _ := newCluster(t, 2)
	f.produce(Part{Partition: 0, Payload: eventValue(1)}, Part{Partition: 1, Payload: eventValue(1)})
	newest := &identity{id: 99}
	f.producer.identity, f.producer.partitions[1].identity, f.producer.partitions[1].sequence = newest, newest, lastSequence
	f.produce(Part{Partition: 1, Payload: eventValue(2)})
	f.produce(Part{Partition: 1, Payload: eventValue(3)}, Part{Partition: 0, Payload: eventValue(2)})
	f.holds(0, 1, 2)
	f.holds(1, 1, 2, 3)
	if p := f.producer.partitions[1]; p.sequence != 1 || p.identity.id == 99 {
		t.Errorf("number %d of producer %d, want the second of another one", p.sequence, p.identity.id)
	}
}

// TestABrokerEndsBeforeItAnswers ends the embedded broker between an append and its answer, by a stop and by a kill.
func TestABrokerEndsBeforeItAnswers(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, b *broker.Broker, dir string){
		"stopped": func(t *testing.T, b *broker.Broker, _ string) {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		},
		"killed": func(t *testing.T, b *broker.Broker, dir string) {
			image := t.TempDir()
			if err := errors.Join(os.CopyFS(image, os.DirFS(dir)), b.Close(), os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(image))); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			cfg := broker.Config{Dir: dir, Topics: []string{childTopic}, Partitions: childPartitions}
			b, err := broker.Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Addr = b.Addrs()[0]
			f := &fixture{t: t, brokers: b.Addrs(), topic: childTopic, group: childGroup, partitions: childPartitions}
			f.prepare()
			wire := lossy{lost: func() {
				end(t, b, dir)
				b = startBroker(t, cfg)
			}}
			f.over(wire.Dial)
			for id := range uint64(7) {
				f.produce(Part{Partition: 1, Payload: eventValue(id)})
			}
			wire.lose.Store(true)
			f.produce(Part{Partition: 1, Payload: eventValue(7)})
			f.produce(Part{Partition: 1, Payload: eventValue(8)})
			f.holds(1, 0, 1, 2, 3, 4, 5, 6, 7, 8)
		})
	}
}

// TestAForgottenProducerGoesOn makes the embedded broker forget the producers. A cluster does so with producers that
// were idle for a day.
func TestAForgottenProducerGoesOn(t *testing.T) {
	cfg := broker.Config{Dir: t.TempDir(), Topics: []string{childTopic}, Partitions: childPartitions}
	b, err := broker.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Addr = b.Addrs()[0]
	f := &fixture{t: t, brokers: b.Addrs(), topic: childTopic, group: childGroup, partitions: childPartitions}
	f.prepare()
	f.produce(Part{Partition: 0, Payload: eventValue(1)})
	f.produce(Part{Partition: 0, Payload: eventValue(2)})
	if err := errors.Join(b.Close(), os.Remove(filepath.Join(cfg.Dir, "pids.log"))); err != nil {
		t.Fatal(err)
	}
	startBroker(t, cfg)
	f.produce(Part{Partition: 0, Payload: eventValue(3)}, Part{Partition: 1, Payload: eventValue(3)})
	f.holds(0, 1, 2, 3)
	f.holds(1, 3)
}
