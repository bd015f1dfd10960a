package reads

import (
	"context"
	"regexp"
	"strings"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/domain/goal"
	"svc/storage/clickhouse"
)

// columnOf returns the column of events for a dimension. It is the only source of identifiers that a request can
// select.
func columnOf(dimension filter.Dimension) (name string, ok bool) {
	switch dimension {
	case filter.DimEvent:
		return "name", true
	case filter.DimPath, filter.DimReferrerDomain, filter.DimSource, filter.DimMedium,
		filter.DimUTMSource, filter.DimUTMMedium, filter.DimUTMCampaign, filter.DimUTMTerm, filter.DimUTMContent,
		filter.DimCountry, filter.DimRegion, filter.DimCity, filter.DimDevice, filter.DimBrowser, filter.DimOS:
		return string(dimension), true
	case filter.DimEntryPath, filter.DimExitPath, filter.DimSegment:
	}
	return "", false
}

// where returns the SQL condition of a scope's filters on rows of events.
func (db *Store) where(ctx context.Context, scope analytics.Scope) (clickhouse.Clause, error) {
	var c clickhouse.Clause
	for _, f := range scope.Filters {
		name, isColumn := columnOf(f.Dimension)
		switch {
		case isColumn:
			c.Equals(name, f.Value)
		case f.Dimension == filter.DimEntryPath:
			c.Add(db.queries["filter.EntryPath"], "entry_path", f.Value)
		case f.Dimension == filter.DimExitPath:
			c.Add(db.queries["filter.ExitPath"], "exit_path", f.Value)
		case f.Dimension == filter.DimSegment && scope.Segment != nil:
			condition, err := segmentOf(ctx).find(func() (clause, error) {
				text, args, err := db.persons.EventsOf(ctx, scope.Environment.Number, scope.Segment, scope.AsOf)
				return clause{text, args}, err
			})
			if err != nil {
				return clickhouse.Clause{}, err
			}
			c.AddAll(condition.text, condition.args)
		default:
			return clickhouse.Clause{}, domain.Invalid(filter.UnknownDimension("filter", string(f.Dimension)))
		}
	}
	return c, nil
}

// noPrefix is a pattern that matches nothing.
const noPrefix = `[^\s\S]`

// goalArguments returns the values of goals.Match. with_paths is true if any goal is a path.
func goalArguments(goals []goal.Matcher) clickhouse.Args {
	events, paths, prefixes := []string{}, []string{}, []string{}
	for _, g := range goals {
		prefix, open := g.Prefix()
		switch {
		case g.Kind == goal.MatchEvent:
			events = append(events, g.Match)
		case open:
			prefixes = append(prefixes, regexp.QuoteMeta(prefix))
		default:
			paths = append(paths, g.Match)
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
