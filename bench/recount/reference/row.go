package reference

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Row is one event of the feed. Words that the feed gives as null are empty.
type Row struct {
	ID             string         `json:"id"`
	Ts             time.Time      `json:"ts"`
	Name           string         `json:"name"`
	URL            string         `json:"url"`
	Path           string         `json:"path"`
	Title          string         `json:"title"`
	Referrer       string         `json:"referrer"`
	ReferrerDomain string         `json:"referrerDomain"`
	DistinctID     string         `json:"distinctId"`
	AnonymousID    string         `json:"anonymousId"`
	PersonID       string         `json:"personId"`
	SessionID      string         `json:"sessionId"`
	Source         string         `json:"source"`
	Medium         string         `json:"medium"`
	UTMSource      string         `json:"utmSource"`
	UTMMedium      string         `json:"utmMedium"`
	UTMCampaign    string         `json:"utmCampaign"`
	UTMTerm        string         `json:"utmTerm"`
	UTMContent     string         `json:"utmContent"`
	ClickIDs       map[string]any `json:"clickIds"`
	Country        string         `json:"country"`
	Region         string         `json:"region"`
	City           string         `json:"city"`
	Device         string         `json:"device"`
	Browser        string         `json:"browser"`
	OS             string         `json:"os"`
	Screen         string         `json:"screen"`
	Locale         string         `json:"locale"`
	Release        string         `json:"release"`
	Library        string         `json:"library"`
	Value          *float64       `json:"value"`
	Currency       string         `json:"currency"`
	Properties     map[string]any `json:"properties"`
	IsBot          bool           `json:"isBot"`
	Environment    string         `json:"environment"`

	// PropertiesText is the properties as they were sent, for searches.
	PropertiesText string `json:"-"`
	// Arrival orders the rows by when they arrived.
	Arrival int `json:"-"`
	// EngagedMs is the engagement that the event stated.
	EngagedMs int64 `json:"-"`
	// Erased and OtherErased are how often the ids of the visitor and of the device beside it had been erased before.
	Erased      int `json:"-"`
	OtherErased int `json:"-"`

	session *session
	// began says that the row's visit counts for its visitor, and that no event of the visit that was there before is older.
	began bool
	// outside says that the row only told who somebody is, before its visit began.
	outside bool
}

// identity says whether the row only tells who somebody is.
func (r *Row) identity() bool { return r.Name == "$identify" || r.Name == "$alias" }

// guest is who the row's visit counts for: the visitor of the row that began it.
func (r *Row) guest() string {
	if r.outside {
		return r.Visitor()
	}
	return r.session.guest
}

// Visitor is who the row counts for.
func (r *Row) Visitor() string {
	if r.DistinctID != "" {
		return r.DistinctID
	}
	return r.AnonymousID
}

func (r *Row) pageview() bool { return r.Name == "page_view" || r.Name == "$pageview" }

// interactive says whether the row is a deed of a person other than a page view.
func (r *Row) interactive() bool {
	return !r.pageview() && r.Name != "$identify" && r.Name != "$alias" && r.Name != "engagement"
}

// Dimensions are the 18 dimensions.
func Dimensions() []string {
	return []string{
		"path", "entry_path", "exit_path", "referrer_domain", "source", "medium", "utm_source", "utm_medium", "utm_campaign",
		"utm_term", "utm_content", "country", "region", "city", "device", "browser", "os", "event",
	}
}

// ends are the paths of the first and the last page view that each session has in a
// window: where it was entered and left, as far as the window can tell.
type ends map[*session][2]*Row

// ends finds them among all rows of a query's environment and window.
func (d *Data) ends(q *Query) ends {
	found := ends{}
	for _, row := range d.Rows {
		if row.Environment != q.Environment || !row.pageview() || row.Ts.Before(q.From) || !row.Ts.Before(q.To) {
			continue
		}
		pair, known := found[row.session]
		if !known || newer(row, pair[0]) > 0 {
			pair[0] = row
		}
		if !known || newer(row, pair[1]) < 0 {
			pair[1] = row
		}
		found[row.session] = pair
	}
	return found
}

