package route

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"svc/domain"
)

// RawHandler answers a request of a row that passes no gate.
type RawHandler func(w *Response, r *http.Request)

// Refuse answers a request with the problem of an error, as gated rows do. members are added to the members of Problem.
func (w *Response) Refuse(r *http.Request, err error, members map[string]any) {
	w.handler.logError(context.WithoutCancel(r.Context()), err, r.URL.Path, w.id)
	answer := w.handler.problemAnswer(err, w.id, nil)
	if len(members) > 0 {
		answer.Body = extend(answer.Body, members)
	}
	if answer.Status == http.StatusUnauthorized && w.Header().Get("Www-Authenticate") == "" {
		w.Header().Set("Www-Authenticate", ChallengeNone)
	}
	writeAnswer(w, answer)
}

// extend adds members to a JSON object.
func extend(body []byte, members map[string]any) []byte {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return body
	}
	maps.Copy(object, members)
	if extended, err := json.Marshal(object); err == nil {
		return extended
	}
	return body
}

// TellRate sets the headers that show the state of a token's limit, as gated rows do.
func (w *Response) TellRate(state domain.RateState) { setRateHeaders(w.Header(), state) }

// Arrival returns when the request arrived.
func (w *Response) Arrival() time.Time { return w.arrival }

// RequestID returns the id of the request, which consists of letters, digits and -_.: only.
func (w *Response) RequestID() string { return w.id }

// Stopping is closed when streams must end because the service stops.
func (w *Response) Stopping() <-chan struct{} { return w.handler.draining.Done() }
