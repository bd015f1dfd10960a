package llm

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"testing"
)

// server is a transport that reads a given number of bytes of a body, and answers.
type server struct {
	reads int64
	lent  *http.Request
}

// RoundTrip is http.RoundTripper.
func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	s.lent = request
	if _, err := io.CopyN(io.Discard, request.Body, s.reads); err != nil {
		return nil, err
	}
	if s.reads == length {
		return &http.Response{Request: request, Body: http.NoBody}, request.Body.Close()
	}
	return &http.Response{Request: request, Body: http.NoBody}, nil
}

const length = 1 << 10

// TestABodyThatWasSentIsLetGo uses a provider that answers after it has read a question, and in the middle of one.
func TestABodyThatWasSentIsLetGo(t *testing.T) {
	for _, reads := range []int64{length, length / 2} {
		next, collected := &server{reads: reads}, make(chan struct{})
		send(t, next, collected)
		if left, err := io.ReadAll(next.lent.Body); err != nil || int64(len(left)) != length-reads {
			t.Errorf("after %d bytes: %d are left, %v", reads, len(left), err)
		}
		runtime.GC()
		<-collected
		if next.lent.Body == nil {
			t.Error("the request that was lent has changed")
		}
	}
}

// send sends a question and drops it; collected is closed when its bytes are free.
func send(t *testing.T, next *server, collected chan struct{}) {
	t.Helper()
	question := bytes.NewReader(make([]byte, length))
	runtime.AddCleanup(question, func(done chan struct{}) { close(done) }, collected)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://provider", io.NopCloser(question))
	if err != nil {
		t.Fatal(err)
	}
	response, err := releasing{next}.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
}
