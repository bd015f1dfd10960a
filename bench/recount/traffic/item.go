package traffic

import (
	"encoding/json"
	"time"
)

// Item is one item of a batch, as a client sends it.
type Item struct {
	Type        string          `json:"type"`
	ID          string          `json:"id,omitempty"`
	Ts          time.Time       `json:"ts"`
	DistinctID  string          `json:"distinctId,omitempty"`
	AnonymousID string          `json:"anonymousId,omitempty"`
	PreviousID  string          `json:"previousId,omitempty"`
	SessionID   string          `json:"sessionId,omitempty"`
	Name        string          `json:"name,omitempty"`
	URL         string          `json:"url,omitempty"`
	Path        string          `json:"path,omitempty"`
	Referrer    string          `json:"referrer,omitempty"`
	Title       string          `json:"title,omitempty"`
	Properties  json.RawMessage `json:"properties,omitempty"`
	Traits      json.RawMessage `json:"traits,omitempty"`
	Value       *float64        `json:"value,omitempty"`
	Currency    string          `json:"currency,omitempty"`
	Release     string          `json:"release,omitempty"`
	EngagedMs   int64           `json:"engagedMs,omitempty"`
	Context     Context         `json:"context"`
}

// Context holds the circumstances of an item.
type Context struct {
	IP        string    `json:"ip"`
	UserAgent string    `json:"userAgent"`
	Locale    string    `json:"locale,omitempty"`
	Screen    any       `json:"screen,omitempty"`
	Library   any       `json:"library,omitempty"`
	Campaign  *Campaign `json:"campaign,omitempty"`
}

// Campaign holds the fields in which a client states the visitor's source.
type Campaign struct {
	Source string `json:"source,omitempty"`
	Medium string `json:"medium,omitempty"`
	Name   string `json:"name,omitempty"`
}

// Sent is one item on its way: where it goes, and what is to be found of it.
type Sent struct {
	Item

	Environment string
	// Marker is a number that the properties hold where the item has no id.
	Marker int
	// Bot says that the visitor's user agent is a crawler's.
	Bot bool
	// Again marks the repetition of an item that was sent before.
	Again bool
	// Erased and OtherErased are how often the id of the visitor, and the anonymous id beside it, were erased when the
	// item was sent; the one who sends is another person each time.
	Erased, OtherErased int
	// Gone says that the person was erased since.
	Gone bool

	arrives time.Time
}

// StoredName is the name of the event that the item becomes.
func (s *Sent) StoredName() string {
	switch {
	case s.Type == "identify":
		return "$identify"
	case s.Type == "alias":
		return "$alias"
	case s.Type == "page" && s.Name == "":
		return "page_view"
	}
	return s.Name
}

// Visitor is the id that the item counts for.
func (s *Sent) Visitor() string {
	if s.DistinctID != "" {
		return s.DistinctID
	}
	return s.AnonymousID
}

// SentProperties are the properties of the event that the item becomes, empty
// where it has none.
func (s *Sent) SentProperties() json.RawMessage {
	if s.Type == "identify" {
		return s.Traits
	}
	return s.Properties
}

// StoredProperties are the same as the feed shows them.
func (s *Sent) StoredProperties() json.RawMessage {
	if raw := s.SentProperties(); len(raw) > 0 {
		return raw
	}
	return json.RawMessage("{}")
}
