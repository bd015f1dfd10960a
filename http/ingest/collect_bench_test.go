package ingest

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/domain"
	"svc/http/route"
)

// singleAllocations bounds the service's allocations for a request with one event, beyond net/http: its id, the header
// with the id, the address and the key.
const singleAllocations = 4

// roundTrip sends one request after another through the whole handler without a network, so that it measures the
// service and not net/http.
type roundTrip struct {
	handler http.Handler
	request *http.Request
	body    *strings.Reader
	text    string
	answer  answerSink
}

// answerSink is a response writer that stores only the status.
type answerSink struct {
	header http.Header
	status int
}

func (s *answerSink) Header() http.Header { return s.header }

func (s *answerSink) Write(p []byte) (int, error) { return len(p), nil }

func (s *answerSink) WriteHeader(status int) { s.status = status }

func newRoundTrip(tb testing.TB, path, text string) *roundTrip {
	tb.Helper()
	collect := testCollect(nil)
	collect.Log = discard{}
	handler, err := route.New(route.Config{
		Routes: collect.Routes(), Authority: struct{ route.Authority }{}, Applications: struct{ route.Applications }{},
		Cursors: domain.NewCursors([]byte("bench")), Now: collectNoon,
	})
	if err != nil {
		tb.Fatal(err)
	}
	trip := &roundTrip{handler: handler, body: strings.NewReader(text), text: text, answer: answerSink{header: http.Header{}}}
	trip.request = httptest.NewRequest(http.MethodPost, path, nil)
	trip.request.Header.Set("Authorization", "Bearer public")
	trip.request.Header.Set("Content-Type", "application/json")
	trip.request.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0")
	trip.request.Body, trip.request.ContentLength = io.NopCloser(trip.body), int64(len(text))
	return trip
}

// run sends the request once and returns the status of its answer.
func (t *roundTrip) run() int {
	t.body.Reset(t.text)
	clear(t.answer.header)
	t.handler.ServeHTTP(&t.answer, t.request)
	return t.answer.status
}

// TestASingleEventAllocatesLittle bounds the allocations of a single event. The minimum of many runs counts: a pool may
// be emptied at any time, and under the race detector randomly is.
func TestASingleEventAllocatesLittle(t *testing.T) {
	trip := newRoundTrip(t, "/api/v1/events", bodies()[0])
	if status := trip.run(); status != http.StatusAccepted {
		t.Fatalf("status %d", status)
	}
	least := math.Inf(1)
	for range 200 {
		least = min(least, testing.AllocsPerRun(1, func() { trip.run() }))
	}
	if least > singleAllocations {
		t.Errorf("%v allocations a request, want at most %d", least, singleAllocations)
	}
}

// BenchmarkCollect measures requests from the router to the answer, without
// network and log.
func BenchmarkCollect(b *testing.B) {
	one := strings.Replace(bodies()[0], `{"name"`, `{"type":"event","name"`, 1)
	for _, c := range []struct{ name, path, body string }{
		{"single", "/api/v1/events", bodies()[0]},
		{"batch100", "/api/v1/batch", `{"items":[` + strings.TrimSuffix(strings.Repeat(one+",", 100), ",") + `]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			trip := newRoundTrip(b, c.path, c.body)
			b.ReportAllocs()
			for b.Loop() {
				if status := trip.run(); status != http.StatusAccepted {
					b.Fatal(status)
				}
			}
		})
	}
}
