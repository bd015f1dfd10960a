package event

import (
	"cmp"
	"encoding/json"
	"time"

	"svc/domain"
)

// Devices are the words for the device of a visitor.
func Devices() []string {
	return []string{"desktop", "mobile", "tablet", "tv", "console", "other"}
}

// Event is one stored, enriched row as the feed lists it; the names are the names of contract 41. Optional texts are
// empty if unknown and are shown as null.
type Event struct {
	ID             string
	Ts, ReceivedAt time.Time
	Name           string
	URL            string
	Path           string
	Title          string
	Referrer       string
	DistinctID     string
	AnonymousID    string
	PersonID       string
	SessionID      string
	Attribution
	Country        string
	Region         string
	City           string
	Device         string
	Browser        string
	BrowserVersion string
	OS             string
	OSVersion      string
	Screen         string
	Locale         string
	Value          *float64
	Currency       string
	// Properties is a JSON object, {} if none was sent.
	Properties  json.RawMessage
	Release     string
	Library     string
	IsBot       bool
	Environment string
	// Tie orders events of the same time and id in the feed. Like the number of the visitor, it is set only for stored
	// events.
	Tie           uint64
	VisitorNumber uint64
}

// Key returns the event's place in the feed.
func (e *Event) Key() Key { return Key{Ts: e.Ts, ID: e.ID, Tie: e.Tie} }

// Visitor returns the id that the event counts for: the distinct id, else the anonymous id.
func (e *Event) Visitor() string { return Visitor(e.DistinctID, e.AnonymousID) }

// Person returns the person or visitor that took the event's step in a funnel: the person if the event names one, else
// the visitor.
func (e *Event) Person() string {
	if e.PersonID != "" {
		return e.PersonID
	}
	return e.Visitor()
}

// Visitor returns the id that an event counts for: the distinct id, else the anonymous id.
func Visitor(distinctID, anonymousID string) string {
	if distinctID != "" {
		return distinctID
	}
	return anonymousID
}

// Names of page views as clients send them, and names of events that are no action of a person. The latter neither end
// a bounce nor count as interactive.
const (
	PageView       = "page_view"
	pageViewDollar = "$pageview"
	IdentifyEvent  = "$identify"
	AliasEvent     = "$alias"
	EngagementName = "engagement"
)

// IsPageview reports whether events of a name are page views.
func IsPageview(name string) bool { return name == PageView || name == pageViewDollar }

// IsIdentity reports whether events of a name only identify a person.
func IsIdentity(name string) bool { return name == IdentifyEvent || name == AliasEvent }

// IsInteractive reports whether events of a name are actions of a person other than
// page views.
func IsInteractive(name string) bool {
	return !IsPageview(name) && !IsIdentity(name) && name != EngagementName
}

// Ingest limits (contract 38).
const (
	MaxRequestBytes  = 1 << 20
	MaxInflatedBytes = 20 << 20
	MaxBatchItems    = 1000
	MaxEventBytes    = 64 << 10
	// MaxRecordBytes limits one record of the log. With the batch around it, it stays below the one mebibyte (less 12
	// bytes) that Kafka brokers accept by default.
	MaxRecordBytes    = 900 << 10
	MaxPropertyDepth  = 4
	MaxIDBytes        = 200
	MaxNameBytes      = 200
	MaxURLBytes       = 4096
	MaxTextBytes      = 1024
	PublicEventAge    = 72 * time.Hour
	FutureTolerance   = 5 * time.Minute
	MaxPropertiesKeys = 512
	MaxEngagement     = 24 * time.Hour
)

// Part is a payload for one partition of the log.
type Part struct {
	Partition int
	Payload   []byte
}

// LogRecord is one record of the log. Its value is not changed after it is read.
type LogRecord struct {
	Partition int
	Offset    int64
	Time      time.Time
	Value     []byte
}

// LogPosition is the checkpoint of a partition of the log: the next offset to read, and a text that is stored with it.
type LogPosition struct {
	Partition int
	Offset    int64
	Metadata  string
}

