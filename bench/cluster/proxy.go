package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// proxy stands between one node and a server, and can cut them off from each other. It rewrites Kafka answers so that
// the node reconnects to the proxy, because a broker gives its clients its own address.
type proxy struct {
	listener net.Listener
	target   string
	kafka    bool

	// delay is the delay of the node's data in nanoseconds.
	delay atomic.Int64

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
	wake  *sync.Cond
}

func newProxy(ctx context.Context, target string, kafka bool) (*proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("opening a proxy: %w", err)
	}
	p := &proxy{listener: listener, target: target, kafka: kafka, conns: map[net.Conn]bool{}}
	p.wake = sync.NewCond(&p.mu)
	go p.serve(ctx)
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// part cuts the connection like a network that drops everything: nothing is closed, nothing arrives. mend lets new
// connections through; the old ones break.
func (p *proxy) part() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
}

func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.wake.Broadcast()
}

// pass waits while the connection is cut.
func (p *proxy) pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.cut {
		p.wake.Wait()
	}
}

func (p *proxy) serve(ctx context.Context) {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.carry(ctx, near)
	}
}

func (p *proxy) carry(ctx context.Context, near net.Conn) {
	defer near.Close()
	p.pass()
	far, err := new(net.Dialer).DialContext(ctx, "tcp", p.target)
	if err != nil {
		return
	}
	defer far.Close()
	p.mu.Lock()
	p.conns[near], p.conns[far] = true, true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, near)
		delete(p.conns, far)
		p.mu.Unlock()
	}()
	calls := &calls{versions: map[int32][2]int16{}}
	done := make(chan struct{}, 2)
	go func() { p.copy(far, near, &p.delay, calls.note); done <- struct{}{} }()
	go func() { p.copy(near, far, new(atomic.Int64), p.rewrite(calls)); done <- struct{}{} }()
	<-done
}

// copy transfers Kafka frames, or bytes, from one end to the other, with a delay.
func (p *proxy) copy(to io.Writer, from io.Reader, delay *atomic.Int64, change func([]byte) ([]byte, error)) {
	buffer := make([]byte, 64<<10)
	for {
		var piece []byte
		if p.kafka {
			var size [4]byte
			if _, err := io.ReadFull(from, size[:]); err != nil {
				return
			}
			piece = make([]byte, binary.BigEndian.Uint32(size[:]))
			if _, err := io.ReadFull(from, piece); err != nil {
				return
			}
			var err error
			if piece, err = change(piece); err != nil {
				return
			}
			piece = append(binary.BigEndian.AppendUint32(nil, uint32(len(piece))), piece...)
		} else {
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			piece = buffer[:n]
		}
		p.pass()
		time.Sleep(time.Duration(delay.Load()))
		if _, err := to.Write(piece); err != nil {
			return
		}
	}
}

// calls stores a client's requests, by the number that the answer repeats.
type calls struct {
	mu       sync.Mutex
	versions map[int32][2]int16
}

func (c *calls) note(request []byte) ([]byte, error) {
	if len(request) < 8 {
		return nil, errors.New("a short request")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key, version := int16(binary.BigEndian.Uint16(request)), int16(binary.BigEndian.Uint16(request[2:]))
	c.versions[int32(binary.BigEndian.Uint32(request[4:]))] = [2]int16{key, version}
	return request, nil
}

// rewrite puts the proxy's address into the answers that name the broker.
func (p *proxy) rewrite(calls *calls) func([]byte) ([]byte, error) {
	host, portText, _ := net.SplitHostPort(p.addr())
	port, _ := strconv.Atoi(portText)
	return func(answer []byte) ([]byte, error) {
		if len(answer) < 4 {
			return nil, errors.New("a short answer")
		}
		number := int32(binary.BigEndian.Uint32(answer))
		calls.mu.Lock()
		asked := calls.versions[number]
		delete(calls.versions, number)
		calls.mu.Unlock()
		var response kmsg.Response
		switch asked[0] {
		case (*kmsg.MetadataRequest)(nil).Key():
			response = kmsg.NewPtrMetadataResponse()
		case (*kmsg.FindCoordinatorRequest)(nil).Key():
			response = kmsg.NewPtrFindCoordinatorResponse()
		default:
			return answer, nil
		}
		response.SetVersion(asked[1])
		header := 4
		if response.IsFlexible() {
			header++ // an empty set of tags
		}
		if err := response.ReadFrom(answer[header:]); err != nil {
			return nil, fmt.Errorf("reading an answer: %w", err)
		}
		switch r := response.(type) {
		case *kmsg.MetadataResponse:
			for i := range r.Brokers {
				r.Brokers[i].Host, r.Brokers[i].Port = host, int32(port)
			}
		case *kmsg.FindCoordinatorResponse:
			r.Host, r.Port = host, int32(port)
			for i := range r.Coordinators {
				r.Coordinators[i].Host, r.Coordinators[i].Port = host, int32(port)
			}
		}
		return response.AppendTo(answer[:header:header]), nil
	}
}
