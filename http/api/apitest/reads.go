package apitest

import (
	"context"
	"slices"
	"strings"
	"time"

	"svc"
)

// Breakdown is the port api.Reads.
func (m *Memory) Breakdown(_ context.Context, query svc.BreakdownQuery) (svc.Breakdown, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	query.Filters = query.Filters.Without(query.Dimension)
	window, capped := covered(query.AnalyticsScope)
	byValue := map[string][]svc.Event{}
	for _, event := range m.selected(query.AnalyticsScope, window) {
		value := valueOf(&event, query.Dimension)
		if query.Masked {
			value = svc.MaskEmails(value)
		}
		if value != "" && strings.Contains(strings.ToLower(value), strings.ToLower(query.Search)) {
			byValue[value] = append(byValue[value], event)
		}
	}
	out := svc.Breakdown{Capped: capped, Rows: []svc.BreakdownRow{}}
	for value, events := range byValue {
		h := m.headline(events, window.Location)
		row := svc.BreakdownRow{Value: value, Visitors: h.Visitors, Pageviews: h.Pageviews, Sessions: h.Sessions, BounceRate: h.BounceRate}
		if query.After == nil || query.After.Compare(row.Key()) < 0 {
			out.Rows = append(out.Rows, row)
		}
	}
	slices.SortFunc(out.Rows, func(a, b svc.BreakdownRow) int { return a.Key().Compare(b.Key()) })
	out.More = len(out.Rows) > query.Limit
	out.Rows = out.Rows[:min(query.Limit, len(out.Rows))]
	return out, nil
}

// visitorsOf returns the visitors of events.
func visitorsOf(events []svc.Event) map[string]bool {
	out := map[string]bool{}
	for i := range events {
		out[events[i].Visitor()] = true
	}
	return out
}

// Retention is the port api.Reads.
func (m *Memory) Retention(_ context.Context, query svc.RetentionQuery) (svc.Retention, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	window, capped := covered(query.AnalyticsScope)
	out := svc.Retention{CohortBy: query.CohortBy, Capped: capped}
	begins := window.Buckets(query.CohortBy)
	in := func(scope svc.AnalyticsScope, from time.Time) []svc.Event {
		bucket := window
		bucket.From, bucket.To = from, query.CohortBy.Next(from)
		return m.selected(scope, bucket)
	}
	for i, begin := range begins {
		before := window
		before.From, before.To = time.Time{}, begin
		members := visitorsOf(in(query.AnalyticsScope, begin))
		for old := range visitorsOf(m.selected(svc.AnalyticsScope{Environment: query.Environment}, before)) {
			delete(members, old)
		}
		cohort := svc.Cohort{From: begin, Size: uint64(len(members)), Periods: []uint64{uint64(len(members))}}
		for _, later := range begins[i+1:] {
			active := slices.DeleteFunc(in(query.AnalyticsScope, later), func(e svc.Event) bool {
				return !members[e.Visitor()] || query.Event != "" && e.Name != query.Event
			})
			cohort.Periods = append(cohort.Periods, uint64(len(visitorsOf(active))))
		}
		out.Cohorts = append(out.Cohorts, cohort)
	}
	return out, nil
}

// ActiveUsers is the port api.Reads.
func (m *Memory) ActiveUsers(_ context.Context, scope svc.AnalyticsScope) (svc.ActiveUsers, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	window, capped := covered(scope)
	out := svc.ActiveUsers{Capped: capped}
	for _, day := range window.Buckets(svc.Day) {
		unique := func(days int) svc.Point {
			span := window
			span.From, span.To = day.AddDate(0, 0, 1-days), svc.Day.Next(day)
			return svc.Point{T: day, Value: float64(len(visitorsOf(m.selected(scope, span))))}
		}
		dau, wau, mau := unique(1), unique(svc.WeeklyDays), unique(svc.MonthlyDays)
		out.DAU, out.WAU, out.MAU = append(out.DAU, dau), append(out.WAU, wau), append(out.MAU, mau)
		if mau.Value > 0 {
			dau.Value /= mau.Value
		}
		out.Stickiness = append(out.Stickiness, dau)
	}
	return out, nil
}
