package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"

	"svc/bench/recount/reference"
	"svc/bench/recount/traffic"
)

// feedReader collects the rows of an application's feed.
type feedReader struct {
	byID     map[string]int
	byMarker map[int]int
	// firsts holds the items that were not found in the feed yet.
	firsts map[int]*traffic.Sent
	// sentAs holds the sent items of the rows.
	sentAs map[*reference.Row]*traffic.Sent
	rows   []*reference.Row
}

// readBack reads the whole feed of an application, checks that it contains every sent event once, and makes the
// reference's data from it.
func (s *Suite) readBack(ctx context.Context, a *app) error {
	f := feedReader{sentAs: map[*reference.Row]*traffic.Sent{}}
	f.byID, f.byMarker, f.firsts = index(a.sent)
	for environment := range a.keys {
		if err := s.readEnvironment(ctx, a, environment, &f); err != nil {
			return err
		}
	}
	for _, sent := range f.firsts {
		if sent != nil {
			return fmt.Errorf("event %s of %s was sent and is not in the feed", sent.ID, sent.Environment)
		}
	}
	goals := a.data.Goals
	a.data = reference.New(a.zone, f.rows)
	a.data.Goals = goals
	a.know()
	if err := a.data.CheckSessions(func(row *reference.Row) string { return f.sentAs[row].SessionID }); err != nil {
		return err
	}
	return a.data.CheckOrigins(func(row *reference.Row) reference.Origin { return originOf(f.sentAs[row]) })
}

// readEnvironment reads one environment page by page.
func (s *Suite) readEnvironment(ctx context.Context, a *app, environment string, f *feedReader) error {
	query := url.Values{"env": {environment}, "limit": {"500"}}
	for {
		status, answer, err := s.server.read(ctx, a.slug, "/events", query)
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return fmt.Errorf("reading the feed: status %d: %v", status, answer)
		}
		var page struct {
			Data       []*reference.Row
			NextCursor *string
		}
		if err := convert(answer, &page); err != nil {
			return fmt.Errorf("decoding the feed: %w", err)
		}
		for _, row := range page.Data {
			if err := f.take(row); err != nil {
				return err
			}
		}
		if page.NextCursor == nil {
			return nil
		}
		query.Set("cursor", *page.NextCursor)
	}
}

// take finds the sent item of a row.
func (f *feedReader) take(row *reference.Row) error {
	at, known := f.byID[row.Environment+" "+row.ID]
	if marker, ok := row.Properties["marker"].(float64); ok {
		at, known = f.byMarker[int(marker)]
	}
	sent := f.firsts[at]
	if !known || sent == nil {
		return fmt.Errorf("the feed shows an event that was not sent, or twice: %s %s", row.Environment, row.ID)
	}
	if err := compare(row, sent); err != nil {
		return fmt.Errorf("event %s: %w", row.ID, err)
	}
	row.Arrival, row.EngagedMs, row.PropertiesText = at, sent.EngagedMs, string(sent.SentProperties())
	row.Erased, row.OtherErased = sent.Erased, sent.OtherErased
	f.firsts[at], f.sentAs[row] = nil, sent
	f.rows = append(f.rows, row)
	return nil
}

// index finds sent items by the values that the feed shows; firsts omits repetitions.
func index(all []*traffic.Sent) (byID map[string]int, byMarker map[int]int, firsts map[int]*traffic.Sent) {
	byID, byMarker, firsts = map[string]int{}, map[int]int{}, map[int]*traffic.Sent{}
	for i, sent := range all {
		switch {
		case sent.Again, sent.Gone:
			continue
		case sent.ID == "":
			byMarker[sent.Marker] = i
		default:
			byID[sent.Environment+" "+sent.ID] = i
		}
		firsts[i] = sent
	}
	return byID, byMarker, firsts
}

// compare compares a row of the feed with the sent item.
func compare(row *reference.Row, sent *traffic.Sent) error {
	path := sent.Path
	if parsed, err := url.Parse(sent.URL); err == nil && sent.URL != "" {
		path = parsed.Path
	}
	var properties map[string]any
	if err := json.Unmarshal(sent.StoredProperties(), &properties); err != nil {
		return fmt.Errorf("decoding what was sent: %w", err)
	}
	place, _ := traffic.PlaceOf(sent.Context.IP)
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"ts", reference.Stamp(row.Ts), reference.Stamp(sent.Ts)},
		{"name", row.Name, sent.StoredName()},
		{"url", row.URL, sent.URL},
		{"path", decoded(row.Path), decoded(path)},
		{"title", row.Title, sent.Title},
		{"distinctId", row.DistinctID, sent.DistinctID},
		{"anonymousId", row.AnonymousID, sent.AnonymousID},
		{"properties", row.Properties, properties},
		{"value", row.Value, sent.Value},
		{"currency", row.Currency, sent.Currency},
		{"release", row.Release, sent.Release},
		{"locale", row.Locale, sent.Context.Locale},
		{"isBot", row.IsBot, sent.Bot},
		{"environment", row.Environment, sent.Environment},
		{"place", placeOf(row, sent), place},
		{"a session", row.SessionID != "", true},
	} {
		if !reflect.DeepEqual(field.got, field.want) {
			return fmt.Errorf("%s: the feed says %v, sent was %v", field.name, field.got, field.want)
		}
	}
	return nil
}

// originOf returns the source of the visit that an item states.
func originOf(sent *traffic.Sent) reference.Origin {
	o := reference.Origin{Referrer: sent.Referrer, ClickIDs: map[string]any{}}
	words := url.Values{}
	if parsed, err := url.Parse(sent.URL); err == nil {
		words = parsed.Query()
	}
	o.UTMSource, o.UTMMedium, o.UTMCampaign = words.Get("utm_source"), words.Get("utm_medium"), words.Get("utm_campaign")
	o.UTMTerm, o.UTMContent = words.Get("utm_term"), words.Get("utm_content")
	if stated := sent.Context.Campaign; stated != nil {
		o.UTMSource, o.UTMMedium, o.UTMCampaign = stated.Source, stated.Medium, stated.Name
	}
	for _, name := range []string{"gclid", "gbraid", "wbraid", "fbclid", "msclkid", "ttclid", "li_fat_id", "twclid"} {
		if id := words.Get(name); id != "" {
			o.ClickIDs[name] = id
		}
	}
	return o
}

// placeOf returns the row's place in the feed if the database of cities knows its address. Otherwise it is empty,
// because another database determines the country.
func placeOf(row *reference.Row, sent *traffic.Sent) traffic.Place {
	if _, known := traffic.PlaceOf(sent.Context.IP); !known {
		return traffic.Place{Region: row.Region, City: row.City}
	}
	return traffic.Place{Country: row.Country, Region: row.Region, City: row.City}
}

// decoded decodes a path with or without percent signs.
func decoded(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}
