// Package reads answers queries about events: overview, series, breakdowns, goals, funnels, retention, the feed. A
// window is counted to the millisecond. Unfiltered reads add the whole quarter-hour slots of the aggregates to the raw
// events of the partial slots at both ends. Filtered reads count raw events within domain.Window.Capped. Counts of past
// days are cached in memory and in a file, and stay valid as long as the days have the same number of events.
package reads
