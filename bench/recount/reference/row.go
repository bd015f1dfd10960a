package reference

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Row is one event of the feed. Texts that the feed gives as null are empty.
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
	// Arrival orders the rows by their arrival.
	Arrival int `json:"-"`
	// EngagedMs is the engagement that the event stated.
	EngagedMs int64 `json:"-"`
	// Erased and OtherErased are the numbers of earlier erasures of the visitor's id and of the row's other device id.
	Erased      int `json:"-"`
	OtherErased int `json:"-"`

	session *session
	// began says that the row's visit counts for its visitor, and that no earlier event of the visit is older.
	began bool
	// own is the origin of the row itself, nil if it is not known.
	own *visitOrigin
	// outside says that the row was an identity row before its visit began.
	outside bool
}

// identity reports whether the row only identifies a person.
func (r *Row) identity() bool { return r.Name == "$identify" || r.Name == "$alias" }

// guest returns the visitor that the row's visit counts for: the visitor of the row that began it.
func (r *Row) guest() string {
	if r.outside {
		return r.Visitor()
	}
	return r.session.guest
}

// Visitor returns the id that the row counts for.
func (r *Row) Visitor() string {
	if r.DistinctID != "" {
		return r.DistinctID
	}
	return r.AnonymousID
}

func (r *Row) pageview() bool { return r.Name == "page_view" || r.Name == "$pageview" }

// interactive reports whether the row is an action of a person other than a page view.
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

// ends are the first and the last page view of each session in a window: its entry and its exit, as far as the window
// shows them.
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

// dimension returns the row's value of a dimension in a window, or "".
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

// Dimension returns the row's value of a dimension, or "". The entry and the exit of a session depend on the window;
// without one, they are unknown.
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

	// ended is when the goal was deleted, zero if it was not.
	ended time.Time
}

// End deletes a goal at an instant: earlier matches still count for it, and it makes no conversions any more.
func (d *Data) End(id string, at time.Time) {
	for i := range d.Goals {
		if d.Goals[i].ID == id {
			d.Goals[i].ended = at
		}
	}
}

// Data is all known data of one application.
type Data struct {
	Zone  *time.Location
	Rows  []*Row
	Goals []Goal

	// Merges, Splits, Decisions and Activities are the actions of members, in their order.
	Merges     []Merge
	Splits     []Split
	Decisions  []Decision
	Activities []Activity
	// Gone are the erased visitors.
	Gone map[Place]bool

	// who and people cache the identity graph and the people, by environment.
	who, people sync.Map
	// days caches the beginnings of the zone's days.
	days sync.Map
}

// New takes the rows of an application, in any order.
func New(zone *time.Location, rows []*Row) *Data {
	d := &Data{Zone: zone, Rows: rows}
	slices.SortFunc(d.Rows, func(a, b *Row) int { return cmp.Compare(a.Arrival, b.Arrival) })
	d.findSessions()
	return d
}

// Query selects the rows of an answer.
type Query struct {
	Environment string
	// From is included, To is excluded.
	From, To    time.Time
	Filters     map[string]string
	IncludeBots bool
	// Segment selects the rows of the people that are in a segment at an instant; nil selects all.
	Segment *Segment
	Now     time.Time
}

// selected returns the rows of a query, in the order of their arrival.
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
