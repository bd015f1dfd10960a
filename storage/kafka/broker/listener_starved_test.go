package broker

import (
	"net"
	"sync/atomic"
	"syscall"
	"testing"
)

// starved is a listener of a process that is out of file descriptors for a while.
type starved struct {
	net.Listener
	left atomic.Int64
}

func (s *starved) Accept() (net.Conn, error) {
	if s.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return s.Listener.Accept()
}

// TestABrokerOutlivesALackOfFileDescriptors makes the accepting of connections fail. The broker would end for good with
// the first error, but it accepts later connections.
func TestABrokerOutlivesALackOfFileDescriptors(t *testing.T) {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	poor := &starved{Listener: ln}
	poor.left.Store(3)
	d := newListener(poor)
	defer d.Close()
	accepted := make(chan error, 1)
	go func() {
		conn, err := d.Accept()
		if err == nil {
			err = conn.Close()
		}
		accepted <- err
	}()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := <-accepted; err != nil {
		t.Errorf("the listener ended with %v", err)
	}
}
