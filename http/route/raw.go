package route

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"svc"
)

// Refuse answers a request of a raw row with the problem of an error, as every
// gated row does. Members beside those of Problem may be given. The writer must
// be the one that the raw handler received.
func Refuse(w http.ResponseWriter, r *http.Request, err error, members map[string]any) {
	response, ours := w.(*recorder)
	if !ours {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	response.handler.logError(context.WithoutCancel(r.Context()), err, r.URL.Path, response.id)
	answer := response.handler.problemAnswer(err, response.id, nil)
	if len(members) > 0 {
		answer.Body = extend(answer.Body, members)
	}
	if answer.Status == http.StatusUnauthorized && w.Header().Get("Www-Authenticate") == "" {
		w.Header().Set("Www-Authenticate", ChallengeNone)
	}
	writeAnswer(response, answer)
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

// TellRate sets the headers that tell the state of a token's limit, as gated rows do.
func TellRate(w http.ResponseWriter, state svc.RateState) { setRateHeaders(w.Header(), state) }

// Arrival returns when a request arrived, to the handler of a raw row. The writer
// must be the one that the handler received; the zero time tells another one.
func Arrival(w http.ResponseWriter) time.Time {
	if response, ours := w.(*recorder); ours {
		return response.arrival
	}
	return time.Time{}
}

// RequestID returns the id of the request that a raw handler answers, of letters,
// digits and -_.: alone. The writer must be the one that the handler received.
func RequestID(w http.ResponseWriter) string {
	if response, ours := w.(*recorder); ours {
		return response.id
	}
	return ""
}
