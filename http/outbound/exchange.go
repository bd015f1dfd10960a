package outbound

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// exchanger exchanges HTTP/1.1 messages without TLS for checks, on the goroutine of its caller. The client of net/http
// needs two more goroutines and two buffers for each connection, which cost more than the exchange
// (docs/decisions/0046-schedule-monitors-by-id.md). net/http encodes and decodes the messages.
//
// A connection is cached for idleTime after its last use and for agedTime in total. Its address was checked when it was
// made, so it needs no second check; the next connection looks the name up.
type exchanger struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	now  func() time.Time

	mu   sync.Mutex
	idle map[string][]*plainConn // The last element is the latest used one.
	// sweeping is true while a sweep is scheduled.
	sweeping bool
}

// agedTime bounds the life of a reused connection.
const agedTime = time.Minute

// maxInformed is the maximum number of informational answers before the final answer.
const maxInformed = 5

var errHeader = errors.New("the header of the answer is too long")

// plainConn is a connection to a host. While it is idle it holds no buffer.
type plainConn struct {
	net.Conn
	made, used time.Time
	// left is the number of bytes that may be read until the header is complete.
	left int64
}

// Read bounds the header.
func (c *plainConn) Read(into []byte) (int, error) {
	if c.left <= 0 {
		return 0, errHeader
	}
	n, err := c.Conn.Read(into[:min(int64(len(into)), c.left)])
	c.left -= int64(n)
	return n, err
}

// unbounded is the limit after a header; it is larger than any body.
const unbounded = 1 << 62

func newExchanger(dialer *Dialer, now func() time.Time) *exchanger {
	return &exchanger{dial: dialer.DialContext, now: now, idle: map[string][]*plainConn{}}
}

// RoundTrip implements http.RoundTripper. The caller must close the body of the answer; if the body was read to its
// end, the connection is cached for reuse.
func (p *exchanger) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	address, err := hostPort(request.URL)
	if err != nil {
		return nil, err
	}
	if replayable(request.Method) {
		if conn := p.take(address); conn != nil {
			response, begun, err := p.exchange(request, conn, address)
			// The server may have closed the connection while the request was in transit.
			if err == nil || begun || ctx.Err() != nil {
				return response, err
			}
		}
	}
	bounded, cancel := boundedByCheck(ctx)
	defer cancel()
	conn, err := p.dial(bounded, "tcp", address)
	if err != nil {
		return nil, err
	}
	response, _, err := p.exchange(request, &plainConn{Conn: conn, made: p.now()}, address)
	return response, err
}

// hostPort returns the address of a request, with the host in its DNS form.
func hostPort(target *url.URL) (string, error) {
	host := target.Hostname()
	if strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		var err error
		if host, err = idna.Lookup.ToASCII(host); err != nil {
			return "", fmt.Errorf("reading the host: %w", err)
		}
	}
	return net.JoinHostPort(host, cmp.Or(target.Port(), "80")), nil
}

// replayable reports whether a request without an answer may be sent again.
func replayable(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// exchange sends a request over a connection and reads the header of the answer. begun reports whether a part of an
// answer arrived. The end of the request's context or its deadline ends the exchange.
func (p *exchanger) exchange(request *http.Request, conn *plainConn, address string) (response *http.Response, begun bool, err error) {
	ctx := request.Context()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		_ = conn.Close() // The connection is unusable.
		return nil, false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // A closed connection needs no deadline.
	writer, reader := writers.Get().(*bufio.Writer), readers.Get().(*bufio.Reader)
	writer.Reset(conn)
	reader.Reset(conn)
	conn.left = maxHeader
	if err = request.Write(writer); err == nil {
		err = writer.Flush()
	}
	writer.Reset(nil)
	writers.Put(writer)
	if err == nil {
		if _, err = reader.Peek(1); err == nil {
			begun = true
			if check := checkOf(ctx); check != nil {
				check.times.answered()
			}
			response, err = readAnswer(reader, request)
		}
	}
	body := &plainBody{pool: p, conn: conn, reader: reader, address: address, stop: stop}
	if err != nil {
		body.end(false)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, begun, err
	}
	conn.left = unbounded
	body.ReadCloser, body.keep = response.Body, !response.Close && replayable(request.Method)
	response.Body = body
	return response, begun, nil
}

// readAnswer reads the header of the final answer and skips informational ones.
func readAnswer(reader *bufio.Reader, request *http.Request) (*http.Response, error) {
	for range maxInformed {
		response, err := http.ReadResponse(reader, request)
		if err != nil || response.StatusCode >= http.StatusOK || response.StatusCode == http.StatusSwitchingProtocols {
			return response, err
		}
	}
	return nil, errHeader
}

// The buffers of running exchanges.
var (
	readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, plainBuffer) }} //nolint:gochecknoglobals // a pool
	writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, plainBuffer) }} //nolint:gochecknoglobals // a pool
)

const plainBuffer = 4 << 10

// plainBody is the body of an answer. It owns the connection until it is closed.
type plainBody struct {
	io.ReadCloser
	pool    *exchanger
	conn    *plainConn
	reader  *bufio.Reader
	address string
	// stop detaches the exchange from its context. It returns false if the context has ended the exchange already.
	stop func() bool
	// keep is true if the connection may be reused, whole if the body was read to its end.
	keep, whole, closed bool
}

// Read reads the body, and notes its end.
func (b *plainBody) Read(into []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.ReadCloser.Read(into)
	b.whole = b.whole || err == io.EOF
	return n, err
}

// Close returns the connection to the pool or closes it.
func (b *plainBody) Close() error {
	if b.closed {
		return nil
	}
	b.end(b.keep && (b.whole || b.ReadCloser == http.NoBody))
	return nil
}

// end releases the reader and the connection. It does not cache a connection with unread bytes or a cancelled exchange.
func (b *plainBody) end(keep bool) {
	b.closed = true
	keep = b.stop() && keep && b.reader.Buffered() == 0
	b.reader.Reset(nil)
	readers.Put(b.reader)
	if !keep || !b.pool.put(b.address, b.conn) {
		_ = b.conn.Close() // The body was read, or the connection is unusable.
	}
}

// take returns a cached connection, nil if there is no connection to the address.
func (p *exchanger) take(address string) *plainConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.idle[address]
	if len(idle) == 0 {
		return nil
	}
	conn := idle[len(idle)-1]
	idle[len(idle)-1] = nil
	p.idle[address] = idle[:len(idle)-1]
	return conn
}

// put caches a connection, unless it is old or the host has enough.
func (p *exchanger) put(address string, conn *plainConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	conn.used = p.now()
	if conn.used.Sub(conn.made) >= agedTime || len(p.idle[address]) >= maxChecks {
		return false
	}
	p.idle[address] = append(p.idle[address], conn)
	if !p.sweeping {
		p.sweeping = true
		time.AfterFunc(idleTime, p.sweep)
	}
	return true
}

// sweep closes the connections that were idle for idleTime, and schedules itself again while the cache is not empty.
func (p *exchanger) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for address, idle := range p.idle {
		old := 0
		for old < len(idle) && now.Sub(idle[old].used) >= idleTime {
			_ = idle[old].Close() // The connection is not in use.
			old++
		}
		switch {
		case old == len(idle):
			delete(p.idle, address)
		case old > 0:
			p.idle[address] = append([]*plainConn{}, idle[old:]...)
		}
	}
	if p.sweeping = len(p.idle) > 0; p.sweeping {
		time.AfterFunc(idleTime/sweepsPerIdle, p.sweep)
	}
}

// sweepsPerIdle is the number of checks for idle connections within idleTime.
const sweepsPerIdle = 5
