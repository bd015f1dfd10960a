package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"

	"svc/bench/recount/reference"
	"svc/bench/recount/traffic"
)

// readBack reads everything that the feed shows of an application, checks that it
// is what was sent, each event once, and makes the reference's data of it.
func (s *Suite) readBack(ctx context.Context, a *app) error {
	byID, byMarker, firsts := index(a.sent)
	named := map[*reference.Row]string{}
	var rows []*reference.Row
	for environment := range a.keys {
		query := url.Values{"env": {environment}, "limit": {"500"}}
		for {
			status, answer, err := s.server.read(ctx, a.slug, "/events", query)
			if err != nil || status != 200 {
				return errors.Join(err, fmt.Errorf("reading the feed: status %d: %v", status, answer))
			}
			var page struct {
				Data       []*reference.Row
				NextCursor *string
			}
			if err := convert(answer, &page); err != nil {
				return fmt.Errorf("decoding the feed: %w", err)
			}
			for _, row := range page.Data {
				at, known := byID[environment+" "+row.ID]
				if marker, ok := row.Properties["marker"].(float64); ok {
					at, known = byMarker[int(marker)]
				}
				if !known || firsts[at] == nil {
					return fmt.Errorf("the feed shows an event that was not sent, or twice: %s %s", environment, row.ID)
				}
				if err := compare(row, firsts[at]); err != nil {
					return fmt.Errorf("event %s: %w", row.ID, err)
				}
				row.Arrival, row.EngagedMs, row.PropertiesText = at, firsts[at].EngagedMs, string(firsts[at].SentProperties())
				named[row] = firsts[at].SessionID
				firsts[at] = nil
				rows = append(rows, row)
			}
			if page.NextCursor == nil {
				break
			}
			query.Set("cursor", *page.NextCursor)
		}
	}
	for _, sent := range firsts {
		if sent != nil {
			return fmt.Errorf("event %s of %s was sent and is not in the feed", sent.ID, sent.Environment)
		}
	}
	goals := a.data.Goals
	a.data = reference.New(a.zone, rows)
	a.data.Goals = goals
	return a.data.CheckSessions(func(row *reference.Row) string { return named[row] })
}

// index finds sent items by what the feed shows of them; firsts leaves
// repetitions out.
func index(all []*traffic.Sent) (byID map[string]int, byMarker map[int]int, firsts map[int]*traffic.Sent) {
	byID, byMarker, firsts = map[string]int{}, map[int]int{}, map[int]*traffic.Sent{}
	for i, sent := range all {
		switch {
		case sent.Again:
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

// compare holds a row of the feed to what was sent.
func compare(row *reference.Row, sent *traffic.Sent) error {
	path, words := sent.Path, map[string]string{}
	if parsed, err := url.Parse(sent.URL); err == nil && sent.URL != "" {
		path = parsed.Path
		for name, values := range parsed.Query() {
			words[name] = values[0]
		}
	}
	var properties map[string]any
	if err := json.Unmarshal(sent.StoredProperties(), &properties); err != nil {
		return fmt.Errorf("decoding what was sent: %w", err)
	}
	campaign := traffic.Campaign{Source: words["utm_source"], Medium: words["utm_medium"], Name: words["utm_campaign"]}
	if sent.Context.Campaign != nil {
		campaign = *sent.Context.Campaign
	}
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"ts", reference.Stamp(row.Ts), reference.Stamp(sent.Ts)},
		{"name", row.Name, sent.StoredName()},
		{"url", row.URL, sent.URL},
		{"path", decoded(row.Path), decoded(path)},
		{"title", row.Title, sent.Title},
		{"referrer", row.Referrer, sent.Referrer},
		{"distinctId", row.DistinctID, sent.DistinctID},
		{"anonymousId", row.AnonymousID, sent.AnonymousID},
		{"properties", row.Properties, properties},
		{"value", row.Value, sent.Value},
		{"currency", row.Currency, sent.Currency},
		{"release", row.Release, sent.Release},
		{"locale", row.Locale, sent.Context.Locale},
		{"isBot", row.IsBot, sent.Bot},
		{"environment", row.Environment, sent.Environment},
		{"utmSource", row.UTMSource, campaign.Source},
		{"utmMedium", row.UTMMedium, campaign.Medium},
		{"utmCampaign", row.UTMCampaign, campaign.Name},
		{"utmTerm", row.UTMTerm, words["utm_term"]},
		{"utmContent", row.UTMContent, words["utm_content"]},
		{"a source", row.Source != "", true},
		{"a session", row.SessionID != "", true},
	} {
		if !reflect.DeepEqual(field.got, field.want) {
			return fmt.Errorf("%s: the feed says %v, sent was %v", field.name, field.got, field.want)
		}
	}
	return nil
}

// decoded reads a path with or without percent signs alike.
func decoded(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}
