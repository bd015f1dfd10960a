package analytics

import (
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/segment"
)

// Scope selects the rows of an analytics read.
type Scope struct {
	// App is the application of the environment; its goals define the conversions.
	App         domain.AppRef
	Environment domain.Environment
	Window      domain.Window
	Filters     filter.Filters
	IncludeBots bool
	// Segment is the segment of the filter on filter.DimSegment; its members are the members as of AsOf.
	Segment *segment.Segment
	AsOf    time.Time
}

// Headline holds the six metrics of an overview (Visitors is the sum of daily uniques) and the true uniques.
type Headline struct {
	Visitors       uint64
	UniqueVisitors uint64
	Pageviews      uint64
	Sessions       uint64
	Events         uint64
	// BounceRate is 0..1, 0 without sessions.
	BounceRate    float64
	AvgDurationMs uint64
	Conversions   uint64
}

// Overview is the headline of a window and of the window before.
type Overview struct {
	Window   domain.Window
	Capped   bool
	Current  Headline
	Previous Headline
}

// Metric names the quantity of a time series.
type Metric string

// The metrics of a time series.
const (
	MetricVisitors    Metric = "visitors"
	MetricPageviews   Metric = "pageviews"
	MetricSessions    Metric = "sessions"
	MetricEvents      Metric = "events"
	MetricConversions Metric = "conversions"
)

// Metrics lists all metrics of a time series.
func Metrics() []Metric {
	return []Metric{MetricVisitors, MetricPageviews, MetricSessions, MetricEvents, MetricConversions}
}

// Values lists the metrics.
func (Metric) Values() []Metric { return Metrics() }

// Point is one bucket of a series; T is the bucket's beginning.
type Point struct {
	T     time.Time
	Value float64
}

// Series is dense: a quiet bucket is a zero, never missing.
type Series struct {
	Metric   Metric
	Interval domain.Interval
	Capped   bool
	Points   []Point
}

// EventQuery selects a page of the event feed, newest first. Empty fields
// select everything; Before is the key of the last row seen.
type EventQuery struct {
	Environment domain.Environment
	ID          string
	Name        string
	PersonID    string
	// Stays locates the events of the person; nil if the query names no person.
	Stays     *PersonStays
	SessionID string
	Search    string
	// SearchMasked says that the caller may not see e-mail-like values, so the search must not match inside them
	// either.
	SearchMasked bool
	// Fields are the additional personal names of the application.
	Fields domain.PersonalFields
	// Underway also includes rows of blocks that are being stored. A block that a crash interrupted is stored again, so
	// without Underway a walk through all rows misses some that were shown before.
	Underway bool
	Before   *event.Key
	Limit    int
}

// PersonStays are the periods in which visitors belonged to a person: intervals of milliseconds since the epoch, with
// the end excluded. The three lists have equal lengths.
type PersonStays struct {
	Visitors        []uint64
	FromMs, UntilMs []int64
}

// EventName is one row of the catalogue of names seen in a window.
type EventName struct {
	Name        string
	Count       uint64
	Users       uint64
	Conversions uint64
	LastSeenAt  *time.Time
}

// EventNamesQuery selects a page of the catalogue, the most frequent first.
type EventNamesQuery struct {
	Scope
	// Masked says that the caller may not see e-mail-like values, so names are counted with such values replaced.
	Masked bool
	After  *EventNameKey
	Limit  int
}

// EventNameKey is a name's place in the catalogue.
type EventNameKey struct {
	Count uint64
	Name  string
}

// EventNames is one page of the catalogue; More says that another one follows.
type EventNames struct {
	Rows   []EventName
	More   bool
	Capped bool
}

// LiveSeconds is how far back the live view looks.
const LiveSeconds = 300

// LiveRows is the longest list of the live view (contract 47).
const LiveRows = 10

// Live is the snapshot of present visitors.
type Live struct {
	AsOf      time.Time
	Visitors  uint64
	Pageviews uint64
	Pages     []LiveRow
	Sources   []LiveRow
	Countries []LiveRow
	Devices   []LiveRow
}

// LiveRow is one value of the live view with its number of visitors.
type LiveRow struct {
	Value    string
	Visitors uint64
}
