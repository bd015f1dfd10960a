package reads

import (
	"context"
	"regexp"
	"strings"

	"svc"
	"svc/storage/clickhouse"
)

// columnOf returns the column of events for a dimension. It is the only source of identifiers that a request can
// select.
func columnOf(dimension svc.Dimension) (name string, ok bool) {
	switch dimension {
	case svc.DimEvent:
		return "name", true
	case svc.DimPath, svc.DimReferrerDomain, svc.DimSource, svc.DimMedium,
		svc.DimUTMSource, svc.DimUTMMedium, svc.DimUTMCampaign, svc.DimUTMTerm, svc.DimUTMContent,
		svc.DimCountry, svc.DimRegion, svc.DimCity, svc.DimDevice, svc.DimBrowser, svc.DimOS:
		return string(dimension), true
	case svc.DimEntryPath, svc.DimExitPath, svc.DimSegment:
	}
	return "", false
}

// where returns the SQL condition of a scope's filters on rows of events.
func (db *Store) where(ctx context.Context, scope svc.AnalyticsScope) (clickhouse.Clause, error) {
	var c clickhouse.Clause
	for _, filter := range scope.Filters {
		name, isColumn := columnOf(filter.Dimension)
		switch {
		case isColumn:
			c.Equals(name, filter.Value)
		case filter.Dimension == svc.DimEntryPath:
			c.Add(db.queries["filter.EntryPath"], "entry_path", filter.Value)
		case filter.Dimension == svc.DimExitPath:
			c.Add(db.queries["filter.ExitPath"], "exit_path", filter.Value)
		case filter.Dimension == svc.DimSegment && scope.Segment != nil:
			condition, err := segmentOf(ctx).find(func() (clause, error) {
				text, args, err := db.persons.EventsOf(ctx, scope.Environment.Number, scope.Segment, scope.AsOf)
				return clause{text, args}, err
			})
			if err != nil {
				return clickhouse.Clause{}, err
			}
			c.AddAll(condition.text, condition.args)
		default:
			return clickhouse.Clause{}, svc.Invalid(svc.UnknownDimension("filter", string(filter.Dimension)))
		}
	}
	return c, nil
}

// noPrefix is a pattern that matches nothing.
const noPrefix = `[^\s\S]`

// goalArguments returns the values of goals.Match. with_paths is true if any goal is a path.
func goalArguments(goals []svc.Matcher) clickhouse.Args {
	events, paths, prefixes := []string{}, []string{}, []string{}
	for _, goal := range goals {
		prefix, open := goal.Prefix()
		switch {
		case goal.Kind == svc.MatchEvent:
			events = append(events, goal.Match)
		case open:
			prefixes = append(prefixes, regexp.QuoteMeta(prefix))
		default:
			paths = append(paths, goal.Match)
		}
	}
	pattern := noPrefix
	if len(prefixes) > 0 {
		pattern = "^(?:" + strings.Join(prefixes, "|") + ")"
	}
	return clickhouse.Args{
		"goal_events": events, "goal_paths": paths, "goal_prefixes": pattern, "with_paths": len(events) < len(goals),
	}
}
