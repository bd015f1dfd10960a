package reference

import (
	"cmp"
	"slices"
	"strings"
)

// Breakdown is the rows of …/analytics/breakdown: values of a dimension, ranked by
// visitors, then pageviews, then value.
func (d *Data) Breakdown(q Query, w Window, dimension, search string) (rows []any, capped bool) {
	filters := without(q.Filters, dimension)
	covered, capped := w.Capped(filters)
	q.Filters, q.From, q.To = filters, covered.From, covered.To
	groups, ends := map[string][]*Row{}, d.ends(&q)
	for _, row := range d.selected(&q) {
		value := row.dimension(dimension, ends)
		if search == "" || strings.Contains(strings.ToLower(value), strings.ToLower(search)) {
			groups[value] = append(groups[value], row)
		}
	}
	completions := d.completions(&q)
	type ranked struct {
		value string
		headline
	}
	var all []ranked
	for value, group := range groups {
		if value == "" {
			continue
		}
		one := ranked{value, d.headline(group, q.From, q.To)}
		one.conversions = 0
		users := set{}
		for _, row := range group {
			users[row.Visitor()] = true
		}
		for user := range users {
			one.conversions += completions[user]
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.visitors, a.visitors), cmp.Compare(b.pageviews, a.pageviews), cmp.Compare(a.value, b.value))
	})
	rows = []any{}
	for i := range all {
		one := &all[i]
		rows = append(rows, map[string]any{
			"value": one.value, "visitors": float64(one.visitors), "pageviews": float64(one.pageviews),
			"sessions": float64(one.sessions), "bounceRate": one.bounceRate, "conversions": float64(one.conversions),
		})
	}
	return rows, capped
}
