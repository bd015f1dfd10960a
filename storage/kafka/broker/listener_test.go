package broker

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// TestTheDoorShutsBothEntrances closes a broker while a producer uses it in memory.
func TestTheDoorShutsBothEntrances(t *testing.T) {
	b, err := Open(Config{Dir: t.TempDir(), Topics: []string{"door"}, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	address := b.Addrs()[0]
	conn, err := b.Dial(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if _, inMemory := conn.(memoryConn); !inMemory || conn.RemoteAddr().String() != address {
		t.Errorf("dialled a %T to %s", conn, conn.RemoteAddr())
	}
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
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

// TestDiallingInMemoryEndsWithItsContext dials a listener that does not accept, and an address that is not its own.
func TestDiallingInMemoryEndsWithItsContext(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &Broker{listener: newListener(ln)}
	defer b.listener.Close()
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
