package analytics

import "svc/domain"

// PropertyEvents bounds the events that a count of property values reads: the newest of the range.
const PropertyEvents = 200_000

// PropertyValues is the number of frequent values shown per property.
const PropertyValues = 10

// PropertyType is a JSON type.
type PropertyType string

// The types of properties.
const (
	PropertyText    PropertyType = "string"
	PropertyNumber  PropertyType = "number"
	PropertyBoolean PropertyType = "boolean"
	PropertyNull    PropertyType = "null"
	PropertyObject  PropertyType = "object"
	PropertyArray   PropertyType = "array"
)

// Values lists all types in alphabetical order.
func (PropertyType) Values() []PropertyType {
	return []PropertyType{PropertyArray, PropertyBoolean, PropertyNull, PropertyNumber, PropertyObject, PropertyText}
}

// EventPropertiesQuery selects a page of the properties of events, the most frequent first.
type EventPropertiesQuery struct {
	Scope
	// Name limits the read to events of one name; empty reads all.
	Name string
	// Search limits the read to keys that contain a text, ignoring case.
	Search string
	// Masked says that the caller may not see personal data: e-mail-like values are replaced, and events that identify
	// a person are left out.
	Masked bool
	// Fields are the additional personal names of the application.
	Fields domain.PersonalFields
	After  *EventPropertyKey
	Limit  int
}

// EventPropertyKey is a property's place in the list.
type EventPropertyKey struct {
	Count uint64
	Key   string
}

// EventProperty is one key of the properties of events.
type EventProperty struct {
	Key string
	// Count is the number of events that carry the key.
	Count uint64
	// Types are the types of its values in alphabetical order.
	Types []PropertyType
	// DistinctValues is the number of distinct values: exact up to some ten thousand, then within 1 %.
	DistinctValues uint64
	// Values are the most frequent values. Strings, numbers and booleans are shown as text; objects and arrays are left
	// out. The counts are exact if the property has few values; if it has many, they may be too high but never too low.
	Values []EventPropertyValue
}

// EventPropertyValue is one value of a property.
type EventPropertyValue struct {
	Value string
	Count uint64
}

// EventProperties is one page of the properties of events; More says that another one follows.
type EventProperties struct {
	Rows []EventProperty
	More bool
	// Events is the number of events read: all of the range, or the newest PropertyEvents.
	Events uint64
	// Capped says that the range has more events or is longer than 90 days.
	Capped bool
}
