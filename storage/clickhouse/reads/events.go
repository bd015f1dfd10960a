package reads

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/analytics"
	"svc/domain/event"
	"svc/storage/clickhouse"
)

// List returns a page of the feed, newest first, and reports whether another page follows.
func (db *Store) List(ctx context.Context, q analytics.EventQuery) (events []event.Event, more bool, err error) {
	if q.Underway {
		return db.listShown(ctx, q, nil)
	}
	err = clickhouse.Besides(ctx, db.conn.Of(q.Environment.Number), func(hidden []uint64) (err error) {
		events, more, err = db.listShown(ctx, q, hidden)
		return err
	})
	return events, more, err
}

// listShown is List without the rows of hidden blocks.
func (db *Store) listShown(ctx context.Context, q analytics.EventQuery, hidden []uint64) (events []event.Event, more bool, err error) {
	if events, err = db.readFeed(ctx, q, hidden, byKey); err != nil {
		return nil, false, err
	}
	more = len(events) > q.Limit
	if more && events[q.Limit].Ts.Equal(events[q.Limit-1].Ts) && events[q.Limit].ID == events[q.Limit-1].ID {
		if events, err = db.readFeed(ctx, q, hidden, byKeyAndTie); err != nil {
			return nil, false, err
		}
	}
	slices.SortFunc(events, func(a, b event.Event) int { return b.Key().Compare(a.Key()) })
	return events[:min(len(events), q.Limit)], more, nil
}

// The orders of the feed. The first is the order of the table, read backwards. A page then ends at an arbitrary place
// among events with the same time and id. The second order separates such events, but makes the engine sort everything
// that it reads: a feed of 200,000 events takes one and a half times as long.
const (
	byKey       = "ts DESC, id DESC"
	byKeyAndTie = "ts DESC, id DESC, tie DESC"
)

// readFeed reads one event more than fits on the page.
func (db *Store) readFeed(ctx context.Context, q analytics.EventQuery, hidden []uint64, order string) (events []event.Event, err error) {
	c := db.feedClause(q)
	args := c.Args().With(clickhouse.Args{"environment": q.Environment.Number, "limit": q.Limit + 1, "hidden": hidden})
	query := strings.ReplaceAll(clickhouse.Bind(db.queries["events.List"], c), "$(order)", order)
	err = db.conn.Read(ctx, "listing events", query, args, func(rows driver.Rows) (bool, error) {
		e := event.Event{Environment: q.Environment.Slug}
		err := scanEvent(rows, &e)
		events = append(events, e)
		return true, err
	})
	return events, err
}

// feedClause returns the condition of a feed query in addition to its environment.
func (db *Store) feedClause(q analytics.EventQuery) clickhouse.Clause {
	var c clickhouse.Clause
	for _, condition := range []struct{ column, value string }{
		{"id", q.ID}, {"name", q.Name}, {"session_id", q.SessionID},
	} {
		if condition.value != "" {
			c.Equals(condition.column, condition.value)
		}
	}
	if q.Stays != nil {
		c.Add(db.queries["events.OfPerson"], "stay_visitors", q.Stays.Visitors)
		c.Args()["stay_from"], c.Args()["stay_until"] = q.Stays.FromMs, q.Stays.UntilMs
	}
	if q.Search != "" && q.SearchMasked {
		c.Add(db.queries["events.SearchMasked"], "search", q.Search)
		c.Args()["email"], c.Args()["personal"] = clickhouse.ShapePattern, clickhouse.PersonalPattern(q.Fields)
	} else if q.Search != "" {
		c.Add(db.queries["events.Search"], "search", q.Search)
	}
	if q.Before != nil {
		c.Add(db.queries["events.Before"], "before_ts", q.Before.Ts)
		c.Args()["before_id"], c.Args()["before_tie"] = q.Before.ID, q.Before.Tie
	}
	return c
}

// scanEvent reads a row of events.List.
func scanEvent(rows driver.Rows, e *event.Event) error {
	var ts, received int64
	var clickIDs, properties string
	err := rows.Scan(&e.ID, &ts, &received, &e.Name, &e.URL, &e.Path, &e.Title, &e.Referrer,
		&e.DistinctID, &e.AnonymousID, &e.PersonID, &e.SessionID,
		&e.ReferrerDomain, &e.Source, &e.Medium,
		&e.UTMSource, &e.UTMMedium, &e.UTMCampaign, &e.UTMTerm, &e.UTMContent, &clickIDs,
		&e.Country, &e.Region, &e.City, &e.Device, &e.Browser, &e.BrowserVersion, &e.OS, &e.OSVersion,
		&e.Screen, &e.Locale, &e.Value, &e.Currency, &properties, &e.Release, &e.Library, &e.IsBot, &e.Tie, &e.VisitorNumber)
	if err != nil {
		return err
	}
	e.Ts, e.ReceivedAt = time.UnixMilli(ts).UTC(), time.UnixMilli(received).UTC()
	e.Properties = json.RawMessage(properties)
	if properties == "" {
		e.Properties = json.RawMessage("{}")
	}
	if clickIDs == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(clickIDs), &e.ClickIDs); err != nil {
		return fmt.Errorf("decoding click identifiers: %w", err)
	}
	return nil
}
