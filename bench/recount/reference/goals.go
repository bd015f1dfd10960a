package reference

import (
	"cmp"
	"slices"
)

// GoalResults is the rows of …/analytics/goals, ordered by conversions and then by the goal's id. A deleted goal counts
// the earlier conversions; its row has nulls for everything except its id, and is absent without conversions.
func (d *Data) GoalResults(q Query, w Window) (rows []any, capped bool) {
	covered, capped := w.Capped(q.Filters)
	q.From, q.To = covered.From, covered.To
	type result struct {
		goal        *Goal
		conversions int
		visitors    int
	}
	var results []result
	selected := d.selected(&q)
	for i := range d.Goals {
		one := result{goal: &d.Goals[i]}
		var matched []*Row
		for _, row := range selected {
			if one.goal.matches(row) && (one.goal.ended.IsZero() || row.Ts.Before(one.goal.ended)) {
				matched = append(matched, row)
			}
		}
		one.conversions = len(matched)
		one.visitors, _ = d.visits(matched)
		if one.goal.ended.IsZero() || one.conversions > 0 {
			results = append(results, one)
		}
	}
	slices.SortFunc(results, func(a, b result) int {
		return cmp.Or(cmp.Compare(b.conversions, a.conversions), cmp.Compare(a.goal.ID, b.goal.ID))
	})
	rows = []any{}
	for _, one := range results {
		row := map[string]any{"goalId": one.goal.ID, "name": nil, "kind": nil, "match": nil}
		if one.goal.ended.IsZero() {
			row["name"], row["kind"], row["match"] = one.goal.Name, one.goal.Kind, one.goal.Match
		}
		row["conversions"], row["visitors"] = float64(one.conversions), float64(one.visitors)
		rows = append(rows, row)
	}
	return rows, capped
}
