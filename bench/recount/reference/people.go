package reference

import (
	"slices"
	"time"
)

// Retention is the answer of …/analytics/retention. A cohort is the persons whose first event ever in the environment
// was in the same period of the window. They must also have an event in that period that passes the filters. The
// beginning of the window may cut the first period, its end the last one.
func (d *Data) Retention(q Query, w Window, cohortBy, event string) map[string]any {
	covered, capped := w.Capped(q.Filters)
	q.From, q.To = covered.From, covered.To
	persons := d.identities(q.Environment)
	first := d.firstEvents(&q, persons)
	active, did := map[time.Time]people{}, map[time.Time]people{}
	for _, row := range d.active(&q, event) {
		period := d.floor(row.Ts, cohortBy)
		join(active, period, persons.of(row))
		if event == "" || row.Name == event {
			join(did, period, persons.of(row))
		}
	}
	cohorts := []any{}
	buckets := d.buckets(covered, cohortBy)
	for i, cohort := range buckets {
		members := people{}
		for person := range active[cohort] {
			if !first[person].Before(q.From) && d.floor(first[person], cohortBy).Equal(cohort) {
				members[person] = true
			}
		}
		periods := []any{float64(len(members))}
		for _, period := range buckets[i+1:] {
			back := 0
			for person := range members {
				if did[period][person] {
					back++
				}
			}
			periods = append(periods, float64(back))
		}
		cohorts = append(cohorts, map[string]any{"cohort": cohort.Format(time.DateOnly), "size": float64(len(members)), "periods": periods})
	}
	return map[string]any{"cohortBy": cohortBy, "capped": capped, "environment": q.Environment, "cohorts": cohorts}
}

// firstEvents returns the time of each person's first event in an environment.
func (d *Data) firstEvents(q *Query, persons *identities) map[Visitor]time.Time {
	first := map[Visitor]time.Time{}
	for _, row := range d.Rows {
		if row.Environment != q.Environment || row.IsBot && !q.IncludeBots {
			continue
		}
		person := persons.of(row)
		if at, known := first[person]; !known || row.Ts.Before(at) {
			first[person] = row.Ts
		}
	}
	return first
}

// people is a set of persons, each by its representative.
type people map[Visitor]bool

func join(sets map[time.Time]people, at time.Time, person Visitor) {
	if sets[at] == nil {
		sets[at] = people{}
	}
	sets[at][person] = true
}

func put(sets map[time.Time]set, at time.Time, word string) {
	if sets[at] == nil {
		sets[at] = set{}
	}
	sets[at][word] = true
}

// active returns the rows that make a person active: the rows in visits, and all rows if an event is named.
func (d *Data) active(q *Query, event string) []*Row {
	return slices.DeleteFunc(d.selected(q), func(row *Row) bool { return event == "" && row.outside })
}

// ActiveUsers is the answer of …/analytics/active-users: for every day of the window, the distinct visitors of the 1, 7
// and 30 days that end with it. The entry and the exit of a session are determined over all days that are read, which
// begin 29 days before the window.
func (d *Data) ActiveUsers(q Query, w Window) map[string]any {
	covered, capped := w.Capped(q.Filters)
	days := d.buckets(covered, "day")
	q.From, q.To = d.floor(covered.From, "day"), covered.To
	for range 29 {
		q.From = d.floor(q.From.Add(-time.Hour), "day")
	}
	onDay := map[time.Time]set{}
	for _, row := range d.selected(&q) {
		if !row.outside {
			put(onDay, d.floor(row.Ts, "day"), row.guest())
		}
	}
	lists := map[string][]any{"dau": {}, "wau": {}, "mau": {}, "stickiness": {}}
	for _, day := range days {
		dau, wau, mau := d.rolling(onDay, day, 1), d.rolling(onDay, day, 7), d.rolling(onDay, day, 30)
		stickiness := 0.0
		if mau > 0 {
			stickiness = float64(dau) / float64(mau)
		}
		for name, value := range map[string]float64{"dau": float64(dau), "wau": float64(wau), "mau": float64(mau), "stickiness": stickiness} {
			lists[name] = append(lists[name], map[string]any{"t": Stamp(day), "value": value})
		}
	}
	return map[string]any{"capped": capped, "environment": q.Environment, "dau": lists["dau"], "wau": lists["wau"], "mau": lists["mau"], "stickiness": lists["stickiness"]}
}

// rolling counts the distinct visitors of the n days that end with day.
func (d *Data) rolling(onDay map[time.Time]set, day time.Time, n int) int {
	all := set{}
	for range n {
		for visitor := range onDay[day] {
			all[visitor] = true
		}
		day = d.floor(day.Add(-time.Hour), "day")
	}
	return len(all)
}
