package apitest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
)

// reader records an answer. It ends a stream, which has no end of its own, after a number of
// frames.
type reader struct {
	*httptest.ResponseRecorder
	frames int
	leave  context.CancelFunc
}

// Flush ends the request once all frames that the reader wants have arrived.
func (r *reader) Flush() {
	r.ResponseRecorder.Flush()
	if r.frames > 0 && bytes.Count(r.Body.Bytes(), []byte("\ndata: ")) >= r.frames {
		r.leave()
	}
}

// serve sends a request to a handler. frames is how many frames of a stream are read, zero for an
// answer that is not a stream.
func serve(handler http.Handler, request *http.Request, frames int) *httptest.ResponseRecorder {
	ctx, leave := context.WithCancel(request.Context())
	defer leave()
	r := &reader{ResponseRecorder: httptest.NewRecorder(), frames: frames, leave: leave}
	handler.ServeHTTP(r, request.WithContext(ctx))
	return r.ResponseRecorder
}
