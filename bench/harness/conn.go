package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// ErrNotSent means that the server cannot have seen a request: no connection could be made.
var ErrNotSent = errors.New("no connection")

// requestTime limits one request of a load.
const requestTime = 30 * time.Second

// Conn is one keep-alive connection that sends prepared requests. It is lighter than net/http's client, so that the
// generator is not the bottleneck. Only one goroutine may use it at a time.
type Conn struct {
	address string
	head    []byte
	out     []byte
	conn    net.Conn
	reader  *bufio.Reader
	body    []byte
}

// Reply is an answer of the server. The body is valid until the next request.
type Reply struct {
	Status     int
	RetryAfter string
	Body       []byte
}

// NewConn returns a connection to address that posts JSON to path. It connects with its first request and again after a
// failure.
func NewConn(address, path, key, userAgent string) *Conn {
	return NewMediaConn(address, path, key, userAgent, "application/json")
}

// NewMediaConn is NewConn for bodies of another media type.
func NewMediaConn(address, path, key, userAgent, media string) *Conn {
	return &Conn{address: address, head: fmt.Appendf(nil,
		"POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nUser-Agent: %s\r\nContent-Type: %s\r\nContent-Length: ",
		path, address, key, userAgent, media)}
}

// Post sends a body and reads the answer. After an error other than ErrNotSent, the outcome of the request is unknown.
func (c *Conn) Post(body []byte) (Reply, error) {
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", c.address, time.Second)
		if err != nil {
			return Reply{}, fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		c.conn, c.reader = conn, bufio.NewReader(conn)
	}
	reply, err := c.exchange(body)
	if err != nil {
		c.Close()
		return Reply{}, err
	}
	return reply, nil
}

// Close ends the connection; the next request opens another one.
func (c *Conn) Close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

func (c *Conn) exchange(body []byte) (Reply, error) {
	if err := c.conn.SetDeadline(time.Now().Add(requestTime)); err != nil {
		return Reply{}, fmt.Errorf("setting the deadline: %w", err)
	}
	c.out = append(c.out[:0], c.head...)
	c.out = strconv.AppendInt(c.out, int64(len(body)), 10)
	c.out = append(c.out, "\r\n\r\n"...)
	c.out = append(c.out, body...)
	if _, err := c.conn.Write(c.out); err != nil {
		return Reply{}, fmt.Errorf("sending: %w", err)
	}
	return c.receive()
}

// receive reads one answer with a stated length.
func (c *Conn) receive() (Reply, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return Reply{}, fmt.Errorf("reading the status: %w", err)
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return Reply{}, fmt.Errorf("reading the status: %q", line)
	}
	reply := Reply{Status: int(line[9]-'0')*100 + int(line[10]-'0')*10 + int(line[11]-'0')}
	length, closing, err := c.header(&reply)
	if err != nil {
		return Reply{}, err
	}
	c.body = append(c.body[:0], make([]byte, length)...)
	if _, err := io.ReadFull(c.reader, c.body); err != nil {
		return Reply{}, fmt.Errorf("reading the body: %w", err)
	}
	if closing {
		c.Close()
	}
	reply.Body = c.body
	return reply, nil
}

// header parses the header lines that matter to a load.
func (c *Conn) header(reply *Reply) (length int, closing bool, err error) {
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return 0, false, fmt.Errorf("reading the header: %w", err)
		}
		if len(line) <= 2 {
			return length, closing, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, false, fmt.Errorf("reading the length: %w", err)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return 0, false, errors.New("reading the header: chunked answers are not expected here")
		case bytes.EqualFold(name, []byte("Connection")):
			closing = bytes.EqualFold(value, []byte("close"))
		case bytes.EqualFold(name, []byte("Retry-After")):
			reply.RetryAfter = string(value)
		}
	}
}
