package broker

import (
	"context"
	"net"
	"sync"
	"time"
)

// door is a listener with a second entrance, for clients in the same process:
// their connections are memory, and cost no call of the system and no turn of
// the network's poller.
type door struct {
	net.Listener
	entered chan net.Conn

	closing sync.Once
	closed  chan struct{}
}

// newDoor takes over the listener.
func newDoor(ln net.Listener) *door {
	d := &door{Listener: ln, entered: make(chan net.Conn), closed: make(chan struct{})}
	go d.admit()
	return d
}

// admitPause is the pause after a connection that could not be taken: the process may be out
// of file descriptors, and gets some back.
const admitPause = 20 * time.Millisecond

// admit hands the connections of the network on until the listener is closed. The broker, which
// ends with the first error of its listener, is told of none.
func (d *door) admit() {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			select {
			case <-time.After(admitPause):
				continue
			case <-d.closed:
				return
			}
		}
		select {
		case d.entered <- conn:
		case <-d.closed:
			_ = conn.Close()
			return
		}
	}
}

// Accept returns the next connection of either entrance.
func (d *door) Accept() (net.Conn, error) {
	select {
	case conn := <-d.entered:
		return conn, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close closes both entrances.
func (d *door) Close() error {
	d.closing.Do(func() { close(d.closed) })
	return d.Listener.Close()
}

// enter opens a connection in memory.
func (d *door) enter(ctx context.Context) (net.Conn, error) {
	inside, outside := net.Pipe()
	select {
	case d.entered <- memoryConn{inside, d.Addr()}:
		return memoryConn{outside, d.Addr()}, nil
	case <-d.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// memoryConn is an end of a connection in memory. Both ends say that they are at
// the listener's address, since the broker asks where its clients are.
type memoryConn struct {
	net.Conn
	at net.Addr
}

func (c memoryConn) LocalAddr() net.Addr { return c.at }

func (c memoryConn) RemoteAddr() net.Addr { return c.at }
