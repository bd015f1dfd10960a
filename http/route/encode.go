package route

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// Time is an instant as answers write it: ISO 8601, UTC, with exactly three decimal places (milliseconds).
type Time time.Time

// timeLayout is the written form of a Time.
const timeLayout = "2006-01-02T15:04:05.000Z"

// MarshalJSON writes the instant.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + time.Time(t).UTC().Format(timeLayout) + `"`), nil
}

// UnmarshalJSON reads an ISO 8601 timestamp with any offset.
func (t *Time) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return errors.New("no timestamp")
	}
	*t = Time(parsed)
	return nil
}

// TimeOf returns the instant for an answer, nil for none.
func TimeOf(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	instant := Time(*t)
	return &instant
}

// Answer is a finished answer, ready to be sent.
type Answer struct {
	Status int
	// Header holds Content-Type, Location, ETag, Link and the like, one value each.
	Header map[string]string
	Body   []byte
	// streamed is true if the whole answer has been sent already.
	streamed bool
}

// encodeJSON writes a value as JSON with a final line feed. It fails for non-finite numbers, which JSON cannot
// represent.
func encodeJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// answerOf finishes the output of a handler.
func answerOf(call *Call, output any) (Answer, error) {
	answer := Answer{Status: call.status, Header: map[string]string{}}
	for name, values := range call.header {
		answer.Header[name] = values[0]
	}
	tag := answer.Header["Etag"]
	if tag != "" && !call.volatile && call.Route.Effect == Read && matchesTag(call.request.Header.Get("If-None-Match"), tag, true) {
		answer.Status = http.StatusNotModified
		return answer, nil
	}
	if _, empty := output.(Empty); empty {
		return answer, nil
	}
	body, err := encodeJSON(output)
	if err != nil {
		return Answer{}, err
	}
	answer.Header["Content-Type"], answer.Body = "application/json", call.shown(body)
	return answer, nil
}

// cacheControl forbids caches to store an answer. The caller may store an answer with an entity tag, and must
// revalidate it before each use.
func cacheControl(answer Answer) string {
	if answer.Header["Etag"] != "" {
		return "private, no-cache"
	}
	return "no-store"
}

// writeAnswer sends a finished answer.
func writeAnswer(w http.ResponseWriter, answer Answer) {
	header := w.Header()
	for name, value := range answer.Header {
		header.Set(name, value)
	}
	if answer.Status != http.StatusNoContent && answer.Status != http.StatusNotModified {
		header.Set("Content-Length", strconv.Itoa(len(answer.Body)))
	}
	if header.Get("Cache-Control") == "" {
		header.Set("Cache-Control", cacheControl(answer))
	}
	w.WriteHeader(answer.Status)
	if len(answer.Body) > 0 {
		// A failed write means that the caller has disconnected, so there is no recipient for an error.
		_, _ = w.Write(answer.Body)
	}
}
