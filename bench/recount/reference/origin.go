package reference

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"strings"
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
