package reference

import (
	"cmp"
	"slices"
)

// GoalResults is the rows of …/analytics/goals, ordered by conversions and, where
// those are equal, by the goal's id.
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
			if one.goal.matches(row) {
				matched = append(matched, row)
			}
		}
		one.conversions = len(matched)
		one.visitors, _ = d.visits(matched)
		results = append(results, one)
	}
	slices.SortFunc(results, func(a, b result) int {
		return cmp.Or(cmp.Compare(b.conversions, a.conversions), cmp.Compare(a.goal.ID, b.goal.ID))
	})
	rows = []any{}
	for _, one := range results {
		rows = append(rows, map[string]any{
			"goalId": one.goal.ID, "name": one.goal.Name, "kind": one.goal.Kind, "match": one.goal.Match,
			"conversions": float64(one.conversions), "visitors": float64(one.visitors),
		})
	}
	return rows, capped
}
