package reference

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// value holds the sums of a value of a dimension.
type value struct {
	word                                   string
	visitors, pageviews, sessions, bounces int
	users                                  set
}

// Breakdown is the rows of …/analytics/breakdown: values of a dimension, ranked by visitors, then pageviews, then
// value. Every day of the window counts separately, also for the entries and exits of sessions and for bounces.
func (d *Data) Breakdown(q Query, w Window, dimension, search string) (rows []any, capped bool) {
	q.Filters = without(q.Filters, dimension)
	w, capped = w.Capped(q.Filters)
	q.From, q.To = w.From, w.To
	onDay := map[time.Time][]*Row{}
	for _, row := range d.selected(&q) {
		day := d.floor(row.Ts, "day")
		onDay[day] = append(onDay[day], row)
	}
	values := map[string]*value{}
	for _, day := range d.buckets(w, "day") {
		within := q
		within.From, within.To = later(q.From, day), earlier(q.To, d.next(day, "day"))
		d.addDay(values, &within, onDay[day], dimension)
	}
	completions := d.completions(&q)
	var all []*value
	for word, v := range values {
		if v.word = word; word != "" && (search == "" || strings.Contains(strings.ToLower(word), strings.ToLower(search))) {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *value) int {
		return cmp.Or(cmp.Compare(b.visitors, a.visitors), cmp.Compare(b.pageviews, a.pageviews), cmp.Compare(a.word, b.word))
	})
	rows = []any{}
	for _, v := range all {
		conversions := 0
		for user := range v.users {
			conversions += completions[user]
		}
		rows = append(rows, map[string]any{
			"value": v.word, "visitors": float64(v.visitors), "pageviews": float64(v.pageviews), "sessions": float64(v.sessions),
			"bounceRate": float64(v.bounces) / float64(max(1, v.sessions)), "conversions": float64(conversions),
		})
	}
	return rows, capped
}

// addDay adds the rows of one day to their values.
func (d *Data) addDay(values map[string]*value, day *Query, rows []*Row, dimension string) {
	groups, ends := map[string][]*Row{}, d.ends(day)
	for _, row := range rows {
		if row.outside {
			continue
		}
		word := row.dimension(dimension, ends)
		groups[word] = append(groups[word], row)
	}
	for word, group := range groups {
		v := values[word]
		if v == nil {
			v = &value{users: set{}}
			values[word] = v
		}
		visitors, sessions := d.visits(group)
		bounces, _ := stays(group, day.From, day.To)
		v.visitors, v.sessions, v.bounces = v.visitors+visitors, v.sessions+sessions, v.bounces+bounces
		for _, row := range group {
			v.users[row.guest()] = true
			if row.pageview() {
				v.pageviews++
			}
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
