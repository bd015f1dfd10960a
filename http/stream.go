package http

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tmaxmax/go-sse"

	"svc"
)

const (
	streamType = "text/event-stream"
	// heartbeat is how often a quiet stream sends a comment (decision 89).
	heartbeat = 15 * time.Second
	// streamTime is the life of a stream. A client that comes back passes the gates
	// again, so a revoked token ends within this time.
	streamTime = 15 * time.Minute
	// frameTime is how long a client may take to accept a frame.
	frameTime = 10 * time.Second
)

// Frame is one event of a stream.
type Frame struct {
	// ID is the frame's number; the one after the last frame's where it is zero.
	ID uint64
	// Event is its name; the empty one is a message.
	Event string
	// Data is written as JSON.
	Data any
}

// TypedStream is Typed for an endpoint that answers a stream as well, to those who ask
// for text/event-stream. stream yields frames until yield returns false, which it does
// when the client has gone or the service stops; ctx ends then as well. An error before
// the first frame is answered like that of any endpoint, a later one is a last frame
// named error with message and code. Frames are numbered, onwards from Last-Event-ID.
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

// Streamed makes an endpoint that answers nothing but a stream, under the same rules.
func Streamed[In any](stream func(ctx context.Context, call *Call, in In, yield func(Frame) bool) error) Endpoint {
	endpoint := TypedStream(func(context.Context, *Call, In) (Empty, error) {
		return Empty{}, svc.Errorf(svc.CodeNotAcceptable, "The endpoint answers text/event-stream.")
	}, stream)
	endpoint.streamOnly = true
	return endpoint
}

// LastEventID returns the number of the last frame that a caller who comes back has
// seen, zero for a new one.
func (c *Call) LastEventID() uint64 {
	last, _ := strconv.ParseUint(c.request.Header.Get("Last-Event-Id"), 10, 63) // another server's id counts for nothing
	return last
}

// streams says whether a request to the row asks for a stream: it names the media type,
// and not that of the other answer.
func (r *Route) streams(request *http.Request) bool {
	if r.Handler.stream == nil || request.Method == http.MethodHead {
		return false
	}
	if r.Handler.streamOnly {
		return accepts(request.Header, streamType) || accepts(request.Header, "application/json")
	}
	ranges := strings.ToLower(strings.Join(request.Header.Values("Accept"), ","))
	return strings.Contains(ranges, streamType) && !strings.Contains(ranges, "application/json") && accepts(request.Header, streamType)
}

// Drain ends all streams, and those that are opened afterwards at once.
func (h *Handler) Drain() { h.drain() }

// stream answers a call with what its endpoint yields, until it ends, the client has
// gone, or the handler is drained.
func (h *Handler) stream(ctx context.Context, call *Call, input any) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, streamTime)
	defer cancel()
	frames, ended := make(chan Frame), make(chan error, 1)
	var producer sync.WaitGroup
	producer.Go(func() {
		ended <- h.produce(ctx, call, input, func(frame Frame) bool {
			select {
			case frames <- frame:
				return true
			case <-ctx.Done():
				return false
			}
		})
	})
	writer := streamWriter{handler: h, call: call}
	err := writer.run(ctx, frames, ended)
	cancel()
	producer.Wait()
	if !writer.open {
		return Answer{}, err
	}
	return Answer{streamed: true}, nil
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

// streamWriter is the only one who writes to a stream.
type streamWriter struct {
	handler *Handler
	call    *Call
	session *sse.Session
	open    bool
	last    uint64
}

// run writes frames until there are no more. The error is that of an endpoint which
// failed before its first frame.
func (s *streamWriter) run(ctx context.Context, frames <-chan Frame, ended <-chan error) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case frame := <-frames:
			beat.Reset(heartbeat)
			err = s.send(frame)
		case <-beat.C:
			err = s.ping()
		case failure := <-ended:
			return s.end(ctx, failure)
		case <-s.handler.draining:
			return svc.Errorf(svc.CodeUnavailable, "The service is stopping; come back.")
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
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
	s.last, _ = strconv.ParseUint(session.LastEventID.String(), 10, 63) // another server's id counts for nothing
	header := s.call.response.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	header.Set("X-Api-Revision", s.handler.config.Revision)
	setRateHeaders(header, s.call.rate)
	// The server's bounds are for requests that end; a stream has its own per frame.
	_ = http.NewResponseController(s.call.response).SetReadDeadline(time.Time{})
	s.open = true
	return nil
}

func (s *streamWriter) send(frame Frame) error {
	data, err := encodeJSON(frame.Data)
	if err != nil {
		return fmt.Errorf("encoding a frame: %w", err)
	}
	if err := s.begin(); err != nil {
		return err
	}
	if s.last++; frame.ID != 0 {
		s.last = frame.ID
	}
	message := &sse.Message{ID: sse.ID(strconv.FormatUint(s.last, 10))}
	if frame.Event != "" {
		message.Type = sse.Type(frame.Event)
	}
	message.AppendData(strings.TrimSuffix(string(data), "\n"))
	return s.write(message)
}

// ping sends the comment that keeps a quiet stream open, once it is.
func (s *streamWriter) ping() error {
	if !s.open {
		return nil
	}
	message := &sse.Message{}
	message.AppendComment("ping")
	return s.write(message)
}

func (s *streamWriter) write(message *sse.Message) error {
	// A writer without deadlines, as tests have them, is never slow.
	_ = http.NewResponseController(s.call.response).SetWriteDeadline(s.handler.config.Now().Add(frameTime))
	if err := s.session.Send(message); err != nil {
		return err
	}
	return s.session.Flush()
}

// streamProblem is the data of a last frame named error.
type streamProblem struct {
	Message string   `json:"message"`
	Code    svc.Code `json:"code"`
}

// end ends the stream after its endpoint has.
func (s *streamWriter) end(ctx context.Context, failure error) error {
	if failure == nil && !s.open { // an empty stream is an answer as well
		if err := s.begin(); err != nil {
			return err
		}
		return s.session.Flush()
	}
	if failure == nil || !s.open || ctx.Err() != nil {
		return failure
	}
	s.handler.logError(ctx, failure, s.call.Route.Operation, s.call.RequestID)
	shown := publicError(failure, s.call.Route)
	return s.send(Frame{Event: "error", Data: streamProblem{Message: shown.Message, Code: shown.Code}})
}
