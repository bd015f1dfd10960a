package reference

import (
	"cmp"
	"slices"
	"strings"
)

// FeedQuery selects rows of the feed; empty texts select everything.
type FeedQuery struct {
	Environment, ID, Name, PersonID, SessionID, Search string
}

// Feed is the rows of …/events, newest first.
func (d *Data) Feed(q FeedQuery) []any {
	var rows []*Row
	for _, row := range d.Rows {
		if row.Environment == q.Environment && row.is(&q) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, newer)
	out := []any{}
	for _, row := range rows {
		out = append(out, map[string]any{"id": row.ID, "ts": Stamp(row.Ts), "name": row.Name})
	}
	return out
}

func (r *Row) is(q *FeedQuery) bool {
	for _, pair := range [][2]string{{q.ID, r.ID}, {q.Name, r.Name}, {q.PersonID, r.PersonID}, {q.SessionID, r.SessionID}} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	if q.Search == "" {
		return true
	}
	for _, text := range []string{r.Name, r.Path, r.URL, r.DistinctID, r.PropertiesText} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(q.Search)) {
			return true
		}
	}
	return false
}

// Names is the rows of …/events/names: the most frequent first.
func (d *Data) Names(q Query, w Window) (rows []any, capped bool) {
	filters := without(q.Filters, "event")
	covered, capped := w.Capped(filters)
	q.Filters, q.From, q.To = filters, covered.From, covered.To
	type name struct {
		count, conversions int
		users              set
		last               *Row
	}
	names := map[string]*name{}
	for _, row := range d.selected(&q) {
		n := names[row.Name]
		if n == nil {
			n = &name{users: set{}, last: row}
			names[row.Name] = n
		}
		n.count++
		n.users[row.guest()] = true
		if row.Ts.After(n.last.Ts) {
			n.last = row
		}
	}
	completions := d.completions(&q)
	for _, n := range names {
		for user := range n.users {
			n.conversions += completions[user]
		}
	}
	order := make([]string, 0, len(names))
	for word := range names {
		order = append(order, word)
	}
	slices.SortFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(names[b].count, names[a].count), cmp.Compare(a, b))
	})
	rows = []any{}
	for _, word := range order {
		n := names[word]
		rows = append(rows, map[string]any{
			"name": word, "count": float64(n.count), "users": float64(len(n.users)),
			"conversions": float64(n.conversions), "lastSeenAt": Stamp(n.last.Ts),
		})
	}
	return rows, capped
}

// completions counts the conversions of each visitor in a query's window, regardless of the filters. The filters select
// the visitors of a row, and all conversions of these visitors count.
func (d *Data) completions(q *Query) map[string]int {
	counts, unfiltered := map[string]int{}, *q
	unfiltered.Filters = nil
	for _, row := range d.selected(&unfiltered) {
		if d.converts(row) {
			counts[row.guest()]++
		}
	}
	return counts
}

func without(filters map[string]string, dimension string) map[string]string {
	rest := map[string]string{}
	for name, value := range filters {
		if name != dimension {
			rest[name] = value
		}
	}
	return rest
}
