package reads

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/analytics"
	"svc/domain/goal"
	"svc/storage/clickhouse"
)

// journeyStart is the value that stands for the start in the query's result.
const journeyStart = "\x00"

// Journeys returns the paths of the newest analytics.JourneySessions visits that met the start, within at most
// domain.FilteredDays. Values beyond the rows of a step are combined as others.
func (db *Store) Journeys(ctx context.Context, q analytics.JourneyQuery) (analytics.Journeys, error) {
	key := fmt.Sprintf("journeys %s %s %q %q %d %d", scopeKey(q.Scope, nil), q.Direction, q.Start.Kind, q.Start.Match, q.Steps, q.Rows)
	return share(ctx, db, q.Environment, key, func(ctx context.Context) (analytics.Journeys, error) { return db.journeys(ctx, q) })
}

func (db *Store) journeys(ctx context.Context, q analytics.JourneyQuery) (analytics.Journeys, error) {
	var out analytics.Journeys
	c, err := db.where(ctx, q.Scope)
	if err != nil {
		return out, err
	}
	q.Window, out.Capped = q.Window.Capped()
	start, open := q.Start.Prefix()
	if !open {
		start = q.Start.Match
	}
	args := c.Args().With(scopeArguments(q.Scope, q.Window)).With(clickhouse.Args{
		"start_event": q.Start.Kind == goal.MatchEvent, "start_open": open, "start": start, "sessions": uint32(analytics.JourneySessions + 1),
		"steps": uint32(q.Steps), "backwards": q.Direction == analytics.JourneyTo,
	})
	err = db.conn.Read(ctx, "counting journeys", clickhouse.Bind(db.queries["journeys.Count"], c), args, func(rows driver.Rows) (bool, error) {
		return true, rows.Scan(&out.Sessions)
	})
	if err != nil {
		return out, err
	}
	if out.Sessions > analytics.JourneySessions {
		out.Sessions, out.Capped = analytics.JourneySessions, true
	}
	args["sessions"] = uint32(analytics.JourneySessions)
	var links []analytics.JourneyLink
	err = db.conn.Read(ctx, "following journeys", clickhouse.Bind(db.queries["journeys.Links"], c), args, func(rows driver.Rows) (bool, error) {
		var link analytics.JourneyLink
		var step uint8
		err := rows.Scan(&step, &link.Value, &link.To, &link.Sessions)
		link.Step, link.End = int(step), link.To == ""
		if link.Value == journeyStart {
			link.Value = ""
		}
		if link.To == journeyStart {
			link.To = q.Start.Match
		}
		links = append(links, link)
		return true, err
	})
	out.Links = analytics.FoldJourneys(links, q.Rows)
	return out, err
}
