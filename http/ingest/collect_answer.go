package ingest

import (
	"encoding/json"
	"net/http"
	"strconv"

	"svc/domain"
	"svc/domain/ingest"
)

// answer writes 202 with the accepted and the rejected items, and 400 if none was accepted. An item that the policy
// samples away counts as accepted. A beacon, which reads no answer, gets 204.
func (sub *submission) answer() {
	if sub.accepted+sub.dropped == 0 {
		sub.answerRejected()
		return
	}
	if sub.request.URL.RawQuery != "" && sub.request.URL.Query().Get("beacon") == "1" {
		sub.allowOrigin()
		sub.writer.WriteHeader(http.StatusNoContent)
		return
	}
	body := append(sub.out[:0], `{"accepted":`...)
	body = strconv.AppendInt(body, int64(sub.accepted+sub.dropped), 10)
	body = append(body, `,"rejected":`...)
	body = sub.appendRejected(body)
	body = append(body, `,"requestId":"`...)
	body = append(body, sub.writer.RequestID()...)
	body = append(body, '"', '}', '\n')
	sub.out = body
	header := sub.writer.Header()
	header["Content-Type"] = jsonType
	sub.allowOrigin()
	sub.writer.WriteHeader(http.StatusAccepted)
	_, _ = sub.writer.Write(body)
}

// answerRejected writes the problem of a request without an accepted item.
func (sub *submission) answerRejected() {
	rejection := sub.rejected[0]
	err := domain.Invalid(domain.FieldError{Field: "items", Code: rejection.Code, Message: "No item was accepted: " + rejection.Message})
	sub.allowOrigin()
	sub.writer.Refuse(sub.request, err, map[string]any{"accepted": 0, "rejected": sub.rejected})
}

// allowOrigin lets the page that sent the request read its answer.
func (sub *submission) allowOrigin() {
	if sub.request.Header["Origin"] != nil {
		sub.writer.AllowOrigin(sub.request)
	}
}

func (sub *submission) appendRejected(body []byte) []byte {
	if len(sub.rejected) == 0 {
		return append(body, "[]"...)
	}
	encoded, err := json.Marshal(sub.rejected)
	if err != nil {
		return append(body, "[]"...)
	}
	return append(body, encoded...)
}

// reject notes a rejected item.
func (sub *submission) reject(index int, code, message string) {
	sub.rejected = append(sub.rejected, ingest.Rejection{Index: index, Code: code, Message: message, Signal: sub.signal})
	sub.collect.Metrics.Rejected.WithLabelValues(code).Inc()
}
