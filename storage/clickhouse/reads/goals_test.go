package reads

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"svc"
	"svc/storage/clickhouse/clickhousetest"
)

// goalCounts counts goals by their definition.
func (m model) goalCounts(scope svc.AnalyticsScope, goals []svc.Goal) svc.GoalCounts {
	var out svc.GoalCounts
	if len(scope.Filters) > 0 {
		scope.Window, out.Capped = scope.Window.Capped()
	}
	var counts []svc.GoalCount
	for _, goal := range goals {
		var met []*svc.EventRow
		for _, r := range m.matching(scope) {
			if goal.Matches(r.Event.Name, r.Event.Path) && (goal.DeletedAt == nil || r.Event.Ts.Before(*goal.DeletedAt)) {
				met = append(met, r)
			}
		}
		counts = append(counts, svc.GoalCount{Goal: goal, Conversions: uint64(len(met)), Visitors: size(bucketed(met, scope.Window, svc.Day, visitorOf))})
	}
	out.Rows = svc.RankGoals(counts)
	return out
}

func TestGoalCounts(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 2000)
	m := model{rows}
	deleted := rows[len(rows)/3].Event.Ts
	justAfter := deleted.Add(1) // a fraction of a millisecond
	var goals []svc.Goal
	add := func(kind svc.MatchKind, match string, deletedAt *time.Time) {
		goals = append(goals, svc.Goal{ID: fmt.Sprint("goal_", len(goals)), Matcher: svc.Matcher{Kind: kind, Match: match}, DeletedAt: deletedAt})
	}
	add(svc.MatchEvent, "signup", nil)
	add(svc.MatchEvent, "nothing", nil)
	add(svc.MatchEvent, "page_view", nil)
	add(svc.MatchPath, "/p/3", nil)
	add(svc.MatchPath, "/p/*", nil)
	add(svc.MatchEvent, "signup", &deleted)
	add(svc.MatchEvent, rows[len(rows)/3].Event.Name, &justAfter)
	add(svc.MatchPath, "/p/1", &deleted)
	converted := 0
	for i, scope := range scopes(t, rows) {
		scope.Filters = filters()[i%len(filters())]
		some := goals
		switch i % 3 {
		case 1:
			some = goals[:3]
		case 2:
			some = goals[:1+i%len(goals)]
		}
		got, err := db.GoalCounts(deadline(t), scope, some)
		if err != nil {
			t.Fatal(err)
		}
		if want := m.goalCounts(scope, some); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v filters %q:\n got %+v\nwant %+v", scope.Window, scope.Filters, got, want)
		}
		for _, row := range got.Rows {
			converted += int(row.Conversions)
		}
	}
	if got, err := db.GoalCounts(deadline(t), scopes(t, rows)[0], nil); err != nil || len(got.Rows) != 0 || converted == 0 {
		t.Errorf("without goals: %+v %v; with them %d conversions", got, err, converted)
	}
}