// LogAssignment is this node's share of the log in one generation of ownership.
type LogAssignment struct {
	Generation int32
	Member     string
	Partitions []LogPosition
}

// Row is one enriched event on its way to the store. Its strings are valid as long as the row.
type Row struct {
	Event
	EnvironmentNumber uint64
	// SessionStartedMs is when the event's session began, in milliseconds since the epoch; Bounce and DurationMs are
	// the event's changes to the session.
	SessionStartedMs int64
	Bounce           int8
	DurationMs       int64
	EngagedMs        int64
	// Session is the session as of the event.
	Session SessionState
	// Thread is the number of the group of events in which the session was found, as package protos computes it.
	Thread uint64
	// SessionNumber identifies the session with 64 bits.
	SessionNumber uint64
	// Guest is the number of the visitor that the session counts for, 0 if it is the event's own visitor.
	Guest uint64
	// Inside is true if the session had an earlier event when this one arrived, or if this one only identifies a person. The
	// earliest event of a session is its entry. Ousted is the visitor of the previous entry, if it is another visitor. Own is the
	// origin that the event itself states, nil if it is the origin of its session.
	Inside        bool
	Ousted        uint64
	Own           *Origin
	RetentionDays uint32
	// Life and OtherLife turn the ids of the event into new visitors if a person with the id was erased before. Life
	// applies to the visitor's id, OtherLife to the anonymous id next to a distinct one. They are combined with the
	// numbers of the ids by exclusive or.
	Life, OtherLife uint64
	// UserAgent is the client's user agent. Withheld are the kinds of destinations that the sender excludes. Neither is
	// stored.
	UserAgent string
	Withheld  []string
	// Item is the event's place among the events of its log record.
	Item int
}

// SessionName is the name of a stored session.
type SessionName struct {
	// Thread is the number of its thread, as package protos computes it. Life is the number that an erasure combined
	// with it by exclusive or.
	Thread, Life uint64
	Bot          bool
	// Number identifies it with 64 bits. Hash is the hash of the session's id if the session predates threads, else 0.
	Number, Hash uint64
}

// OpenSession is a session that may still grow, with its origin and the last arrival of an event, in milliseconds since
// the epoch. The source is empty if the session has only identity events so far.
type OpenSession struct {
	Session
	SessionName
	Origin  Origin
	HeardMs int64
	// Counted is the number of the visitor that it counts for. Known and Device are the numbers of ids that one of its
	// events had.
	Counted, Known, Device uint64
	Entry                  SessionEntry
}

// SessionsQuery selects the stored sessions that a new owner loads: sessions with an event that arrived since an
// instant and within a span before the last arrival.
type SessionsQuery struct {
	Since       time.Time
	Within      time.Duration
	ExceptBlock uint64
	// Open and Ended limit the sessions of each kind.
	Open, Ended int
}

// Mask hides the e-mail-like values of an event from callers without people.pii.read: in its name, the identifiers, the
// addresses, the title, the campaign words, and the properties at any depth. It also hides the properties that name or
// locate a person. Everything else is unchanged.
func (e *Event) Mask() {
	for _, field := range []*string{
		&e.Name, &e.DistinctID, &e.AnonymousID, &e.URL, &e.Path, &e.Title, &e.Referrer,
		&e.Source, &e.Medium, &e.UTMSource, &e.UTMMedium, &e.UTMCampaign, &e.UTMTerm, &e.UTMContent,
	} {
		*field = domain.MaskShapes(*field)
	}
	e.Properties = domain.MaskJSON(e.Properties)
}

// Key is an event's place in the feed, or an occurrence's in its list. No two rows share a key: Tie distinguishes
// rows with equal time and id.
type Key struct {
	Ts  time.Time
	ID  string
	Tie uint64
}

// Compare orders keys from the oldest to the newest; lists run the other way.
func (k Key) Compare(other Key) int {
	return cmp.Or(k.Ts.Compare(other.Ts), cmp.Compare(k.ID, other.ID), cmp.Compare(k.Tie, other.Tie))
}
