package route

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tmaxmax/go-sse"

	"svc/domain"
)

const (
	streamType = "text/event-stream"
	// heartbeat is the interval at which a quiet stream sends a comment (contract 89).
	heartbeat = 15 * time.Second
	// streamTime is the maximum life of a stream. A client that reconnects passes all gates again.
	streamTime = 15 * time.Minute
	// recheckEvery is the interval at which an open stream passes the gates again. A caller that is signed out, removed
	// or revoked loses the stream within it, and a stream of a deleted resource ends.
	recheckEvery = 10 * time.Second
	// frameTime is the time within which a client must accept a frame, apart from frameSlack.
	frameTime  = 10 * time.Second
	frameSlack = time.Second
	// streamBuffer bounds the bytes of frames that wait for the next one.
	streamBuffer = 4 << 10
)

// Frame is one event of a stream.
type Frame struct {
	// ID is the frame's number; zero means the number after the last frame's.
	ID uint64
	// Event is the name of the event; an empty name means message.
	Event string
	// Data is encoded as JSON.
	Data any
	// More says that the next frame follows at once, so that this one may be sent with it.
	More bool
}

// TypedStream is Typed for an endpoint that also answers a stream, to callers that ask for text/event-stream. stream
// yields frames until yield returns false: the client has disconnected, or the service stops. ctx ends then as well. An
// error before the first frame is answered like an error of any endpoint. A later error becomes a last frame named
// error, with message and code. Frames are numbered onwards from Last-Event-ID.
func TypedStream[In, Out any](
	handle func(ctx context.Context, call *Call, in In) (Out, error),
	stream func(ctx context.Context, call *Call, in In, yield func(Frame) bool) error,
) Endpoint {
	endpoint := Typed(handle)
	endpoint.stream = func(ctx context.Context, call *Call, input any, yield func(Frame) bool) error {
		return stream(ctx, call, *input.(*In), yield)
	}
	return endpoint
}

// Streamed makes an endpoint that answers a stream only, under the same rules.
func Streamed[In any](stream func(ctx context.Context, call *Call, in In, yield func(Frame) bool) error) Endpoint {
	endpoint := TypedStream(func(context.Context, *Call, In) (Empty, error) {
		return Empty{}, domain.Errorf(domain.CodeNotAcceptable, "The endpoint answers %s.", streamType)
	}, stream)
	endpoint.streamOnly = true
	return endpoint
}

// notAcceptable refuses an Accept header that excludes every media type of the endpoint.
func (c *Call) notAcceptable() error {
	answers := "application/json"
	switch handler := c.Route.Handler; {
	case handler.lines != nil:
		answers = linesType
	case handler.streamOnly:
		answers = streamType
	case handler.stream != nil:
		answers += " and " + streamType
	}
	return domain.Errorf(domain.CodeNotAcceptable, "The endpoint answers %s.", answers)
}

// LastEventID returns the number of the last frame that a reconnecting caller has seen, zero for a
// new caller.
func (c *Call) LastEventID() uint64 {
	last, _ := strconv.ParseUint(c.request.Header.Get("Last-Event-Id"), 10, 63) // An id of another server counts as zero.
	return last
}

// streams reports whether a request to the row asks for a stream: it accepts the media type of streams, and does not
// accept the type of the other answer.
func (r *Route) streams(request *http.Request) bool {
	if r.Handler.lines != nil {
		return request.Method != http.MethodHead && (accepts(request.Header, linesType) || accepts(request.Header, "application/json"))
	}
	if r.Handler.stream == nil || request.Method == http.MethodHead {
		return false
	}
	if r.Handler.streamOnly {
		return accepts(request.Header, streamType) || accepts(request.Header, "application/json")
	}
	ranges := strings.ToLower(strings.Join(request.Header.Values("Accept"), ","))
	return strings.Contains(ranges, streamType) && !strings.Contains(ranges, "application/json") && accepts(request.Header, streamType)
}

// Drain ends all streams. Streams that are opened afterwards end at once.
func (h *Handler) Drain() { h.drain() }

// stream answers a call with the frames of its endpoint. It ends when the endpoint ends, the client disconnects, or the
// handler is drained. It returns an error only if the stream was not begun.
func (h *Handler) stream(ctx context.Context, call *Call, input any) error {
	limited, stop := context.WithTimeout(ctx, streamTime)
	defer stop()
	ctx, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	defer context.AfterFunc(h.draining, func() { //nolint:contextcheck // the life of all streams is no request's
		cancel(domain.Errorf(domain.CodeUnavailable, "The service is stopping; come back."))
	})()
	go h.recheck(ctx, call, cancel)
	writer := newStreamWriter(h, call, cancel)
	failure := h.produce(ctx, call, input, func(frame Frame) bool { return ctx.Err() == nil && writer.send(frame) == nil })
	if err := writer.end(ctx, failure); !writer.open {
		return err
	}
	return nil
}

// recheck ends a stream if its caller may no longer open it. It runs until ctx ends.
func (h *Handler) recheck(ctx context.Context, call *Call, end func(cause error)) {
	if call.Route.Open {
		return
	}
	ticker := time.NewTicker(recheckEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch err := h.permits(ctx, call); domain.CodeOf(err) {
		case domain.CodeUnauthorized, domain.CodeForbidden, domain.CodeNotFound, domain.CodeModuleDisabled:
			end(err)
			return
		default: // Another error leaves the decision open until the next check.
		}
	}
}

