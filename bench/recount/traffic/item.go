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

// Context holds the context of an item.
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

// Sent is one item on its way, with its destination and its expected results.
type Sent struct {
	Item

	Environment string
	// Marker is a number in the properties if the item has no id.
	Marker int
	// Bot says that the visitor's user agent belongs to a crawler.
	Bot bool
	// Again marks the repetition of an earlier item.
	Again bool
	// Erased and OtherErased are the numbers of erasures of the visitor's id, and of the other, anonymous id, when the
	// item was sent; after each erasure the sender is another person.
	Erased, OtherErased int
	// Gone says that the person has been erased since.
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

// SentProperties returns the properties of the event that the item becomes, empty if it has none.
func (s *Sent) SentProperties() json.RawMessage {
	if s.Type == "identify" {
		return s.Traits
	}
	return s.Properties
}

// StoredProperties returns the same properties as the feed shows them.
func (s *Sent) StoredProperties() json.RawMessage {
	if raw := s.SentProperties(); len(raw) > 0 {
		return raw
	}
	return json.RawMessage("{}")
}
