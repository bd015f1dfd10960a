package posthog

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/ingest"
)

// Unform returns the body in a form's member data, in which older SDKs send base64. It returns another body unchanged.
func Unform(body []byte) []byte {
	if !bytes.HasPrefix(body, []byte("data=")) && !bytes.Contains(body[:min(len(body), 256)], []byte("&data=")) {
		return body
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("data") == "" {
		return body
	}
	data := form.Get("data")
	// In unescaped base64 a plus became a space; in JSON, spaces are spaces.
	if decoded, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(data, " ", "+")); err == nil {
		return decoded
	}
	return []byte(data)
}

// Key returns the ingest key at the beginning of a body: the first text with the name api_key or token and with a
// prefix. It finds the key without decoding, because the part before it may be long and the part after it is missing.
func Key(text []byte, prefix string) string {
	for len(text) > 0 {
		at := -1
		for _, name := range []string{`"api_key"`, `"token"`} {
			if found := bytes.Index(text, []byte(name)); found >= 0 && (at < 0 || found+len(name) < at) {
				at = found + len(name)
			}
		}
		if at < 0 {
			return ""
		}
		text = bytes.TrimLeft(text[at:], " \t\r\n:")
		if value, quoted := bytes.CutPrefix(text, []byte(`"`)); quoted && bytes.HasPrefix(value, []byte(prefix)) {
			if end := bytes.IndexByte(value, '"'); end > 0 {
				return string(value[:end])
			}
		}
	}
	return ""
}

// Captured is the content of a body.
type Captured struct {
	// Batch is a native batch of the events that can be stored.
	Batch []byte
	// Items counts the items of the batch.
	Items int
	// Flags counts reports of flag calls, which were counted already when the flags were evaluated.
	Flags int
	// Losses are the parts of the body that the batch does not contain.
	Losses []Loss
}

// Loss is an event that is not stored. If Part is true, it is a part of an event that is stored otherwise. Code is the
// reason.
type Loss struct {
	Signal ingest.Signal
	Code   string
	Part   bool
}

// errShape refuses a body without events.
var errShape = errors.New("the body is no event, no list of events and no batch")

// capture is one event as an SDK sends it.
type capture struct {
	Event      string                     `json:"event"`
	DistinctID json.RawMessage            `json:"distinct_id"`
	Properties map[string]json.RawMessage `json:"properties"`
	Set        map[string]json.RawMessage `json:"$set"`
	SetOnce    map[string]json.RawMessage `json:"$set_once"`
	Timestamp  json.RawMessage            `json:"timestamp"`
	// Offset is the age of the event at the time of sending, in milliseconds.
	Offset *float64 `json:"offset"`
	UUID   string   `json:"uuid"`
}

// body is the envelope around events; a single event is its own envelope.
type body struct {
	SentAt json.RawMessage   `json:"sent_at"`
	Batch  []json.RawMessage `json:"batch"`
	Event  string            `json:"event"`
}

// Read reads a body: an event, a list of events, or an object with a batch. sent is the send time in the address, zero
// if it has none. With more than most events, Read returns many and no events.
func Read(text []byte, sent time.Time, most int) (captured Captured, many bool, err error) {
	var raws []json.RawMessage
	var outer body
	switch text = bytes.TrimSpace(text); {
	case len(text) > 0 && text[0] == '[':
		err = domain.DecodeJSON(text, &raws)
	case len(text) > 0 && text[0] == '{':
		if err = domain.DecodeJSON(text, &outer); outer.Batch != nil {
			raws = outer.Batch
		} else if outer.Event != "" {
			raws = []json.RawMessage{text}
		} else if err == nil {
			err = errShape
		}
	default:
		err = errShape
	}
	if err != nil || len(raws) > most {
		return captured, err == nil, err
	}
	t := translation{told: map[told]map[string]json.RawMessage{}}
	if at, said := readTime(outer.SentAt); said && at.IsZero() {
		t.strip(ingest.SignalEvents, codeTime)
	} else if said {
		sent = at
	}
	t.sent = sent
	for _, raw := range raws {
		var one capture
		if err := json.Unmarshal(raw, &one); err != nil {
			t.add(item{"broken": "type"}) // The native path reports the problem.
			continue
		}
		t.translate(&one)
	}
	batch := map[string]any{"items": t.items}
	if !sent.IsZero() {
		batch["sentAt"] = sent.UTC().Format(time.RFC3339Nano)
	}
	captured.Items, captured.Flags, captured.Losses = len(t.items), t.flags, t.losses
	if captured.Batch, err = json.Marshal(batch); err != nil {
		return captured, false, fmt.Errorf("writing the batch: %w", err)
	}
	return captured, false, nil
}

// idOf reads an id, which may be a text or a number.
func idOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	return ""
}
