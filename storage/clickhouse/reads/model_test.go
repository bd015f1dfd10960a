package reads

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/goal"
)

// model is a plain recomputation of every analytics read over rows in memory.
type model struct{ rows []event.Row }

// store inserts rows in blocks of the given size.
func store(t testing.TB, db *testDB, rows []event.Row, size int) {
	t.Helper()
	for i := 0; i < len(rows); i += size {
		b := db.NewBlock()
		for j := i; j < min(i+size, len(rows)); j++ {
			b.Append(&rows[j])
		}
		insert(t, db, fmt.Sprint("block ", i), uint64(i+1), b)
	}
}

func visitorOf(r *event.Row) string { return r.Event.Visitor() }

func sessionOf(r *event.Row) string { return r.Event.Visitor() + "\x00" + r.Event.SessionID }

// inScope returns the rows of the scope's environment that may count.
func (m model) inScope(scope analytics.Scope) []*event.Row {
	var out []*event.Row
	for i := range m.rows {
		r := &m.rows[i]
		if r.EnvironmentNumber == scope.Environment.Number && (scope.IncludeBots || !r.Event.IsBot) {
			out = append(out, r)
		}
	}
	return out
}

func inWindow(w domain.Window, t time.Time) bool { return !t.Before(w.From) && t.Before(w.To) }

// matching returns the events in the window that pass the filters.
func (m model) matching(scope analytics.Scope) []*event.Row {
	var within []*event.Row
	for _, r := range m.inScope(scope) {
		if inWindow(scope.Window, r.Event.Ts) {
			within = append(within, r)
		}
	}
	out := within
	for _, filter := range scope.Filters {
		out = slices.DeleteFunc(slices.Clone(out), func(r *event.Row) bool { return !passes(r, filter, within) })
	}
	return out
}

func passes(r *event.Row, f filter.Filter, within []*event.Row) bool {
	e := r.Event
	switch f.Dimension {
	case filter.DimPath:
		return e.Path == f.Value
	case filter.DimEvent:
		return e.Name == f.Value
	case filter.DimSource:
		return e.Source == f.Value
	case filter.DimCountry:
		return e.Country == f.Value
	case filter.DimCity:
		return e.City == f.Value
	case filter.DimBrowser:
		return e.Browser == f.Value
	case filter.DimEntryPath, filter.DimExitPath:
		var views []*event.Row
		for _, other := range within {
			if sessionOf(other) == sessionOf(r) && event.IsPageview(other.Event.Name) {
				views = append(views, other)
			}
		}
		if len(views) == 0 {
			return false
		}
		slices.SortFunc(views, func(a, b *event.Row) int {
			return cmp.Or(a.Event.Ts.Compare(b.Event.Ts), cmp.Compare(a.Event.ID, b.Event.ID))
		})
		if f.Dimension == filter.DimExitPath {
			return views[len(views)-1].Event.Path == f.Value
		}
		return views[0].Event.Path == f.Value
	}
	panic("the model knows no " + f.Dimension)
}

func completes(e *event.Event, goals []goal.Matcher) bool {
	return slices.ContainsFunc(goals, func(g goal.Matcher) bool { return g.Matches(e.Name, e.Path) })
}

// bucketed groups the distinct results of a function by the buckets of an interval.
func bucketed(rows []*event.Row, w domain.Window, interval domain.Interval, of func(*event.Row) string) map[int64]map[string]bool {
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

func (m model) headline(scope analytics.Scope, goals []goal.Matcher) analytics.Headline {
	if len(scope.Filters) > 0 {
		scope.Window, _ = scope.Window.Capped()
	}
	rows := m.matching(scope)
	var h analytics.Headline
	unique, sessions := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		h.Events++
		if event.IsPageview(r.Event.Name) {
			h.Pageviews++
		}
		if completes(&r.Event, goals) {
			h.Conversions++
		}
		unique[visitorOf(r)], sessions[sessionOf(r)] = true, true
	}
	h.UniqueVisitors = uint64(len(unique))
	h.Visitors = size(bucketed(rows, scope.Window, domain.Day, visitorOf))
	h.Sessions = size(bucketed(rows, scope.Window, domain.Day, sessionOf))
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

func (m model) series(scope analytics.Scope, metric analytics.Metric, interval domain.Interval, goals []goal.Matcher) []analytics.Point {
	if len(scope.Filters) > 0 {
		scope.Window, _ = scope.Window.Capped()
	}
	grain := domain.Day
	if interval == domain.Hour {
		grain = domain.Hour
	}
	rows := m.matching(scope)
	rows = slices.DeleteFunc(rows, func(r *event.Row) bool {
		return metric == analytics.MetricPageviews && !event.IsPageview(r.Event.Name) || metric == analytics.MetricConversions && !completes(&r.Event, goals)
	})
	of := func(r *event.Row) string { return r.Event.ID }
	switch metric {
	case analytics.MetricVisitors:
		of = visitorOf
	case analytics.MetricSessions:
		of = sessionOf
	}
	values := map[int64]float64{}
	for at, set := range bucketed(rows, scope.Window, grain, of) {
		values[interval.Floor(time.Unix(at, 0).In(scope.Window.Location)).Unix()] += float64(len(set))
	}
	var points []analytics.Point
	for t := interval.Floor(scope.Window.From.In(scope.Window.Location)); t.Before(scope.Window.To); t = interval.Next(t) {
		points = append(points, analytics.Point{T: t, Value: values[t.Unix()]})
	}
	return points
}
