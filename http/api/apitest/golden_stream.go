package apitest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
)

// reader records an answer. A stream has no end of its own, so reader ends it after a number of frames.
type reader struct {
	*httptest.ResponseRecorder
	frames int
	leave  context.CancelFunc
}

// Flush ends the request after the wanted number of frames has arrived.
func (r *reader) Flush() {
	r.ResponseRecorder.Flush()
	if r.frames > 0 && bytes.Count(r.Body.Bytes(), []byte("\ndata: ")) >= r.frames {
		r.leave()
	}
}

// serve sends a request to a handler. frames is the number of frames to read from a stream, zero for an answer that is
// not a stream.
func serve(handler http.Handler, request *http.Request, frames int) *httptest.ResponseRecorder {
	ctx, leave := context.WithCancel(request.Context())
	defer leave()
	r := &reader{ResponseRecorder: httptest.NewRecorder(), frames: frames, leave: leave}
	handler.ServeHTTP(r, request.WithContext(ctx))
	return r.ResponseRecorder
}
