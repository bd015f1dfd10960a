package reads

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc"
)

// model is a plain recomputation of every analytics read over rows in memory.
type model struct{ rows []svc.EventRow }

// store inserts rows in blocks of the given size.
func store(t testing.TB, db *testDB, rows []svc.EventRow, size int) {
	t.Helper()
	for i := 0; i < len(rows); i += size {
		b := db.NewBlock()
		for j := i; j < min(i+size, len(rows)); j++ {
			b.Append(&rows[j])
		}
		insert(t, db, fmt.Sprint("block ", i), uint64(i+1), b)
	}
}

func visitorOf(r *svc.EventRow) string { return r.Event.Visitor() }

func sessionOf(r *svc.EventRow) string { return r.Event.Visitor() + "\x00" + r.Event.SessionID }

// inScope returns the rows of the scope's environment that may count.
func (m model) inScope(scope svc.AnalyticsScope) []*svc.EventRow {
	var out []*svc.EventRow
	for i := range m.rows {
		r := &m.rows[i]
		if r.EnvironmentNumber == scope.Environment.Number && (scope.IncludeBots || !r.Event.IsBot) {
			out = append(out, r)
		}
	}
	return out
}

func inWindow(w svc.Window, t time.Time) bool { return !t.Before(w.From) && t.Before(w.To) }

// matching returns the events in the window that pass the filters.
func (m model) matching(scope svc.AnalyticsScope) []*svc.EventRow {
	var within []*svc.EventRow
	for _, r := range m.inScope(scope) {
		if inWindow(scope.Window, r.Event.Ts) {
			within = append(within, r)
		}
	}
	out := within
	for _, filter := range scope.Filters {
		out = slices.DeleteFunc(slices.Clone(out), func(r *svc.EventRow) bool { return !passes(r, filter, within) })
	}
	return out
}

func passes(r *svc.EventRow, filter svc.Filter, within []*svc.EventRow) bool {
	e := r.Event
	switch filter.Dimension {
	case svc.DimPath:
		return e.Path == filter.Value
	case svc.DimEvent:
		return e.Name == filter.Value
	case svc.DimSource:
		return e.Source == filter.Value
	case svc.DimCountry:
		return e.Country == filter.Value
	case svc.DimCity:
		return e.City == filter.Value
	case svc.DimBrowser:
		return e.Browser == filter.Value
	case svc.DimEntryPath, svc.DimExitPath:
		var views []*svc.EventRow
		for _, other := range within {
			if sessionOf(other) == sessionOf(r) && svc.IsPageview(other.Event.Name) {
				views = append(views, other)
			}
		}
		if len(views) == 0 {
			return false
		}
		slices.SortFunc(views, func(a, b *svc.EventRow) int {
			return cmp.Or(a.Event.Ts.Compare(b.Event.Ts), cmp.Compare(a.Event.ID, b.Event.ID))
		})
		if filter.Dimension == svc.DimExitPath {
			return views[len(views)-1].Event.Path == filter.Value
		}
		return views[0].Event.Path == filter.Value
	}
	panic("the model knows no " + filter.Dimension)
}

func completes(e *svc.Event, goals []svc.Matcher) bool {
	return slices.ContainsFunc(goals, func(g svc.Matcher) bool { return g.Matches(e.Name, e.Path) })
}

// bucketed groups the distinct results of a function by the buckets of an interval.
func bucketed(rows []*svc.EventRow, w svc.Window, interval svc.Interval, of func(*svc.EventRow) string) map[int64]map[string]bool {
	out := map[int64]map[string]bool{}
	for _, r := range rows {
		at := interval.Floor(r.Event.Ts.In(w.Location)).Unix()
		if out[at] == nil {
			out[at] = map[string]bool{}
		}
		out[at][of(r)] = true
	}
	return out
}

func size(sets map[int64]map[string]bool) (n uint64) {
	for _, set := range sets {
		n += uint64(len(set))
	}
	return n
}

func (m model) headline(scope svc.AnalyticsScope, goals []svc.Matcher) svc.Headline {
	if len(scope.Filters) > 0 {
		scope.Window, _ = scope.Window.Capped()
	}
	rows := m.matching(scope)
	var h svc.Headline
	unique, sessions := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		h.Events++
		if svc.IsPageview(r.Event.Name) {
			h.Pageviews++
		}
		if completes(&r.Event, goals) {
			h.Conversions++
		}
		unique[visitorOf(r)], sessions[sessionOf(r)] = true, true
	}
	h.UniqueVisitors = uint64(len(unique))
	h.Visitors = size(bucketed(rows, scope.Window, svc.Day, visitorOf))
	h.Sessions = size(bucketed(rows, scope.Window, svc.Day, sessionOf))
	var bounces, lasted int64
	for _, r := range m.inScope(scope) {
		if inWindow(scope.Window, time.UnixMilli(r.SessionStartedMs)) && (len(scope.Filters) == 0 || sessions[sessionOf(r)]) {
			bounces += int64(r.Bounce)
			lasted += r.DurationMs
		}
	}
	if h.Sessions > 0 {
		h.BounceRate = min(max(float64(bounces)/float64(h.Sessions), 0), 1)
		h.AvgDurationMs = uint64(max(lasted, 0)) / h.Sessions
	}
	return h
}

func (m model) series(scope svc.AnalyticsScope, metric svc.Metric, interval svc.Interval, goals []svc.Matcher) []svc.Point {
	if len(scope.Filters) > 0 {
		scope.Window, _ = scope.Window.Capped()
	}
	grain := svc.Day
	if interval == svc.Hour {
		grain = svc.Hour
	}
	rows := m.matching(scope)
	rows = slices.DeleteFunc(rows, func(r *svc.EventRow) bool {
		return metric == svc.MetricPageviews && !svc.IsPageview(r.Event.Name) || metric == svc.MetricConversions && !completes(&r.Event, goals)
	})
	of := func(r *svc.EventRow) string { return r.Event.ID }
	switch metric {
	case svc.MetricVisitors:
		of = visitorOf
	case svc.MetricSessions:
		of = sessionOf
	}
	values := map[int64]float64{}
	for at, set := range bucketed(rows, scope.Window, grain, of) {
		values[interval.Floor(time.Unix(at, 0).In(scope.Window.Location)).Unix()] += float64(len(set))
	}
	var points []svc.Point
	for t := interval.Floor(scope.Window.From.In(scope.Window.Location)); t.Before(scope.Window.To); t = interval.Next(t) {
		points = append(points, svc.Point{T: t, Value: values[t.Unix()]})
	}
	return points
}