// permits repeats the gates of a call that check access. It counts as a request of the default class, but an exhausted
// limit ends no stream.
func (h *Handler) permits(ctx context.Context, call *Call) error {
	grant, _, err := h.config.Authority.Authorize(ctx, call.secret, domain.RateDefault, call.Param("org"))
	if err != nil && domain.CodeOf(err) != domain.CodeRateLimited {
		return err
	}
	again := &Call{Route: call.Route, Grant: grant, request: call.request, path: call.path}
	for _, pass := range []func(context.Context, *Call) error{passScope, passPermission, h.module} {
		if err := pass(ctx, again); err != nil {
			return err
		}
	}
	if call.Route.readsApp() {
		h.config.Reads(ctx, call.readsOn())
	}
	return nil
}

// produce calls the endpoint; a panic becomes an internal error.
func (h *Handler) produce(ctx context.Context, call *Call, input any, yield func(Frame) bool) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			h.metrics.panics.Inc()
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return call.Route.Handler.stream(ctx, call, input, yield)
}

// streamWriter writes the frames of a stream. Its lock serializes the endpoint's goroutine and the heartbeat.
type streamWriter struct {
	handler *Handler
	call    *Call
	// broken ends the stream from outside the endpoint.
	broken func(cause error)

	mu      sync.Mutex
	beat    *time.Timer
	session *sse.Session
	buffer  bytes.Buffer
	data    bytes.Buffer
	encoder *json.Encoder
	open    bool
	ended   bool
	last    uint64
	// failed is the error after which nothing can be written.
	failed error
	// bounded is the time at which the write deadline was last set.
	bounded time.Time
}

func newStreamWriter(h *Handler, call *Call, broken func(error)) *streamWriter {
	s := &streamWriter{handler: h, call: call, broken: broken}
	s.encoder = json.NewEncoder(&s.data)
	s.encoder.SetEscapeHTML(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beat = time.AfterFunc(heartbeat, s.ping)
	return s
}

// begin sends the head of the answer.
func (s *streamWriter) begin() error {
	if s.open {
		return nil
	}
	session, err := sse.Upgrade(s.call.response, s.call.request)
	if err != nil {
		return fmt.Errorf("beginning a stream: %w", err)
	}
	s.session = session
	s.last, _ = strconv.ParseUint(session.LastEventID.String(), 10, 63) // An id of another server counts as zero.
	header := s.call.response.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	header.Set("X-Api-Revision", s.handler.config.Revision)
	setRateHeaders(header, s.call.rate)
	// The server's time-outs are for requests that end; a stream has its own deadline per frame.
	_ = http.NewResponseController(s.call.response).SetReadDeadline(time.Time{})
	s.open = true
	return s.session.Flush()
}

// send writes a frame.
func (s *streamWriter) send(frame Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = s.append(frame)
	}
	if s.failed == nil && (!frame.More || s.buffer.Len() >= streamBuffer) {
		s.failed = s.flush()
	}
	return s.failed
}

// append adds a frame to the buffered ones. Neither JSON nor names of events contain line breaks.
func (s *streamWriter) append(frame Frame) error {
	s.data.Reset()
	if err := s.encoder.Encode(frame.Data); err != nil {
		return fmt.Errorf("encoding a frame: %w", err)
	}
	if err := s.begin(); err != nil {
		return err
	}
	if s.last++; frame.ID != 0 {
		s.last = frame.ID
	}
	s.buffer.WriteString("id: ")
	s.buffer.Write(strconv.AppendUint(s.buffer.AvailableBuffer(), s.last, 10))
	if frame.Event != "" {
		s.buffer.WriteString("\nevent: ")
		s.buffer.WriteString(frame.Event)
	}
	s.buffer.WriteString("\ndata: ")
	s.buffer.Write(s.call.shown(s.data.Bytes()))
	s.buffer.WriteByte('\n')
	return nil
}

// flush sends the buffered frames.
func (s *streamWriter) flush() error {
	s.beat.Reset(heartbeat)
	if now := s.handler.config.Now(); now.Sub(s.bounded) >= frameSlack {
		s.bounded = now
		// Writers of tests do not support deadlines; they are never slow.
		_ = http.NewResponseController(s.call.response).SetWriteDeadline(now.Add(frameTime))
	}
	_, err := s.session.Res.Write(s.buffer.Bytes())
	s.buffer.Reset()
	if err != nil {
		return err
	}
	return s.session.Flush()
}

// ping sends the comment that keeps a quiet stream open. It does nothing before the stream begins.
func (s *streamWriter) ping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.failed != nil {
		return
	}
	if !s.open {
		s.beat.Reset(heartbeat)
		return
	}
	message := &sse.Message{}
	message.AppendComment("ping")
	if _, s.failed = message.WriteTo(&s.buffer); s.failed == nil {
		s.failed = s.flush()
	}
	if s.failed != nil {
		s.broken(s.failed)
	}
}

// streamProblem is the data of a last frame named error.
type streamProblem struct {
	Message string      `json:"message"`
	Code    domain.Code `json:"code"`
}

// end ends the stream after its endpoint has returned. It returns an error only if the stream was not begun.
func (s *streamWriter) end(ctx context.Context, failure error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.beat.Stop()
	switch {
	case s.failed != nil:
		return s.failed
	case ctx.Err() != nil:
		failure = context.Cause(ctx)
	case failure == nil:
		if err := s.begin(); err != nil { // An empty stream is a valid answer.
			return err
		}
	case s.open:
		s.handler.logError(ctx, failure, s.call.Route.Operation, s.call.RequestID)
		shown := publicError(failure, s.call.Route)
		if err := s.append(Frame{Event: "error", Data: streamProblem{Message: shown.Message, Code: shown.Code}}); err != nil {
			return err
		}
	}
	if !s.open {
		return failure
	}
	return s.flush()
}
