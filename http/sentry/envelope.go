package sentry

import (
	"bytes"
	"fmt"
	"time"

	"svc/domain"
)

// Bounds of an envelope.
const (
	// MaxItems is the maximum number of items of one envelope.
	MaxItems = 1000
	// MaxEventBytes is the size of one event item (Sentry documents 1 MiB).
	MaxEventBytes = 1 << 20
)

// Header is the first line of an envelope. Every field may be missing.
type Header struct {
	EventID string
	DSN     string
	// SentAt is the client's clock when it sent the envelope, zero if unknown.
	SentAt time.Time
	SDK    SDK
}

// SDK is the library that sent an envelope or event.
type SDK struct {
	Name    string
	Version string
}

// Item is one item of an envelope. The payload is a part of the envelope's bytes.
type Item struct {
	Type    string
	Payload []byte
	// Count is the number of things in the item, at least one.
	Count int
	// Attachment is the kind of an attachment, empty for any other item.
	Attachment string
}

// Malformed is the reason why an envelope or event cannot be read. The sender gets its text in X-Sentry-Error.
type Malformed struct{ Reason string }

// Error returns the reason.
func (e *Malformed) Error() string { return e.Reason }

func malformed(format string, args ...any) error { return &Malformed{fmt.Sprintf(format, args...)} }

// Split cuts an envelope into its header and items. It returns items of unknown types like any other. It fails with
// *Malformed.
//
// If the header of a payload has a length, the payload has exactly that length and ends with a line feed or the
// envelope. Any other payload ends at the next line feed. Carriage returns are data.
func Split(body []byte) (Header, []Item, error) {
	line, rest := cutLine(body)
	var first object
	if err := domain.DecodeJSON(line, &first); err != nil {
		return Header{}, nil, malformed("invalid envelope header")
	}
	r := &reader{} // A member of an invalid form counts as missing.
	out := Header{EventID: r.text("event_id", first["event_id"]), DSN: r.text("dsn", first["dsn"]), SDK: r.sdk(first["sdk"])}
	out.SentAt, _ = parseTime(first["sent_at"])
	var items []Item
	for {
		for len(rest) > 0 && rest[0] == '\n' {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return out, items, nil
		}
		if len(items) == MaxItems {
			return Header{}, nil, malformed("envelope holds more than %d items", MaxItems)
		}
		var item Item
		var err error
		if item, rest, err = cutItem(rest, len(items)); err != nil {
			return Header{}, nil, err
		}
		items = append(items, item)
	}
}

// cutItem reads one item from the beginning of rest.
func cutItem(rest []byte, index int) (Item, []byte, error) {
	line, rest := cutLine(rest)
	var head object
	if err := domain.DecodeJSON(line, &head); err != nil {
		return Item{}, nil, malformed("item %d: invalid header", index)
	}
	r := &reader{}
	item := Item{Type: r.text("type", head["type"]), Count: max(r.number("item_count", head["item_count"]), 1)}
	if item.Type == "attachment" {
		item.Attachment = r.text("attachment_type", head["attachment_type"])
	}
	if item.Type == "" {
		return Item{}, nil, malformed("item %d: header has no type", index)
	}
	if absent(head["length"]) {
		item.Payload, rest = cutLine(rest)
		return item, rest, nil
	}
	length := r.number("length", head["length"])
	if len(r.problems) > 0 {
		return Item{}, nil, malformed("item %d: length is no number", index)
	}
	if length < 0 || length > len(rest) {
		return Item{}, nil, malformed("item %d: length %d does not fit the envelope", index, length)
	}
	item.Payload, rest = rest[:length], rest[length:]
	if len(rest) > 0 && rest[0] != '\n' {
		return Item{}, nil, malformed("item %d: no line feed after %d bytes", index, length)
	}
	return item, rest, nil
}

// cutLine returns the text before the first line feed, and the text after it.
func cutLine(body []byte) (line, rest []byte) {
	if end := bytes.IndexByte(body, '\n'); end >= 0 {
		return body[:end], body[end+1:]
	}
	return body, nil
}
