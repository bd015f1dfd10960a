// Package reads answers questions about events: overview, series, breakdowns, goals, funnels,
// retention, the feed. A window is counted to the millisecond. Unfiltered reads add the whole
// quarter-hour slots of the aggregates to the raw events of the partial slots at both ends;
// filtered reads count raw events within svc.Window.Capped. What was counted of past days is
// kept in memory and in a file, and holds as long as the days have the same number of events.
package reads
