package reference

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync"
)

// Origin is the origin of a visitor, as an item states it.
type Origin struct {
	Referrer                                               string
	UTMSource, UTMMedium, UTMCampaign, UTMTerm, UTMContent string
	// ClickIDs are the identifiers of advertisements and networks, by parameter.
	ClickIDs map[string]any
}

// origin returns the source of a row's visit as the feed shows it.
func (r *Row) origin() Origin {
	return Origin{
		Referrer: r.Referrer, UTMSource: r.UTMSource, UTMMedium: r.UTMMedium, UTMCampaign: r.UTMCampaign, UTMTerm: r.UTMTerm, UTMContent: r.UTMContent,
		ClickIDs: r.ClickIDs,
	}
}

func (o Origin) equal(other Origin) bool {
	same := maps.Equal(o.ClickIDs, other.ClickIDs)
	o.ClickIDs, other.ClickIDs = nil, nil
	return same && fmt.Sprint(o) == fmt.Sprint(other)
}

// visitOrigin is the part of an origin that the first and the last visit of a person show.
type visitOrigin struct{ source, medium, campaign, referrer string }

// saying is the part of an origin that decides the source of a visit, as text.
func (o Origin) saying(address string) string {
	if parsed, err := url.Parse(o.Referrer); err == nil && parsed.Host != "" {
		o.Referrer = parsed.Host
	}
	return fmt.Sprint(o, named(address))
}

// learned has a row for each saying, from all applications. The row was the first of its session to arrive.
var learned sync.Map //nolint:gochecknoglobals // the applications of a run learn from each other

// learn finds the origin of the earliest row of each session. The feed shows the origin of the first row to arrive. Any other row has
// the source of a row with the same saying that was the first of its session to arrive.
func (d *Data) learn(entries map[*session]*Row, said func(*Row) Origin) {
	for _, entry := range entries {
		learned.Store(said(entry).saying(entry.URL), entry)
	}
	for s, first := range entries {
		origin := said(s.entry)
		found, known := learned.Load(origin.saying(s.entry.URL))
		from, _ := found.(*Row)
		if s.entry == first {
			from, known = first, true
		}
		if known {
			s.entry.own = &visitOrigin{from.Source, from.Medium, origin.UTMCampaign, origin.Referrer}
		}
	}
}

// came returns the origin that people show for a row. It is the origin of the earliest row of its visit if that row has the same
// visitor, else the origin in the feed.
func (r *Row) came() visitOrigin {
	if entry := r.session.entry; entry != nil && entry.own != nil && entry.visitor() == r.visitor() {
		return *entry.own
	}
	return visitOrigin{r.Source, r.Medium, r.UTMCampaign, r.Referrer}
}

// CheckOrigins compares the rows with the definition: all rows of a session have the origin that the first row to
// arrive stated. said returns the fields of the item itself.
func (d *Data) CheckOrigins(said func(*Row) Origin) error {
	entries := map[*session]*Row{}
	for _, row := range d.Rows { // in the order of their arrival
		if row.outside {
			if got := row.origin(); !got.equal(Origin{}) || row.Source != "" || row.Medium != "" || row.ReferrerDomain != "" {
				return fmt.Errorf("event %s of %s is in no visit, but came from %q and %+v", row.ID, row.Visitor(), row.Source, got)
			}
			continue
		}
		entry := entries[row.session]
		if entry == nil {
			entry = row
			entries[row.session] = row
			if err := row.checkSource(); err != nil {
				return err
			}
		}
		if got, want := row.origin(), said(entry); !got.equal(want) {
			return fmt.Errorf("event %s of %s came from %+v, its session's first event %s from %+v", row.ID, row.Visitor(), got, entry.ID, want)
		}
		if row.Source != entry.Source || row.Medium != entry.Medium || row.ReferrerDomain != entry.ReferrerDomain {
			return fmt.Errorf("event %s of %s counts for %s/%s, its session's first event %s for %s/%s", row.ID, row.Visitor(), row.Source, row.Medium, entry.ID, entry.Source, entry.Medium)
		}
	}
	d.learn(entries, said)
	return nil
}

// named returns the source that an address names without a UTM parameter.
func named(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return cmp.Or(parsed.Query().Get("ref"), parsed.Query().Get("source"))
}

// checkSource checks the source of a session's first row against the rules that need no tables.
func (r *Row) checkSource() error {
	want := ""
	switch {
	case r.UTMSource != "":
		want = strings.ToLower(r.UTMSource)
	case named(r.URL) != "":
		want = strings.ToLower(named(r.URL))
	case len(r.ClickIDs) == 0 && r.ReferrerDomain == "":
		want = "direct"
	}
	if r.Source == "" || want != "" && r.Source != want {
		return fmt.Errorf("the source of event %s is %q, want %q", r.ID, r.Source, want)
	}
	return nil
}
