package clickhouse

import (
	"regexp"
	"strings"

	"svc"
)

// clause is a condition that is put together from fixed parts. Its values are bound
// under names of its own.
type clause struct {
	parts []string
	args  arguments
}

// text returns the condition; the empty clause is true.
func (c *clause) text() string {
	if len(c.parts) == 0 {
		return "true"
	}
	return strings.Join(c.parts, " AND ")
}

// add appends a part that refers to a value by its name.
func (c *clause) add(part, name string, value any) {
	if c.args == nil {
		c.args = arguments{}
	}
	c.parts = append(c.parts, part)
	c.args[name] = value
}

// equals appends the condition that a column has a value.
func (c *clause) equals(column, value string) {
	c.add(column+" = {f_"+column+":String}", "f_"+column, value)
}

// columnOf returns the column of events that holds a dimension. It is the only source of
// identifiers that a request chooses.
func columnOf(dimension svc.Dimension) (name string, ok bool) {
	switch dimension {
	case svc.DimEvent:
		return "name", true
	case svc.DimPath, svc.DimReferrerDomain, svc.DimSource, svc.DimMedium,
		svc.DimUTMSource, svc.DimUTMMedium, svc.DimUTMCampaign, svc.DimUTMTerm, svc.DimUTMContent,
		svc.DimCountry, svc.DimRegion, svc.DimCity, svc.DimDevice, svc.DimBrowser, svc.DimOS:
		return string(dimension), true
	case svc.DimEntryPath, svc.DimExitPath:
	}
	return "", false
}

// where returns the condition of filters on rows of events.
func (db *DB) where(filters svc.Filters) (clause, error) {
	var c clause
	for _, filter := range filters {
		name, isColumn := columnOf(filter.Dimension)
		switch {
		case isColumn:
			c.equals(name, filter.Value)
		case filter.Dimension == svc.DimEntryPath:
			c.add(db.queries["filter.EntryPath"], "entry_path", filter.Value)
		case filter.Dimension == svc.DimExitPath:
			c.add(db.queries["filter.ExitPath"], "exit_path", filter.Value)
		default:
			return clause{}, svc.Invalid(svc.UnknownDimension("filter", string(filter.Dimension)))
		}
	}
	return c, nil
}

// noPrefix is a pattern that nothing matches.
const noPrefix = `[^\s\S]`

// goalArguments are the values of goals.Match. with_paths says whether any goal is a path.
func goalArguments(goals []svc.Matcher) arguments {
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
	return arguments{
		"goal_events": events, "goal_paths": paths, "goal_prefixes": pattern, "with_paths": len(events) < len(goals),
	}
}

// bind puts a condition in the place that a query leaves for it.
func bind(query string, c clause) string {
	return strings.ReplaceAll(query, "$(where)", c.text())
}
