package issue

import (
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/occurrence"
)

// Sort is the order of a list of issues, the highest value first.
type Sort string

// The orders.
const (
	SortLastSeen  Sort = "last_seen"
	SortCount     Sort = "count"
	SortUsers     Sort = "users"
	SortFirstSeen Sort = "first_seen"
)

// Sorts lists the orders, the default first.
func Sorts() []Sort { return []Sort{SortLastSeen, SortCount, SortUsers, SortFirstSeen} }

// Query selects a page of the issues of an environment.
type Query struct {
	Environment domain.Environment
	// Status is empty for all.
	Status Status
	Search string
	// SearchMasked says that the caller may not see e-mail-like values, so the search must not match inside them
	// either.
	SearchMasked bool
	// Release selects the issues that occurred in it.
	Release string
	Sort    Sort
	After   *Key
	Limit   int
	// Days are the beginnings of the last seven days, the oldest first, and the end of the last one.
	Days []time.Time
	Now  time.Time
}

// Key is an issue's place in a list: the value of the sort order, in counts or milliseconds, and the issue's
// number.
type Key struct {
	Value  int64
	Number uint64
}

// SparkDays is the number of days in a sparkline.
const SparkDays = 7

// Issue is one row of a list of issues.
type Issue struct {
	Key          Key
	ID           string
	Fingerprint  string
	Title        string
	Culprit      string
	Level        occurrence.Level
	Status       Status
	FirstSeenAt  time.Time
	LastSeenAt   time.Time
	Events       uint64
	Users        uint64
	ReleaseFirst string
	ReleaseLast  string
	// Spark counts the occurrences of each of the last seven days.
	Spark []uint64
}

// Mask hides e-mail-like values.
func (i *Issue) Mask() { i.Title, i.Culprit = domain.MaskShapes(i.Title), domain.MaskShapes(i.Culprit) }

// Counts holds the number of issues of each status in an environment.
type Counts struct {
	Open      uint64 `json:"open"`
	Regressed uint64 `json:"regressed"`
	Resolved  uint64 `json:"resolved"`
	Ignored   uint64 `json:"ignored"`
	All       uint64 `json:"all"`
}

// List is one page of a list; More says that another one follows.
type List struct {
	Rows   []Issue
	More   bool
	Counts Counts
}

// Day is one bucket of an issue's or an environment's occurrences.
type Day struct {
	T      time.Time
	Events uint64
	Users  uint64
}

// Release is one release in which an issue occurred.
type Release struct {
	Release     string
	Events      uint64
	FirstSeenAt time.Time
	LastSeenAt  time.Time
}

// Tag is the distribution of a tag's values over an issue's occurrences.
type Tag struct {
	Key    string
	Values []TagValue
}

// TagValue is one value of a tag.
type TagValue struct {
	Value string
	Count uint64
}

// Sizes of an issue's details.
const (
	// Days is the number of days in the daily series.
	Days = 30
	// Releases is the number of listed releases, the latest first.
	Releases = 50
	// TagSample is the number of latest occurrences that a count of tags reads.
	TagSample = 5_000
	// TagValues is the number of listed values per tag.
	TagValues = 10
)

// Detail is one issue in full.
type Detail struct {
	Issue
	State    State
	Daily    []Day
	Releases []Release
	Tags     []Tag
}

// Mask hides e-mail-like values and tags that name or locate people.
func (d *Detail) Mask() {
	d.Issue.Mask()
	for i := range d.Tags {
		mask := domain.MaskShapes
		if domain.IsPersonal(d.Tags[i].Key) {
			mask = domain.MaskText
		}
		d.Tags[i].Key = domain.MaskShapes(d.Tags[i].Key)
		for n := range d.Tags[i].Values {
			d.Tags[i].Values[n].Value = mask(d.Tags[i].Values[n].Value)
		}
	}
}

// Scope selects the rows of a read of one issue.
type Scope struct {
	Environment domain.Environment
	Number      uint64
	// Days are the beginnings of the days of the daily series, the oldest first, and the end of the last one. The last
	// SparkDays days are the sparkline.
	Days []time.Time
	Now  time.Time
}

// ErrorTotals are the numbers of a window.
type ErrorTotals struct {
	Events uint64
	Issues uint64
	Users  uint64
}

// ErrorsOverview holds the counts of a window and of the one before.
type ErrorsOverview struct {
	Totals, Previous ErrorTotals
	Series           []Day
	// NewIssues were first seen in the window, RegressedIssues regressed in it.
	NewIssues, RegressedIssues uint64
	// Noisiest are the issues with the most occurrences in the window.
	Noisiest []Issue
}

// NoisiestIssues is the number of noisiest issues in an overview.
const NoisiestIssues = 10

// ErrorsQuery selects an overview of errors.
type ErrorsQuery struct {
	Environment domain.Environment
	Window      domain.Window
	// Buckets are the beginnings of the buckets of the series.
	Buckets []time.Time
	Days    []time.Time
	Now     time.Time
}

// ErrorWindowKeys lists the ranges of an overview of errors.
func ErrorWindowKeys() []string { return []string{"24h", "7d", "14d", "30d", "90d"} }

// OccurrenceQuery selects a page of the occurrences of an issue, newest first.
type OccurrenceQuery struct {
	Environment domain.Environment
	Issue       uint64
	Before      *event.Key
	Limit       int
}

// LastDays returns the beginnings of the last n days up to now, the oldest first, and the end of the last one.
func LastDays(now time.Time, n int, loc *time.Location) []time.Time {
	days := make([]time.Time, 0, n+1)
	today := domain.Day.Floor(now.In(loc))
	for i := n - 1; i >= 0; i-- {
		days = append(days, domain.Day.Floor(domain.Midnight(today.Year(), today.Month(), today.Day()-i, loc)))
	}
	return append(days, domain.Day.Next(today))
}
