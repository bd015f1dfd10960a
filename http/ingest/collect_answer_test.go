package ingest

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/http/route"
)

// failing is a log that fails with one error.
type failing struct{ err error }

func (l failing) Produce(context.Context, []event.Part) error { return l.err }

// answerOf sends one request through the whole handler.
func answerOf(t *testing.T, collect *Collect, request *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	handler, err := route.New(route.Config{
		Routes: collect.Routes(), Authority: struct{ route.Authority }{}, Applications: struct{ route.Applications }{},
		Cursors: domain.NewCursors([]byte("answers")), Now: collectNoon,
	})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

// TestUnavailableSaysWhatIsKnown compares the answer to a client with the state of the log.
func TestUnavailableSaysWhatIsKnown(t *testing.T) {
	for _, test := range []struct {
		name     string
		err      error
		accepted string
	}{
		{"nothing was appended", domain.NotAccepted("The log", time.Second), "none"},
		{"the answer was lost", domain.Unsure("The log", time.Second), "unknown"},
		{"an error that nobody foresaw", errors.New("something"), "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			collect := testCollect(nil)
			collect.Log = failing{test.err}
			request := httptest.NewRequest(http.MethodPost, "/api/v1/events", strings.NewReader(bodies()[0]))
			request.Header.Set("Authorization", "Bearer public")
			answer := answerOf(t, collect, request)
			var body struct{ Accepted, Detail string }
			if err := stdjson.Unmarshal(answer.Body.Bytes(), &body); err != nil {
				t.Fatal(err)
			}
			told := strings.Contains(body.Detail, "nothing was accepted")
			if answer.Code != http.StatusServiceUnavailable || body.Accepted != test.accepted || told != (test.accepted == "none") || answer.Header().Get("Retry-After") != "1" {
				t.Errorf("%d %s", answer.Code, answer.Body)
			}
		})
	}
}
