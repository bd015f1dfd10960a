package broker

import (
	"context"
	"net"
	"sync"
	"time"
)

// listener accepts connections from the network and, from clients in the same process, connections in memory. The
// latter need no system call and no network poller.
type listener struct {
	net.Listener
	accepted chan net.Conn

	closing sync.Once
	closed  chan struct{}
}

// newListener takes ownership of the listener.
func newListener(ln net.Listener) *listener {
	l := &listener{Listener: ln, accepted: make(chan net.Conn), closed: make(chan struct{})}
	go l.acceptNetwork()
	return l
}

// acceptPause is the pause after a connection could not be accepted. The process may briefly be out of file
// descriptors.
const acceptPause = 20 * time.Millisecond

// acceptNetwork forwards network connections until the listener is closed. It hides errors from the broker, which would
// stop at the first one.
func (l *listener) acceptNetwork() {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			select {
			case <-time.After(acceptPause):
				continue
			case <-l.closed:
				return
			}
		}
		select {
		case l.accepted <- conn:
		case <-l.closed:
			_ = conn.Close()
			return
		}
	}
}

// Accept returns the next connection of either kind.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses later connections of both kinds.
func (l *listener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// dial opens a connection in memory.
func (l *listener) dial(ctx context.Context) (net.Conn, error) {
	inside, outside := net.Pipe()
	select {
	case l.accepted <- memoryConn{inside, l.Addr()}:
		return memoryConn{outside, l.Addr()}, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// memoryConn is one end of a connection in memory. Both ends report the listener's address, since the broker asks for
// the address of its clients.
type memoryConn struct {
	net.Conn
	at net.Addr
}

func (c memoryConn) LocalAddr() net.Addr { return c.at }

func (c memoryConn) RemoteAddr() net.Addr { return c.at }
