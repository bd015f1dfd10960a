package destination

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"svc/domain/event"
)

// Conversion is one event on its way to one destination. It holds everything that is sent, except the data of the
// person that only the store knows.
type Conversion struct {
	// EventID is the id of the event, by which receivers recognise repetitions.
	EventID     string    `json:"eventId"`
	Name        string    `json:"name"`
	SourceEvent string    `json:"sourceEvent"`
	At          time.Time `json:"at"`
	ReceivedAt  time.Time `json:"receivedAt"`
	Environment string    `json:"environment"`
	// domain.EnvironmentNumber, Visitor and Life are the numbers that identify the visitor for the store and for erasures.
	EnvironmentNumber uint64            `json:"environmentNumber"`
	Visitor           uint64            `json:"visitor"`
	Life              uint64            `json:"life,omitempty"`
	RetentionDays     uint32            `json:"retentionDays"`
	DistinctID        string            `json:"distinctId,omitempty"`
	AnonymousID       string            `json:"anonymousId,omitempty"`
	Value             *float64          `json:"value,omitempty"`
	Currency          string            `json:"currency,omitempty"`
	Contents          []ConversionItem  `json:"contents,omitempty"`
	Properties        json.RawMessage   `json:"properties,omitempty"`
	Context           ConversionContext `json:"context"`
	// UserAgent is the client's user agent; platforms require it for events of a page.
	UserAgent string `json:"userAgent,omitempty"`
}

// Subject returns the id of the person: the distinct id, else the anonymous id.
func (c *Conversion) Subject() string { return event.Visitor(c.DistinctID, c.AnonymousID) }

// ConversionItem is one line of a purchase.
type ConversionItem struct {
	ID       string   `json:"id"`
	Quantity *float64 `json:"quantity"`
	Price    *float64 `json:"price"`
	Name     *string  `json:"name"`
}

// ConversionContext is the place of a conversion and the origin of its visit.
type ConversionContext struct {
	URL       string         `json:"url,omitempty"`
	Path      string         `json:"path,omitempty"`
	Title     string         `json:"title,omitempty"`
	Referrer  string         `json:"referrer,omitempty"`
	Source    string         `json:"source,omitempty"`
	Medium    string         `json:"medium,omitempty"`
	Campaign  event.Campaign `json:"utm"`
	ClickIDs  event.ClickIDs `json:"clickIds,omitzero"`
	Country   string         `json:"country,omitempty"`
	Region    string         `json:"region,omitempty"`
	City      string         `json:"city,omitempty"`
	Browser   string         `json:"browser,omitempty"`
	OS        string         `json:"os,omitempty"`
	Device    string         `json:"device,omitempty"`
	Locale    string         `json:"locale,omitempty"`
	SessionID string         `json:"sessionId,omitempty"`
}

// Contact holds the stored fields of a person that may be sent to destinations.
type Contact struct {
	ID    string
	Name  string
	Email string
	Phone string
}

// ContactSince is the contact of a person from the time when a visitor became theirs, in milliseconds since the epoch.
// The contact is nil if nothing is known of the person.
type ContactSince struct {
	SinceMs int64
	Contact *Contact
}

// Contacts are the contacts of the persons to which a visitor belonged, in order of time.
type Contacts []ContactSince

// At returns the contact of the person to which an event of the visitor belongs: of the last span that began before it,
// else of the first span.
func (c Contacts) At(at time.Time) (contact *Contact) {
	for i, one := range c {
		if i == 0 || one.SinceMs <= at.UnixMilli() {
			contact = one.Contact
		}
	}
	return contact
}

// NewConversion builds the conversion of a row for a rule of a destination. Its texts share the row's memory.
func NewConversion(row *event.Row, rule *Rule, environment string, visitor uint64) Conversion {
	properties := map[string]json.RawMessage{}
	_ = json.Unmarshal(row.Properties, &properties) // anything but an object has no properties
	c := Conversion{
		EventID: row.ID, Name: rule.DestinationEvent, SourceEvent: row.Name, At: row.Ts.UTC(), ReceivedAt: row.ReceivedAt.UTC(),
		Environment: environment, EnvironmentNumber: row.EnvironmentNumber, Visitor: visitor, Life: row.Life, RetentionDays: row.RetentionDays,
		DistinctID: row.DistinctID, AnonymousID: row.AnonymousID, Value: row.Value, Currency: row.Currency, Properties: row.Properties, UserAgent: row.UserAgent,
		Contents: conversionItems(properties),
		Context: ConversionContext{
			URL: row.URL, Path: row.Path, Title: row.Title, Referrer: row.Referrer, Source: row.Source, Medium: row.Medium,
			Campaign: event.Campaign{Source: row.UTMSource, Medium: row.UTMMedium, Name: row.UTMCampaign, Term: row.UTMTerm, Content: row.UTMContent},
			ClickIDs: row.ClickIDs, Country: row.Country, Region: row.Region, City: row.City, Browser: row.Browser, OS: row.OS, Device: row.Device,
			Locale: row.Locale, SessionID: row.SessionID,
		},
	}
	if rule.ValueProperty != "" {
		c.Value = amountOf(properties[rule.ValueProperty])
	}
	if rule.Currency != "" {
		c.Currency = rule.Currency
	} else if c.Currency == "" {
		c.Currency = strings.ToUpper(wordOf(properties["currency"]))
	}
	return c
}

