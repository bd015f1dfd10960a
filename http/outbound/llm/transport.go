package llm

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// transport connects to providers. Answers take long and many are read at once, each over its own connection if the
// provider speaks HTTP/1.1. Only requests are written to a connection, and their bodies bypass its buffer.
func transport() http.RoundTripper {
	return releasing{&http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTime}).DialContext, TLSHandshakeTimeout: dialTime,
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: idleTime, WriteBufferSize: writeBuffer,
	}}
}

const (
	writeBuffer = 1 << 10
	// idleConnections is the number of connections to a provider that are cached for the next turns.
	idleConnections = 64
	idleTime        = 90 * time.Second
	// dialTime bounds the connection and its handshake.
	dialTime = 10 * time.Second
)

// releasing frees the body of a request when the answer begins. The library and the transport retain the request until
// the answer has been read, and a question with its tools and history is long.
type releasing struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r releasing) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil {
		return r.next.RoundTrip(request)
	}
	held := &heldBody{body: request.Body, again: request.GetBody}
	lent := request.WithContext(request.Context()) // This copies the request, because a request that was given to a transport must not change.
	lent.Body, lent.GetBody = held, nil
	if request.GetBody != nil {
		lent.GetBody = held.open
	}
	answer, err := r.next.RoundTrip(lent)
	held.release()
	return answer, err
}

// heldBody is the body of a request. It is freed when it is released and was sent or abandoned.
type heldBody struct {
	mu             sync.Mutex
	body           io.ReadCloser
	again          func() (io.ReadCloser, error)
	sent, released bool
}

// Read implements io.Reader.
func (h *heldBody) Read(p []byte) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.body == nil {
		return 0, io.EOF
	}
	n, err = h.body.Read(p)
	if errors.Is(err, io.EOF) {
		h.sent = true
		h.free()
	}
	return n, err
}

// Close implements io.Closer.
func (h *heldBody) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.body == nil {
		return nil
	}
	err := h.body.Close()
	h.sent = true
	h.free()
	return err
}

// open is the GetBody of the request that is passed on.
func (h *heldBody) open() (io.ReadCloser, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.again == nil {
		return nil, errReleased
	}
	return h.again()
}

var errReleased = errors.New("the request has been answered")

func (h *heldBody) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
	h.free()
}

// free frees the body if it is no longer needed. The caller holds the lock.
func (h *heldBody) free() {
	if h.sent && h.released {
		h.body, h.again = nil, nil
	}
}