// dimension is the row's value of a dimension in a window, empty where it has none.
func (r *Row) dimension(name string, ends ends) string {
	pair := ends[r.session]
	switch {
	case name == "entry_path" && pair[0] != nil:
		return pair[0].Path
	case name == "exit_path" && pair[1] != nil:
		return pair[1].Path
	}
	return r.Dimension(name)
}

// Dimension is the row's value of a dimension, empty where it has none. Where a session
// was entered and left depends on the window; without one, it is not known.
func (r *Row) Dimension(name string) string {
	switch name {
	case "path":
		return r.Path
	case "entry_path", "exit_path":
		return ""
	case "referrer_domain":
		return r.ReferrerDomain
	case "source":
		return r.Source
	case "medium":
		return r.Medium
	case "utm_source":
		return r.UTMSource
	case "utm_medium":
		return r.UTMMedium
	case "utm_campaign":
		return r.UTMCampaign
	case "utm_term":
		return r.UTMTerm
	case "utm_content":
		return r.UTMContent
	case "country":
		return r.Country
	case "region":
		return r.Region
	case "city":
		return r.City
	case "device":
		return r.Device
	case "browser":
		return r.Browser
	case "os":
		return r.OS
	case "event":
		return r.Name
	}
	panic("reference: unknown dimension " + name)
}

// Goal is a goal of the application.
type Goal struct {
	ID    string  `json:"id"`
	Name  string  `json:"name"`
	Kind  string  `json:"kind"`
	Match string  `json:"match"`
	Value float64 `json:"value"`

	// ended is when the goal was deleted, zero where it was not.
	ended time.Time
}

// End has a goal end at an instant: what met it before still counts for it, and it makes
// no conversions any more.
func (d *Data) End(id string, at time.Time) {
	for i := range d.Goals {
		if d.Goals[i].ID == id {
			d.Goals[i].ended = at
		}
	}
}

// Data is everything that is known of one application.
type Data struct {
	Zone  *time.Location
	Rows  []*Row
	Goals []Goal

	// Merges, Splits, Decisions and Activities are what members did, in their order.
	Merges     []Merge
	Splits     []Split
	Decisions  []Decision
	Activities []Activity
	// Gone are the visitors who were erased.
	Gone map[Place]bool

	// who and people remember who is who, by environment.
	who, people sync.Map
	// days remembers when a day of the zone began.
	days sync.Map
}

// New takes the rows of an application, in any order.
func New(zone *time.Location, rows []*Row) *Data {
	d := &Data{Zone: zone, Rows: rows}
	slices.SortFunc(d.Rows, func(a, b *Row) int { return cmp.Compare(a.Arrival, b.Arrival) })
	d.findSessions()
	return d
}

// Query says what an answer is about.
type Query struct {
	Environment string
	// From is inside the window, To is not.
	From, To    time.Time
	Filters     map[string]string
	IncludeBots bool
	// Segment narrows the rows to those of the people who are in a segment at an instant; nil does not.
	Segment *Segment
	Now     time.Time
}

// selected are the rows that a query is about, in the order of their arrival.
func (d *Data) selected(q *Query) []*Row {
	var rows []*Row
	ends := d.ends(q)
	inside := d.inside(q)
	for _, row := range d.Rows {
		if inside(row) && row.Environment == q.Environment && !row.Ts.Before(q.From) && row.Ts.Before(q.To) && (q.IncludeBots || !row.IsBot) && row.matches(q.Filters, ends) {
			rows = append(rows, row)
		}
	}
	return rows
}

func (r *Row) matches(filters map[string]string, ends ends) bool {
	for dimension, value := range filters {
		if dimension != "segment" && r.dimension(dimension, ends) != value {
			return false
		}
	}
	return true
}

// newer orders rows as the feed does: the newest first, equal times by id.
func newer(a, b *Row) int {
	return cmp.Or(b.Ts.Compare(a.Ts), cmp.Compare(b.ID, a.ID))
}
