package svc

import "time"

// IssueSort is the order of a list of issues, the highest value first.
type IssueSort string

// The orders.
const (
	SortLastSeen  IssueSort = "last_seen"
	SortCount     IssueSort = "count"
	SortUsers     IssueSort = "users"
	SortFirstSeen IssueSort = "first_seen"
)

// IssueSorts lists the orders, the default first.
func IssueSorts() []IssueSort { return []IssueSort{SortLastSeen, SortCount, SortUsers, SortFirstSeen} }

// IssueQuery selects a page of the issues of an environment.
type IssueQuery struct {
	Environment Environment
	// Status is empty for all.
	Status IssueStatus
	Search string
	// SearchMasked says that the caller may not see e-mail-like values, so the search must not match inside them
	// either.
	SearchMasked bool
	// Release selects the issues that occurred in it.
	Release string
	Sort    IssueSort
	After   *IssueKey
	Limit   int
	// Days are the beginnings of the last seven days, the oldest first, and the end of the last one.
	Days []time.Time
	Now  time.Time
}

// IssueKey is an issue's place in a list: the value of the sort order, in counts or milliseconds, and the issue's
// number.
type IssueKey struct {
	Value  int64
	Number uint64
}

// SparkDays is the number of days in a sparkline.
const SparkDays = 7

// Issue is one row of a list of issues.
type Issue struct {
	Key          IssueKey
	ID           string
	Fingerprint  string
	Title        string
	Culprit      string
	Level        Level
	Status       IssueStatus
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
func (i *Issue) Mask() { i.Title, i.Culprit = MaskShapes(i.Title), MaskShapes(i.Culprit) }

// IssueCounts holds the number of issues of each status in an environment.
type IssueCounts struct {
	Open      uint64 `json:"open"`
	Regressed uint64 `json:"regressed"`
	Resolved  uint64 `json:"resolved"`
	Ignored   uint64 `json:"ignored"`
	All       uint64 `json:"all"`
}

// IssueList is one page of a list; More says that another one follows.
type IssueList struct {
	Rows   []Issue
	More   bool
	Counts IssueCounts
}

// IssueDay is one bucket of an issue's or an environment's occurrences.
type IssueDay struct {
	T      time.Time
	Events uint64
	Users  uint64
}

// IssueRelease is one release in which an issue occurred.
type IssueRelease struct {
	Release     string
	Events      uint64
	FirstSeenAt time.Time
	LastSeenAt  time.Time
}

// IssueTag is the distribution of a tag's values over an issue's occurrences.
type IssueTag struct {
	Key    string
	Values []IssueTagValue
}

// IssueTagValue is one value of a tag.
type IssueTagValue struct {
	Value string
	Count uint64
}

// Sizes of an issue's details.
const (
	// IssueDays is the number of days in the daily series.
	IssueDays = 30
	// IssueReleases is the number of listed releases, the latest first.
	IssueReleases = 50
	// TagSample is the number of latest occurrences that a count of tags reads.
	TagSample = 5_000
	// TagValues is the number of listed values per tag.
	TagValues = 10
)

// IssueDetail is one issue in full.
type IssueDetail struct {
	Issue
	State    IssueState
	Daily    []IssueDay
	Releases []IssueRelease
	Tags     []IssueTag
}

// Mask hides e-mail-like values and tags that name or locate people.
func (d *IssueDetail) Mask() {
	d.Issue.Mask()
	for i := range d.Tags {
		mask := MaskShapes
		if IsPersonal(d.Tags[i].Key) {
			mask = MaskText
		}
		d.Tags[i].Key = MaskShapes(d.Tags[i].Key)
		for n := range d.Tags[i].Values {
			d.Tags[i].Values[n].Value = mask(d.Tags[i].Values[n].Value)
		}
	}
}

// IssueScope selects the rows of a read of one issue.
type IssueScope struct {
	Environment Environment
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
	Series           []IssueDay
	// NewIssues were first seen in the window, RegressedIssues regressed in it.
	NewIssues, RegressedIssues uint64
	// Noisiest are the issues with the most occurrences in the window.
	Noisiest []Issue
}

// NoisiestIssues is the number of noisiest issues in an overview.
const NoisiestIssues = 10

// ErrorsQuery selects an overview of errors.
type ErrorsQuery struct {
	Environment Environment
	Window      Window
	// Buckets are the beginnings of the buckets of the series.
	Buckets []time.Time
	Days    []time.Time
	Now     time.Time
}

// ErrorWindowKeys lists the ranges of an overview of errors.
func ErrorWindowKeys() []string { return []string{"24h", "7d", "14d", "30d", "90d"} }

// OccurrenceQuery selects a page of the occurrences of an issue, newest first.
type OccurrenceQuery struct {
	Environment Environment
	Issue       uint64
	Before      *EventKey
	Limit       int
}

// LastDays returns the beginnings of the last n days up to now, the oldest first, and the end of the last one.
func LastDays(now time.Time, n int, loc *time.Location) []time.Time {
	days := make([]time.Time, 0, n+1)
	today := Day.Floor(now.In(loc))
	for i := n - 1; i >= 0; i-- {
		days = append(days, Day.Floor(midnight(today.Year(), today.Month(), today.Day()-i, loc)))
	}
	return append(days, Day.Next(today))
}