// conversionItems returns the lines that the properties of an event list, under the usual names of e-commerce events.
func conversionItems(properties map[string]json.RawMessage) []ConversionItem {
	for _, list := range []string{"contents", "products", "items"} {
		var rows []map[string]json.RawMessage
		if properties[list] == nil || json.Unmarshal(properties[list], &rows) != nil {
			continue
		}
		items := make([]ConversionItem, 0, len(rows))
		for _, row := range rows {
			first := func(names ...string) json.RawMessage {
				for _, name := range names {
					if row[name] != nil {
						return row[name]
					}
				}
				return nil
			}
			item := ConversionItem{ID: wordOf(first("id", "product_id", "productId", "item_id", "sku")), Quantity: amountOf(row["quantity"]), Price: amountOf(first("price", "item_price"))}
			if name := wordOf(first("name", "title", "item_name")); name != "" {
				item.Name = &name
			}
			items = append(items, item)
		}
		return items
	}
	return nil
}

// amountOf reads a number, also one in a text; nil for anything else.
func amountOf(raw json.RawMessage) *float64 {
	var number float64
	if raw == nil || json.Unmarshal(raw, &number) != nil {
		var err error
		if number, err = strconv.ParseFloat(strings.TrimSpace(wordOf(raw)), 64); err != nil {
			return nil
		}
	}
	return &number
}

// wordOf reads a text, or the digits of a number.
func wordOf(raw json.RawMessage) string {
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

// HashEmail returns the SHA-256 of an e-mail address in hex, in the form that advertising platforms expect: lower case,
// without surrounding spaces. It is empty for no address.
func HashEmail(email string) string {
	return hashText(strings.ToLower(strings.TrimSpace(email)))
}

// HashPhone returns the SHA-256 of a phone number in hex: its digits with the country code and, if plus is set, the
// plus sign of E.164. It is empty for a text without digits.
func HashPhone(phone string, plus bool) string {
	number := PhoneDigits(phone)
	if number == "" {
		return ""
	}
	if plus {
		number = "+" + number
	}
	return hashText(number)
}

// PhoneDigits returns the digits of a phone number without the leading zeros of an international number.
func PhoneDigits(phone string) string {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, phone)
	return strings.TrimLeft(digits, "0")
}

func hashText(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// SHA256Hex returns the SHA-256 of a text in hex, empty for an empty text.
func SHA256Hex(text string) string { return hashText(text) }

// Withheld returns the kinds of destinations that must not receive an event, according to the object integrations of
// its sender. If All is false, these are all kinds except the ones that are true. Kinds that are false are always
// withheld.
func Withheld(integrations map[string]json.RawMessage) (kinds []string) {
	all := string(integrations["All"]) != "false"
	for _, kind := range Kinds() {
		own := integrations[string(kind)]
		if own == nil && all || own != nil && string(own) != "false" {
			continue
		}
		kinds = append(kinds, string(kind))
	}
	return kinds
}

// Clone returns a copy that shares no memory with c.
func (c Conversion) Clone() Conversion {
	for _, text := range []*string{
		&c.EventID, &c.Name, &c.SourceEvent, &c.Environment, &c.DistinctID, &c.AnonymousID, &c.Currency, &c.UserAgent,
		&c.Context.URL, &c.Context.Path, &c.Context.Title, &c.Context.Referrer, &c.Context.Source, &c.Context.Medium,
		&c.Context.Campaign.Source, &c.Context.Campaign.Medium, &c.Context.Campaign.Name, &c.Context.Campaign.Term, &c.Context.Campaign.Content,
		&c.Context.ClickIDs.GCLID, &c.Context.ClickIDs.GBRAID, &c.Context.ClickIDs.WBRAID, &c.Context.ClickIDs.FBCLID, &c.Context.ClickIDs.MSCLKID, &c.Context.ClickIDs.TTCLID, &c.Context.ClickIDs.LiFatID, &c.Context.ClickIDs.TWCLID,
		&c.Context.Country, &c.Context.Region, &c.Context.City, &c.Context.Browser, &c.Context.OS, &c.Context.Device, &c.Context.Locale, &c.Context.SessionID,
	} {
		*text = strings.Clone(*text)
	}
	c.Properties = bytes.Clone(c.Properties)
	if c.Value != nil {
		value := *c.Value
		c.Value = &value
	}
	return c
}
