package http

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
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
	if answer.Status == http.StatusUnauthorized {
		w.Header().Set("Www-Authenticate", `Bearer realm="svc"`)
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

// RequestID returns the id of the request that a raw handler answers.
func RequestID(w http.ResponseWriter) string {
	if id := w.Header()["X-Request-Id"]; len(id) == 1 {
		return id[0]
	}
	return ""
}
