package route

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"svc/domain"
)

const (
	linesType = "application/x-ndjson"
	// linesBuffer is the number of bytes of lines that one write sends.
	linesBuffer = 32 << 10
	// linesTime is the time within which a client must accept them.
	linesTime = 30 * time.Second
)

// Lined makes an endpoint that streams lines of JSON, under the rules of Typed. lines yields each line and returns the
// error of yield: the client has disconnected, or the service stops. An error before the first line is answered like an
// error of any endpoint. A later error aborts the transfer, so that the client does not take it for complete.
func Lined[In any](lines func(ctx context.Context, call *Call, in In, yield func(line any) error) error) Endpoint {
	endpoint := Typed(func(_ context.Context, call *Call, _ In) (Empty, error) {
		return Empty{}, domain.Errorf(domain.CodeNotAcceptable, "The endpoint answers %s.", linesType)
	})
	endpoint.lines = func(ctx context.Context, call *Call, input any, yield func(line any) error) error {
		return lines(ctx, call, *input.(*In), yield)
	}
	return endpoint
}

// Lined reports whether the endpoint answers lines of JSON.
func (e *Endpoint) Lined() bool { return e.lines != nil }

// sendLines answers a call with the lines of its endpoint. It returns an error only if the answer was not begun.
func (h *Handler) sendLines(ctx context.Context, call *Call, input any) error {
	ctx, stop := context.WithTimeout(ctx, streamTime)
	defer stop()
	defer context.AfterFunc(h.draining, stop)() //nolint:contextcheck // the life of all streams is no request's
	writer := lineWriter{handler: h, call: call}
	err := h.produceLines(ctx, call, input, func(line any) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return writer.add(line)
	})
	if err == nil {
		err = writer.flush()
	}
	if err == nil || !writer.open {
		return err
	}
	if !errors.Is(err, context.Canceled) {
		h.logError(ctx, err, call.Route.Operation, call.RequestID)
	}
	panic(http.ErrAbortHandler) // The head with status 200 has been sent already.
}

// produceLines calls the endpoint; a panic becomes an internal error.
func (h *Handler) produceLines(ctx context.Context, call *Call, input any, yield func(line any) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			h.metrics.panics.Inc()
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return call.Route.Handler.lines(ctx, call, input, yield)
}

// lineWriter sends lines.
type lineWriter struct {
	handler *Handler
	call    *Call
	buffer  bytes.Buffer
	open    bool
}

func (w *lineWriter) add(line any) error {
	encoded, err := encodeJSON(line)
	if err != nil {
		return fmt.Errorf("encoding a line: %w", err)
	}
	w.buffer.Write(w.call.shown(encoded))
	if w.buffer.Len() < linesBuffer {
		return nil
	}
	return w.flush()
}

// flush sends the buffered lines, after the head of the answer.
func (w *lineWriter) flush() error {
	response := w.call.response
	if !w.open {
		header := response.Header()
		header.Set("Content-Type", linesType)
		header.Set("Cache-Control", "no-store")
		header.Set("X-Api-Revision", w.handler.config.Revision)
		setRateHeaders(header, w.call.rate)
		for name, values := range w.call.header {
			header[name] = values
		}
		response.WriteHeader(w.call.status)
		w.open = true
	}
	// Writers of tests do not support deadlines; they are never slow.
	_ = http.NewResponseController(response).SetWriteDeadline(w.handler.config.Now().Add(linesTime))
	_, err := response.Write(w.buffer.Bytes())
	w.buffer.Reset()
	return err
}

// Attach makes the browser save the answer as a file with a name.
func (c *Call) Attach(name string) {
	c.header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
}
