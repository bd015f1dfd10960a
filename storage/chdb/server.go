package chdb

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// copyBuffer is the size in bytes of the pieces in which rows go into the engine. Larger pieces do not make an insert
// faster.
const copyBuffer = 256 << 10

// handler serves ClickHouse's HTTP interface with the connections of a pool.
type handler struct {
	pool    *pool
	held    func() bool // reports whether inserts are refused
	tokens  *tokenLogs  // syncs the tokens of inserts; nil leaves them to the operating system
	hello   []byte
	buffers sync.Pool
}

func newHandler(p *pool, hello []byte, held func() bool) *handler {
	return &handler{
		pool: p, hello: hello, held: held,
		buffers: sync.Pool{New: func() any { b := make([]byte, copyBuffer); return &b }},
	}
}

// ServeHTTP runs one statement. The status is 200 as soon as the first block of the result is sent. A later exception
// is framed into the body and the connection is cut, so that the client cannot take the result for complete.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s, err := newStatement(r)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-ClickHouse-Exception-Tag", exceptionTag)
	if s.text == helloQuery {
		_, _ = w.Write(h.hello)
		return
	}
	sent, err := h.run(w, r, s)
	switch {
	case err == nil:
	case !sent:
		fail(w, err)
	default:
		_, _ = w.Write([]byte(asException(err).frame()))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// run runs the statement on a connection of the pool. It reports whether a part of the result was sent.
func (h *handler) run(w http.ResponseWriter, r *http.Request, s *statement) (sent bool, err error) {
	// A client reads the answer only after it has sent everything, so rows that the engine did not accept are read and
	// dropped.
	defer func() { _, _ = io.Copy(io.Discard, r.Body) }()
	if err := h.refuse(s); err != nil {
		return false, err
	}
	c, err := h.pool.acquire(r.Context(), s.purpose())
	if err != nil {
		return false, err
	}
	defer h.pool.release(c, s.purpose())
	if err := c.prepare(s.database, s.settings); err != nil {
		return false, err
	}
	if s.rows {
		buffer := h.buffers.Get().(*[]byte)
		defer h.buffers.Put(buffer)
		if err := c.insert(r.Context(), s, r.Body, *buffer); err != nil {
			return false, err
		}
		return false, h.forceTokens(s)
	}
	err = c.query(r.Context(), s, func(block []byte) error {
		sent = true
		_, err := w.Write(block)
		return err
	})
	return sent, err
}

// forceTokens syncs the tokens to disk if the insert has one.
func (h *handler) forceTokens(s *statement) error {
	if s.settings["insert_deduplication_token"] == "" {
		return nil
	}
	return h.tokens.force()
}

// fail sends an exception as the complete response.
func fail(w http.ResponseWriter, err error) {
	e := asException(err)
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	w.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(e.code))
	w.WriteHeader(e.status())
	_, _ = w.Write([]byte(e.text + "\n"))
}

// asException returns the engine's exception in err. Any other error means that the exchange with the client failed,
// and becomes a network error.
func asException(err error) *exception {
	var e *exception
	if errors.As(err, &e) {
		return e
	}
	return newException(codeNetworkError, "NETWORK_ERROR", "%s", err)
}
