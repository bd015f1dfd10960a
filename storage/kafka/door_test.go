package kafka

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"
)

// TestProducingInMemory produces without the network and reads over it, with and
// without forcing.
func TestProducingInMemory(t *testing.T) {
	for name, sync := range map[string]bool{"unforced": false, "forced": true} {
		t.Run(name, func(t *testing.T) {
			f := newMemoryFixture(t, sync, 2)
			conn, err := f.dial(t.Context(), "tcp", f.brokers[0])
			if err != nil {
				t.Fatal(err)
			}
			if _, inMemory := conn.(memoryConn); !inMemory || conn.RemoteAddr().String() != f.brokers[0] {
				t.Errorf("dialled a %T to %s", conn, conn.RemoteAddr())
			}
			conn.Close()

			f.produce(Part{Partition: 0, Payload: event(1)}, Part{Partition: 1, Payload: event(2)})
			f.produce(Part{Partition: 0, Payload: event(3)})
			r := new(recorder)
			start(t, f.consumer(r, nil).Run)
			eventually(t, "all records", func() bool { return r.bytes() == 3*8 }, r.state)
			if first, second := events(r.of(0)), events(r.of(1)); !slices.Equal(first, []uint64{1, 3}) || !slices.Equal(second, []uint64{2}) {
				t.Errorf("read %v and %v", first, second)
			}
		})
	}
}

// TestTheDoorShutsBothEntrances closes a broker under a producer in memory.
func TestTheDoorShutsBothEntrances(t *testing.T) {
	b, err := OpenBroker(BrokerConfig{Dir: t.TempDir(), Topic: "door", Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	address := b.Addrs()[0]
	conn, err := b.Dial(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.As(err, &timeout) {
		t.Errorf("reading after the end: %v", err)
	}
	if _, err := b.Dial(t.Context(), "tcp", address); !errors.Is(err, net.ErrClosed) {
		t.Errorf("dialling in memory after the end: %v", err)
	}
	if _, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		t.Error("the network's entrance is open")
	}
}

// TestDiallingInMemoryEndsWithItsContext dials a door that nobody opens, and an
// address that is not its own.
func TestDiallingInMemoryEndsWithItsContext(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &Broker{door: newDoor(ln)}
	defer b.door.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Dial(ctx, "tcp", ln.Addr().String()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}

	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	conn, err := b.Dial(t.Context(), "tcp", other.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, inMemory := conn.(memoryConn); inMemory {
		t.Error("another address was reached in memory")
	}
}
