package reference

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Set holds distinct words.
type set map[string]bool

// dayed is a word on a day.
type dayed struct {
	day  time.Time
	word string
}

// headline holds the numbers of a set of rows.
type headline struct {
	visitors, uniqueVisitors, pageviews, sessions, events, conversions int
	bounceRate, avgDurationMs                                          float64
}

// visits counts distinct visitors and sessions per day, summed over the days.
func (d *Data) visits(rows []*Row) (visitors, sessions int) {
	who, runs := map[dayed]bool{}, map[dayed]bool{}
	for _, row := range rows {
		if row.outside {
			continue
		}
		day := d.floor(row.Ts, "day")
		who[dayed{day, row.guest()}] = true
		runs[dayed{day, fmt.Sprintf("%p", row.session)}] = true
	}
	return len(who), len(runs)
}

func (d *Data) headline(rows []*Row, from, to time.Time) headline {
	h := headline{events: len(rows)}
	h.visitors, h.sessions = d.visits(rows)
	unique := set{}
	for _, row := range rows {
		if !row.outside {
			unique[row.guest()] = true
		}
		if row.pageview() {
			h.pageviews++
		}
		if d.converts(row) {
			h.conversions++
		}
	}
	h.uniqueVisitors = len(unique)
	bounces, duration := stays(rows, from, to)
	if h.sessions > 0 {
		h.bounceRate = float64(bounces) / float64(h.sessions)
		h.avgDurationMs = math.Floor(float64(duration) / float64(h.sessions))
	}
	return h
}

// stays counts the bounces and sums the durations of the rows' sessions, for sessions whose first event to arrive is in
// a window.
func stays(rows []*Row, from, to time.Time) (bounces int, durationMs int64) {
	runs := map[*session]bool{}
	for _, row := range rows {
		s := row.session
		if runs[s] || s.guest == "" || s.seen.Before(from) || !s.seen.Before(to) {
			continue
		}
		runs[s] = true
		if s.bounce {
			bounces++
		}
		durationMs += s.durationMs
	}
	return bounces, durationMs
}

// converts reports whether a row matches any goal that is not deleted.
func (d *Data) converts(row *Row) bool {
	for i := range d.Goals {
		if d.Goals[i].ended.IsZero() && d.Goals[i].matches(row) {
			return true
		}
	}
	return false
}

func (g *Goal) matches(row *Row) bool { return matchesWord(row, g.Kind, g.Match) }

// matchesWord reports whether a row is an event of a name, or a page view of a path that is exact or ends in a star.
func matchesWord(row *Row, kind, match string) bool {
	if kind == "event" {
		return row.Name == match
	}
	if !row.pageview() {
		return false
	}
	if prefix, starred := strings.CutSuffix(match, "*"); starred {
		return strings.HasPrefix(row.Path, prefix)
	}
	return row.Path == match
}

func (h *headline) metrics() map[string]float64 {
	return map[string]float64{
		"visitors": float64(h.visitors), "uniqueVisitors": float64(h.uniqueVisitors), "pageviews": float64(h.pageviews),
		"sessions": float64(h.sessions), "bounceRate": h.bounceRate, "avgDurationMs": h.avgDurationMs, "conversions": float64(h.conversions),
	}
}

// Overview is the answer of …/analytics/overview for a window.
func (d *Data) Overview(q Query, w Window) map[string]any {
	covered, capped := w.Capped(q.Filters)
	q.From, q.To = covered.From, covered.To
	now := d.headline(d.selected(&q), q.From, q.To)
	before := q
	before.From, before.To = d.previous(covered), q.From
	then := d.headline(d.selected(&before), before.From, before.To)

	delta, comparison := map[string]any{}, map[string]any{}
	answer := map[string]any{
		"capped": capped, "environment": q.Environment, "comparison": comparison,
		"range": map[string]any{"from": Stamp(w.From), "to": Stamp(w.To), "interval": w.Grain},
	}
	earlier := then.metrics()
	for name, value := range now.metrics() {
		answer[name], comparison[name], delta[name] = value, earlier[name], nil
		if earlier[name] != 0 {
			delta[name] = math.Round((value-earlier[name])/earlier[name]*1000) / 10
		}
	}
	comparison["delta"] = delta
	return answer
}

// Timeseries is the answer of …/analytics/timeseries.
func (d *Data) Timeseries(q Query, w Window, metric, interval string) map[string]any {
	covered, capped := w.Capped(q.Filters)
	q.From, q.To = covered.From, covered.To
	cells := map[time.Time][]*Row{}
	for _, row := range d.selected(&q) {
		at := d.floor(row.Ts, interval)
		cells[at] = append(cells[at], row)
	}
	points := []any{}
	for _, at := range d.buckets(covered, interval) {
		points = append(points, map[string]any{"t": Stamp(at), "value": d.value(cells[at], metric)})
	}
	return map[string]any{"metric": metric, "interval": interval, "environment": q.Environment, "capped": capped, "points": points}
}

// value is a metric of one bucket. Longer buckets are divided into days, so that the buckets of a series add up to the
// headline.
func (d *Data) value(rows []*Row, metric string) float64 {
	if len(rows) == 0 {
		return 0
	}
	h := d.headline(rows, time.Time{}, time.Time{})
	switch metric {
	case "visitors":
		return float64(h.visitors)
	case "pageviews":
		return float64(h.pageviews)
	case "sessions":
		return float64(h.sessions)
	case "conversions":
		return float64(h.conversions)
	}
	return float64(h.events)
}
