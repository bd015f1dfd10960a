package apitest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
)

// reader takes an answer. Of a stream, which has no end of its own, it takes so many
// frames and then goes away.
type reader struct {
	*httptest.ResponseRecorder
	frames int
	leave  context.CancelFunc
}

// Flush goes away once all frames that the reader wants have arrived.
func (r *reader) Flush() {
	r.ResponseRecorder.Flush()
	if r.frames > 0 && bytes.Count(r.Body.Bytes(), []byte("\ndata: ")) >= r.frames {
		r.leave()
	}
}

// serve has a handler answer a request. Frames is how many frames of a stream are read,
// zero where the answer is none.
func serve(handler http.Handler, request *http.Request, frames int) *httptest.ResponseRecorder {
	ctx, leave := context.WithCancel(request.Context())
	defer leave()
	r := &reader{ResponseRecorder: httptest.NewRecorder(), frames: frames, leave: leave}
	handler.ServeHTTP(r, request.WithContext(ctx))
	return r.ResponseRecorder
}
